"""Another backend gives TensorFlow's numbers, trains and saves."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from combinations import BLOCKS, block_inputs, make_block

sys.path.insert(0, str(Path(__file__).parent))
from reference import IDS, make_model, numbers

from keras_transformer.testing import Subject, check_cache, check_saving
from keras_transformer.testing.subject import to_array


@pytest.fixture(scope="module")
def on_tensorflow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tensorflow")
    script = Path(__file__).with_name("reference.py")
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    subprocess.run([sys.executable, script, folder], check=True, env=environment)
    return folder


def test_a_model_saved_on_tensorflow_gives_the_same_numbers_here(on_tensorflow):
    assert keras.backend.backend() != "tensorflow"
    model = keras.models.load_model(on_tensorflow / "model.keras")
    expected = np.load(on_tensorflow / "numbers.npz")
    ours = numbers(model)
    assert set(ours) == set(expected)
    for name, array in ours.items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_stack_learns_what_it_is_shown():
    model = make_model()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss)
    first, *_, last = model.fit(IDS, IDS["target"], epochs=30, verbose=0).history["loss"]
    assert last < 0.2 < first


@pytest.mark.parametrize("kind", BLOCKS)
def test_blocks_decode_and_save(kind):
    subject = Subject(lambda: make_block(kind), block_inputs(kind), causal=kind != "encoder")
    assert check_cache(subject) == (kind != "encoder")
    assert check_saving(subject)


@pytest.mark.parametrize("positions", [None, "rotary", "alibi", "relative"])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_fused_attention_equals_attention_by_hand(positions, kv_heads):
    """Asked for scores, attention goes by hand; not asked, the backend's own is used."""
    block = make_block("language_model", attention_positions=positions, num_kv_heads=kv_heads)
    x = block_inputs("language_model")["x"]
    block(x)
    mask = np.arange(5) < np.array([[5], [3], [0]])
    attention = block.self_attention
    for dtype, tolerance in (("float32", 1e-5), ("float16", 1e-2)):
        vectors = keras.ops.cast(x, dtype)
        by_hand, _ = attention(vectors, mask=mask, return_attention_scores=True)
        fused = attention(vectors, mask=mask)
        np.testing.assert_allclose(to_array(fused), to_array(by_hand), atol=tolerance)
