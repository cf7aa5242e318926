"""A Transformer as it is trained: the same weights, less work for each step."""

import keras

from keras_transformer.models.packing import PACKED_INPUTS, packed_hidden
from keras_transformer.training.halves import SplitBatch
from keras_transformer.training.output_loss import OutputLoss


def training_network(model, smoothing=0.1, packed=False, parts=1, skip_padding=False):
    """A Keras model that is trained in place of a `Transformer`, and shares its weights.

    It has the labels as one more input and gives three numbers for each token instead of its
    logits, see `OutputLoss`: compile it with `ReadyLoss`, `ReadyAccuracy` and `ReadyPerplexity`.
    Loss and gradients are those of `SmoothedCrossentropy` on the logits.

    Args:
        model: a `Transformer`.
        smoothing: see `SmoothedCrossentropy`.
        packed: whether several pairs share a row, see `models.packed`.
        parts: into how many parts a batch is cut. They have nothing to do with each other before
            their gradients are added up, so that a CPU can compute them side by side.
        skip_padding: whether no logits are computed where the label is padding, see `OutputLoss`.

    Returns:
        A Keras model with the inputs of the model and `labels` (B, T), and the output (B, T, 3).
    """
    names = (*(PACKED_INPUTS if packed else ("source", "target")), "labels")
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    output_loss = OutputLoss(model.projection, smoothing, skip_padding, name="output_loss")

    def tokens_of(inputs):
        *of_model, labels = (inputs[name] for name in names)
        hidden = packed_hidden(model, *of_model) if packed else model.hidden(*of_model)
        return output_loss(hidden, labels)

    return in_parts(inputs, tokens_of, parts)


def in_parts(inputs, function, parts):
    """A model that computes a function of its inputs, in so many parts of the batch.

    Args:
        inputs: a dict of `keras.Input`s.
        function: of such a dict, to a tensor or a dict of tensors.
        parts: how many. They have nothing to do with each other before their gradients are added
            up, so that a CPU can compute them side by side.
    """
    if parts == 1:
        return keras.Model(inputs, function(inputs))
    split = {name: SplitBatch(parts, name=f"split_{name}")(x) for name, x in inputs.items()}
    outputs = [function({name: x[i] for name, x in split.items()}) for i in range(parts)]
    if not isinstance(outputs[0], dict):
        return keras.Model(inputs, keras.layers.Concatenate(axis=0)(outputs))
    joined = {
        name: keras.layers.Concatenate(axis=0, name=f"join_{name}")([o[name] for o in outputs])
        for name in outputs[0]
    }
    return keras.Model(inputs, joined)
