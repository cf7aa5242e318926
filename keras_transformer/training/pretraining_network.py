"""A masked language model as it is trained: rows of several examples, logits only where needed."""

import keras
from keras import ops

from keras_transformer.layers import segment_mask
from keras_transformer.layers.positions import segment_positions
from keras_transformer.training.network import in_parts
from keras_transformer.training.output_loss import OutputLoss


def pretraining_network(model, parts=1):
    """A Keras model that is trained in place of a `MaskedLanguageModel`, and shares its weights.

    It takes what `data.PretrainingBatches` gives, the hidden tokens among its inputs as `labels`.
    Examples that share a row do not see each other. Only hidden tokens get logits, and of these
    three numbers are left, see `OutputLoss`.

    Args:
        model: a `MaskedLanguageModel`.
        parts: into how many parts a batch is cut, see `training_network`.

    Returns:
        A Keras model whose output is a dict: `masked` (B, M, 3), and `next` (B, K, 2), the logits
        of "follows" and "does not", if the model guesses that.
    """
    bert, guesses_next = model.bert, model.follows is not None
    names = ["token_ids", "segment_ids", "examples", "positions", "labels"]
    names += ["starts"] if guesses_next else []
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in names}
    output_loss = OutputLoss(model.output_layer, smoothing=0.0, name="output_loss")

    def outputs_of(inputs):
        examples = inputs["examples"]
        hidden = bert.encode(
            inputs["token_ids"],
            inputs["segment_ids"],
            positions=segment_positions(examples),
            attention_mask=segment_mask(examples),
        )[-1]
        masked = model.transform_norm(model.transform(at(hidden, inputs["positions"])))
        outputs = {"masked": output_loss(masked, inputs["labels"])}
        if guesses_next:
            outputs["next"] = model.follows(bert.pooler(at(hidden, inputs["starts"])))
        return outputs

    return in_parts(inputs, outputs_of, parts)


def at(hidden, positions):
    """The vectors (B, M, D) at positions (B, M) of (B, T, D)."""
    return ops.take_along_axis(hidden, ops.expand_dims(positions, -1), axis=1)
