"""A language model as it is trained: the same weights, less work for each step."""

import keras

from keras_transformer.training.network import in_parts
from keras_transformer.training.output_loss import OutputLoss


def language_network(model, packed=False, parts=1):
    """A Keras model that is trained in place of a `Gpt`, and shares its weights.

    It has the labels as one more input and gives three numbers for each token instead of its
    logits, see `OutputLoss`.

    Args:
        model: a `Gpt`.
        packed: whether several texts share a row: there are `segments`, see `Gpt.hidden`.
        parts: into how many parts a batch is cut, see `training_network`.

    Returns:
        A Keras model with the inputs `token_ids` and `labels`, perhaps `segments`, (B, T) each, and
        the output (B, T, 3).
    """
    names = ("token_ids", "segments", "labels") if packed else ("token_ids", "labels")
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    output_loss = OutputLoss(model.projection, smoothing=0.0, name="output_loss")

    def tokens_of(inputs):
        hidden = model.hidden(inputs["token_ids"], inputs.get("segments"))
        return output_loss(hidden, inputs["labels"])

    return in_parts(inputs, tokens_of, parts)
