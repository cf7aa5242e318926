"""Applying a matrix to every token, with as few operations as it takes."""

from keras import ops


def project(layer, x, **options):
    """`layer(x)`, for a layer that treats every token of (B, T, D) alone.

    A single token a row, as in decoding, goes through as (B, D): a plain matrix product, where
    TensorFlow needs a dozen small operations to find out how to see (B, T, D) as one.
    """
    if x.shape[1] != 1:
        return layer(x, **options)
    return ops.expand_dims(layer(ops.squeeze(x, 1), **options), 1)
