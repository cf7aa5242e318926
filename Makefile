# Each target sets up what it needs in .venv; a second run starts at once.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PYTEST = $(BIN)/python -m pytest
RXNFP = build/rxnfp

.PHONY: help demo test test-slow test-all test-backends test-wheel test-serving-skew test-device server-ops test-mutations lint bench docs pictures clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/.installed-serving ## learn to translate English to French in three minutes, and serve it
	$(BIN)/keras-transformer train --data phrases --out runs/phrases --overwrite
	$(BIN)/keras-transformer evaluate runs/phrases --data phrases --examples 6
	$(BIN)/keras-transformer export runs/phrases --out saved_models/phrases --data phrases
	$(BIN)/keras-transformer check saved_models/phrases
	$(BIN)/keras-transformer serve saved_models/phrases --port 0 --ask "the small dog does not see the red house"

test: $(VENV)/.installed-test ## all tests, options in pairs
	$(PYTEST)

test-slow: $(VENV)/.installed-test $(RXNFP) ## the tests that start many processes, or read large files
	$(PYTEST) -m slow

# A BERT with its masked-language head; of the package only the weights are wanted, not what it needs.
$(RXNFP):
	mkdir -p $@.wheel
	$(BIN)/pip download --no-deps --dest $@.wheel rxnfp==0.1.0
	$(BIN)/python -m zipfile -e $@.wheel/rxnfp-*.whl $@.new
	mv $@.new $@

test-all: $(VENV)/.installed-test ## all tests, every combination of options
	$(PYTEST) --all-combinations

test-backends: $(VENV)/.installed-test $(VENV)/.installed-jax $(VENV)/.installed-tpu-check ## the layers, models, training and decoding on JAX, the TPU's compiler, a smoke test on PyTorch
	KERAS_BACKEND=jax JAX_PLATFORMS=cpu $(PYTEST) tests/layers tests/models tests/training tests/decoding tests/backends
	KERAS_BACKEND=torch $(PYTEST) tests/backends

test-wheel: $(VENV)/.installed-test ## build the wheel, install it in an empty environment, run the README's model
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m build --wheel --outdir build/wheel .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/pip install build/wheel/*.whl
	cd build/wheel && venv/bin/python ../../tests/run_readme.py ../../README.md

# The newest TF Serving is built from an older TensorFlow than ours.
SKEW = build/serving-2.20.0
test-serving-skew: $(VENV)/.installed-test $(SKEW) ## run an export with the libraries of TensorFlow 2.20.0
	TENSORFLOW_LIBRARIES=$(SKEW) $(PYTEST) --numprocesses=0 tests/export/test_serving_skew.py

$(SKEW):
	mkdir -p $@.wheels
	$(BIN)/pip download --no-deps --dest $@.wheels tensorflow==2.20.0 tensorflow-text==2.20.1
	$(BIN)/python -m zipfile -e $@.wheels/tensorflow-*.whl $@.new
	$(BIN)/python -m zipfile -e $@.wheels/tensorflow_text-*.whl $@.new
	mv $@.new $@

server-ops: $(VENV)/.installed-test $(SKEW) ## list the ops that TF Serving has, from TensorFlow's libraries
	$(BIN)/python -m keras_transformer.export.server_ops
	$(BIN)/python -m keras_transformer.export.server_ops --libraries $(SKEW) --text-version 2.20.1

test-device: $(VENV)/.installed-test ## translate in an environment without TensorFlow or Keras; after `make demo`
	$(BIN)/keras-transformer export runs/phrases --out build/tflite/phrases --format tflite --quantize int8
	$(PYTHON) -m venv build/device
	build/device/bin/pip install ai-edge-litert sentencepiece numpy
	build/device/bin/python -c "import importlib.util as u; assert not u.find_spec('tensorflow') and not u.find_spec('keras')"
	build/device/bin/python examples/translate_on_device.py $$(ls -d build/tflite/phrases/*/ | sort -V | tail -1)model.int8.tflite "the small dog does not see the red house"

test-mutations: $(VENV)/.installed-test ## break the code on purpose and see whether the tests notice
	$(BIN)/python tests/mutations.py

lint: $(VENV)/.installed-test ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# Each can be run alone: `python -m benchmarks.train_speed --help`.
BENCH = train_speed decode_speed ladder
BENCH_WITHOUT_DATA = layer_speed step_profile scaling startup write_speed
bench: $(VENV)/.installed-bench ## how fast it is beside others; DATA=<folder of Multi30k's files>
	@test -n "$(DATA)" || { echo "Say where Multi30k is: make bench DATA=<folder>" >&2; exit 2; }
	for question in $(BENCH_WITHOUT_DATA); do $(BIN)/python -m benchmarks.$$question || exit 1; done
	for question in $(BENCH); do $(BIN)/python -m benchmarks.$$question "$(DATA)" || exit 1; done
	$(BIN)/python -m benchmarks.sentence_profile --data "$(DATA)"

docs: $(VENV)/.installed-docs ## the documentation as pages in build/docs
	$(BIN)/mkdocs build --strict --site-dir build/docs

pictures: $(VENV)/.installed-plots demo ## draw the pictures of the documentation
	$(BIN)/python examples/reverse_digits.py
	$(BIN)/python docs/pictures/draw_reversal.py
	$(BIN)/python docs/pictures/draw_translation.py

clean: ## remove everything that is not in the repository
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The stamp of an extra: setup.cfg is newer when a dependency changed.
$(VENV)/.installed: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/pip install --editable .
	@touch $@

$(VENV)/.installed-%: setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/pip install --editable '.[$*]'
	@touch $@
