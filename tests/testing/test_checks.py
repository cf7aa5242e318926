"""The checks notice: each bad layer here fails the check made for it, and good ones pass."""

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer import DecoderBlock, EncoderBlock, PositionalEmbedding
from keras_transformer.testing import (
    Subject,
    check_cache,
    check_config,
    check_fit,
    check_future,
    check_layer,
    check_mask,
    check_mixed_precision,
    check_padding,
    check_saving,
    check_shapes,
)


@keras.saving.register_keras_serializable(package="tests")
class Scaled(keras.layers.Layer):
    """A layer that does nothing wrong."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, x_shape):
        self.factor = self.add_weight(name="factor", initializer="ones")

    def call(self, x):
        return x * self.factor

    def compute_output_shape(self, x_shape):
        return x_shape


def test_a_good_layer_passes():
    assert len(check_layer(Scaled, {"x": vectors()}, causal=True)) == 8  # no cache


class MixesPadding(Scaled):
    def call(self, x):
        return self.factor * (x + ops.mean(x, axis=1, keepdims=True))


class LosesTheMask(Scaled):
    def compute_mask(self, x, previous_mask=None):
        return None


class LooksTwoAhead(Scaled):
    def call(self, x):
        return self.factor * (x + ops.roll(x, -2, axis=1))


class IgnoresItsInput(Scaled):
    def call(self, x):
        return 0 * x + self.factor


class StepsDifferently(Scaled):
    def start(self, batch_size, length):
        return {}

    def step(self, x, position, cache):
        return 2 * x * self.factor, cache


class ForgetsAnArgument(Scaled):
    def __init__(self, offset=1.0, **kwargs):
        super().__init__(**kwargs)
        self.offset = offset

    def call(self, x):
        return x * self.factor + self.offset

    def get_config(self):
        return keras.layers.Layer.get_config(self)


@keras.saving.register_keras_serializable(package="tests")
class KeepsStateElsewhere(Scaled):
    def build(self, x_shape):
        super().build(x_shape)
        self.hidden = float(np.random.normal())

    def call(self, x):
        return x * self.factor + self.hidden


class PromisesAnotherShape(Scaled):
    def compute_output_shape(self, x_shape):
        return (*x_shape[:-1], 1)


class StaysInFloat32(Scaled):
    def call(self, x):
        return ops.cast(x, "float32") * ops.cast(self.factor, "float32")


class DividesByWhatIsReal(Scaled):
    def call(self, x, mask=None):
        real = ops.ones_like(x) if mask is None else ops.cast(mask, x.dtype)
        return x * self.factor / ops.mean(real)


class DoesNotLearn(Scaled):
    def call(self, x):
        return ops.stop_gradient(x * self.factor)


def vectors():
    return np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")


@pytest.mark.parametrize(
    ("layer", "check", "message"),
    [
        (MixesPadding, check_padding, "padding `x` on the right, with no attention mask"),
        (LosesTheMask, check_mask, "the mask is not handed on"),
        (LooksTwoAhead, check_future, "depends on token 2 before it is there"),
        (IgnoresItsInput, check_future, "does not depend on the input"),
        (StepsDifferently, check_cache, "cached steps differ"),
        (lambda: ForgetsAnArgument(2.0), check_config, "made from its config differs"),
        (KeepsStateElsewhere, check_saving, "loaded differs from saved"),
        (PromisesAnotherShape, check_shapes, r"symbolic shape is \(None, None, 1\)"),
        (StaysInFloat32, check_mixed_precision, "with mixed_bfloat16 the output is float32"),
        (DividesByWhatIsReal, check_mixed_precision, "not finite where everything is padding"),
        (DoesNotLearn, check_fit, "Gradients do not exist|No gradients|no weight moves"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_a_bad_layer_is_noticed(layer, check, message):
    subject = Subject(layer, {"x": vectors()}, causal=True)
    with pytest.raises((AssertionError, UserWarning, ValueError), match=message):
        check(subject)


def test_dropout_is_no_mistake():
    block = Subject(lambda: EncoderBlock(8, 2, 16, dropout=0.1), {"x": vectors()})
    assert check_fit(block)


def test_a_single_row_of_ids_is_enough_to_look_for_the_future():
    ids = {"inputs": np.array([[3, 4, 5, 6]])}
    assert check_future(Subject(lambda: PositionalEmbedding(10, 8, 16), ids, causal=True))


def encoder_decoder():
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    embedding = PositionalEmbedding(10, 8, 16)
    memory = EncoderBlock(8, 2, 16)(embedding(source))
    x = DecoderBlock(8, 2, 16)(embedding(target), memory)
    return keras.Model({"target": target, "source": source}, embedding(x, reverse=True))


def test_a_whole_model_can_be_checked():
    ids = np.random.default_rng(0).integers(1, 10, size=(2, 2, 5)).astype("int32")
    inputs = {"target": ids[0], "source": ids[1]}
    made = check_layer(encoder_decoder, inputs, causal=True, padding=("right",))
    assert "check_padding" in made
    assert "check_future" in made
    assert len(made) == 7  # a model hands on no mask, and this one has no steps
