"""A Transformer for rows with several pairs of sentences in each."""

import keras

from keras_transformer.layers import segment_mask
from keras_transformer.layers.positions import segment_positions

PACKED_INPUTS = ("source", "source_segments", "target", "target_segments")


def packed(model):
    """The same model, with the same weights, for rows in which several pairs share the place.

    Tokens see those of their own segment only, and positions begin anew with each: the logits are
    those that the pairs have alone. Train this one, and save the one it was made from.

    Args:
        model: a `Transformer`.

    Returns:
        A Keras model with inputs `source` and `source_segments` (B, S), `target` and
        `target_segments` (B, T), see `data.PackedBatches`, and the output (B, T, V).
    """
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in PACKED_INPUTS}
    return keras.Model(inputs, model.to_logits(packed_hidden(model, *inputs.values())))


def packed_hidden(model, source, source_segments, target, target_segments):
    """What the model makes of packed rows before it makes logits of it: (B, T, D)."""
    memory = model.source_embedding(source, start=segment_positions(source_segments))
    mask = segment_mask(source_segments)
    for layer in model.encoder:
        is_block = hasattr(layer, "self_attention")
        memory = layer(memory, attention_mask=mask) if is_block else layer(memory)
    x = model.target_embedding(target, start=segment_positions(target_segments))
    mask = segment_mask(target_segments)
    memory_mask = segment_mask(target_segments, source_segments)
    for layer in model.decoder:
        x = layer(x, memory, attention_mask=mask, memory_attention_mask=memory_mask)
    return model.finish(x)
