"""What every test needs before TensorFlow is imported."""

import fcntl
import gc
import os
import sys

# Some virtual machines announce AMX and do not allow it: a bfloat16 matmul would kill Python.
os.environ.setdefault("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# The same here as in processes that tests start: numbers are compared bit by bit.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")

import keras
import pytest
from combinations import OPTIONS, full_product, pairwise
from small_run import EPOCHS, SERVED, SMALL


@pytest.fixture(autouse=True)
def _same_numbers_every_time():
    keras.backend.clear_session()
    # It collects garbage, and would look through all of TensorFlow and whatever else earlier tests
    # have left behind, before each test.
    gc.freeze()
    keras.utils.set_random_seed(0)


def pytest_addoption(parser):
    parser.addoption(
        "--all-combinations",
        action="store_true",
        help="test every combination of the blocks' options, not only every pair",
    )


def pytest_generate_tests(metafunc):
    if "options" in metafunc.fixturenames:
        every = metafunc.config.getoption("all_combinations")
        combinations = (full_product if every else pairwise)(OPTIONS)
        names = ["-".join(map(str, c.values())) for c in combinations]
        metafunc.parametrize("options", combinations, ids=names)


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Makes something slow once, though the tests run in several processes.

    `once(name, make)` calls `make(path)`, unless another process has done so, and returns the path.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent

    def make_once(name, make):
        path = root / "once" / name
        path.parent.mkdir(exist_ok=True)
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                make(path)
        return path

    return make_once


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory):
    """200 pairs of sentences in a TSV file."""
    from keras_transformer.data import phrases

    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    pairs, _ = phrases(count=200, held_out=0)
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


@pytest.fixture(scope="session")
def trained(pairs_file, once):
    """A small run, trained once for all tests, which must leave it as it is."""
    from keras_transformer.tasks import train

    options = {**SMALL, "learning_rate": 0.01, "dropout": 0.0}
    return once("trained", lambda out: train(out, data=pairs_file, epochs=EPOCHS, **options))


@pytest.fixture(scope="session")
def exported(trained, pairs_file, once):
    """That run as a served model, which the tests must leave as it is: the folder of the model."""
    from keras_transformer.tasks import export

    return once("small", lambda base: export(trained, base, data=str(pairs_file), **SERVED))


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs the command line here and returns exit code, standard output and standard error."""
    import keras_transformer_cli

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["keras-transformer", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            keras_transformer_cli.main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run


@pytest.fixture(scope="session")
def pretrained(once):
    """A small BERT that has read a few documents; the tests must leave it as it is."""
    from small_bert import SIZE, write_documents

    from keras_transformer.tasks import pretrain

    def make(out):
        text = write_documents(out.with_name("documents.txt"))
        options = {"batch_tokens": 192, "vocab_size": 120, "warmup_steps": 10}
        pretrain(out, text=text, learning_rate=0.01, epochs=12, dropout=0.0, **SIZE, **options)

    return once("pretrained", make)


@pytest.fixture(scope="session")
def classifier(pretrained, once):
    """That BERT, fine-tuned to tell praise from blame; the tests must leave it as it is."""
    from small_bert import write_labelled

    from keras_transformer.tasks import finetune

    def make(out):
        data = write_labelled(out.with_name("labelled.tsv"))
        options = {"batch_tokens": 128, "learning_rate": 0.01, "train_embeddings": True}
        finetune(pretrained, out, data=data, epochs=10, **options)

    return once("classifier", make)


@pytest.fixture(scope="session")
def language(once):
    """A small GPT that has learned a small language; the tests must leave it as it is."""
    from small_language import QUICK, write_text

    from keras_transformer.tasks import train_language

    def make(out):
        text = write_text(out.with_name("lines.txt"))
        learning = {"max_steps": 250, "batch_tokens": 512, "learning_rate": 0.005, "dim": 48}
        options = {**QUICK, **learning, "max_length": 24}
        train_language(out, text=text, prompt="4 cats", **options)

    return once("language", make)
