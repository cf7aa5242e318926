"""The step that `fit` does on a TPU: XLA can compile it, every shape is static, nothing changes."""

import re

import numpy as np
import pytest
import tensorflow as tf
from small_run import SMALL

from keras_transformer.data import read_pairs
from keras_transformer.tasks import Settings, preparation
from keras_transformer.text import Tokenizer

OPTIONS = {**SMALL, "dim": 8, "ffn_dim": 16, "dropout": 0.1, "mixed_precision": False}


@pytest.fixture(scope="module")
def corpus(pairs_file):
    pairs, _ = read_pairs(pairs_file)
    tokenizer = Tokenizer.learn([text for pair in pairs for text in pair], vocab_size=320)
    return (tokenizer,) * 2, [tuple(tokenizer.encode(list(pair))) for pair in pairs]


@pytest.mark.parametrize("pack", [True, False], ids=["packed", "buckets"])
def test_it_compiles_for_every_shape_of_the_batches(corpus, monkeypatch, pack):
    from keras_transformer.data import Batches, PackedBatches

    tokenizers, pairs = corpus
    settings = Settings(data="phrases", pack=pack, **OPTIONS)
    monkeypatch.setattr(preparation, "is_tpu", lambda strategy: True)
    model = preparation.make_model(settings, tokenizers)
    network = preparation.make_network(model, settings)
    assert network.jit_compile is False  # TPUStrategy compiles it, and Keras must not do so, too
    if pack:
        batches = PackedBatches(pairs, batch_tokens=256, max_length=50, row_length=32)
    else:
        batches = Batches(pairs, batch_tokens=256, max_length=50, shapes=2)
    by_shape = {}
    for inputs, labels, weights in batches.epoch(0):
        batch = ({**inputs, "labels": labels}, labels, weights.astype("float32"))
        by_shape[labels.shape] = tf.nest.map_structure(tf.constant, batch)
    assert len(by_shape) == len(batches.shapes) == (1 if pack else 2)
    network.train_on_batch(*(tf.nest.map_structure(lambda x: x[:1], b) for b in batch))
    step = tf.function(network.train_step, jit_compile=True, autograph=False)
    begin = [variable.numpy() for variable in network.variables + network.optimizer.variables]
    for shape, batch in by_shape.items():
        results = []
        for function in (step, network.train_step):
            for variable, value in zip(
                network.variables + network.optimizer.variables, begin, strict=True
            ):
                variable.assign(value)
            network.reset_metrics()
            results.append({name: float(value) for name, value in function(batch).items()})
        compiled, plain = results
        for name, value in plain.items():
            np.testing.assert_allclose(compiled[name], value, rtol=1e-4, err_msg=f"{shape} {name}")
        hlo = step.experimental_get_compiler_ir(batch)(stage="hlo")
        assert "ENTRY" in hlo
        assert f"s32[{shape[0]},{shape[1]}]" in hlo
        assert not re.findall(r"\[[^\]]*(?:<=|\?)[^\]]*\]", hlo)  # how XLA writes a dynamic size
        assert "custom-call" not in hlo


def test_batches_of_one_shape_have_a_static_one(corpus):
    from keras_transformer.data import Batches, PackedBatches

    _, pairs = corpus
    packed = PackedBatches(pairs, batch_tokens=256, max_length=50, row_length=32)
    inputs, labels, weights = packed.dataset(labels_too=True).element_spec
    for spec in (*inputs.values(), labels, weights):
        assert spec.shape.is_fully_defined()
    given, given_labels, _ = next(packed.stream())
    assert labels.shape == given_labels.shape
    assert inputs["source_segments"].shape == given["source_segments"].shape
    bucketed = Batches(pairs, batch_tokens=256, max_length=50, shapes=3)
    assert not bucketed.dataset().element_spec[1].shape.is_fully_defined()
