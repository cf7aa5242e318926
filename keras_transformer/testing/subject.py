"""What is checked: a layer or model, what to call it with, and ways to vary that."""

from collections.abc import Callable
from dataclasses import dataclass, field

import keras
import numpy as np
from keras import ops

PADDING = 3  # tokens


@dataclass
class Subject:
    """A layer or model to be checked, and what to call it with.

    Args:
        make: a function without arguments that returns a new layer or model.
        inputs: NumPy arrays by the name of the call's argument or the model's input, without
            padding. Integers are ids, (B, T), with 0 kept for padding; floats are vectors,
            (B, T, D). The output has a row for each token of the first.
        causal: whether an output must not depend on what comes later.
        padding: on which sides padding must not matter; absolute positions allow only "right".
        attention_masks: for each argument that takes a mask of pairs, the two inputs it pairs:
            `{"attention_mask": ("x", "x")}`.
        tolerance: how far float32 numbers may differ.
    """

    make: Callable
    inputs: dict
    causal: bool = False
    padding: tuple = ("right", "left")
    attention_masks: dict = field(default_factory=dict)
    tolerance: float = 1e-5

    def __post_init__(self):
        self.main = next(iter(self.inputs))
        self.length = self.inputs[self.main].shape[1]
        self.random = np.random.default_rng(0)

    def made(self):
        """A new layer, its weights moved: zeros and ones would hide what is not connected."""
        layer = self.make()
        self.call(layer, self.inputs)
        random = np.random.default_rng(1)
        weights = layer.get_weights()
        layer.set_weights([w + 0.1 * random.normal(size=w.shape).astype(w.dtype) for w in weights])
        return layer

    def call(self, layer, inputs, masks=None, **options):
        """The output for these arrays; `masks` by input name go in as implicit Keras masks."""
        tensors = {name: ops.convert_to_tensor(array) for name, array in inputs.items()}
        for name, mask in (masks or {}).items():
            tensors[name] = MaskedInput()([tensors[name], mask])
        return self._apply(layer, tensors, **options)

    def model(self, layer, lengths_known=False):
        """A functional model around the layer, as a user would build it."""
        inputs = {
            name: keras.Input(
                (array.shape[1] if lengths_known else None, *array.shape[2:]),
                dtype=str(array.dtype),
                name=name,
            )
            for name, array in self.inputs.items()
        }
        return keras.Model(inputs, self._apply(layer, inputs))

    def _apply(self, layer, tensors, **options):
        if isinstance(layer, keras.Model) and takes_dict(layer):
            return layer(tensors, **options)
        others = {name: tensor for name, tensor in tensors.items() if name != self.main}
        return layer(tensors[self.main], **others, **options)

    def padded(self, name, side):
        """All inputs, one of them with padding on a side, and the masks that say so.

        Vectors are padded with large noise, which only a mask can make harmless.
        """
        array = self.inputs[name]
        padding = np.zeros((len(array), PADDING, *array.shape[2:]), array.dtype)
        order = slice(None, None, -1 if side == "left" else 1)
        masks = {}
        if is_vectors(array):
            real = np.ones(array.shape[:2], bool), np.zeros(padding.shape[:2], bool)
            masks = {name: np.concatenate(real[order], axis=1)}
            padding = 5 * self.noise_like(padding)
        return {**self.inputs, name: np.concatenate((array, padding)[order], axis=1)}, masks

    def real_tokens(self, output, side):
        """The part of an output that does not belong to padding on that side."""
        return output[:, PADDING:] if side == "left" else output[:, : self.length]

    def all_allowed(self, inputs):
        """Every mask of pairs, allowing everything."""
        return {
            name: np.ones((len(inputs[query]), inputs[query].shape[1], inputs[key].shape[1]), bool)
            for name, (query, key) in self.attention_masks.items()
        }

    def noise_like(self, array):
        """Other vectors, or other ids of the same range."""
        if is_vectors(array):
            return self.random.normal(size=array.shape).astype(array.dtype)
        return array.min() + array.max() - array

    def agree(self, claim, actual, desired, tolerance=None):
        """Raises `AssertionError` with the claim unless the numbers are close."""
        tolerance = self.tolerance if tolerance is None else tolerance
        np.testing.assert_allclose(
            to_array(actual), to_array(desired), rtol=tolerance, atol=tolerance, err_msg=claim
        )


@keras.saving.register_keras_serializable(package="keras_transformer")
class MaskedInput(keras.layers.Layer):
    """Gives a tensor a Keras mask: `[x, mask] -> x`."""

    def call(self, inputs):
        return ops.copy(inputs[0])

    def compute_mask(self, inputs, previous_mask=None):
        return ops.convert_to_tensor(inputs[1])


def takes_dict(model):
    """Whether the model's inputs are known by name."""
    try:
        return isinstance(model.input, dict)
    except (AttributeError, ValueError):  # a model that has not been called yet has no inputs
        return False


def to_array(tensor):
    """Any backend's tensor, in any float dtype, as a float32 NumPy array."""
    return np.asarray(ops.convert_to_numpy(ops.cast(tensor, "float32")))


def is_vectors(array):
    """Whether the array holds vectors; otherwise it holds ids."""
    return np.issubdtype(array.dtype, np.floating)
