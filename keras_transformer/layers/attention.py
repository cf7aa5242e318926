"""Attention as a function: no parameters, any number of leading dimensions."""

import math

import keras
from keras import ops

from keras_transformer.layers.masks import check_boolean
from keras_transformer.layers.tensorflow_ops import is_alone

# Finite, so that a row in which everything is masked is a plain mean and not NaN; and far below any
# score, so that in float32 a masked weight is exactly 0.
MASKED_SCORE = -1e9


def attention(query, key, value, mask=None, scale=None):
    """Each query gets the mean of the values, weighted by how well their keys match it.

    `Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V`, Vaswani et al. 2017, equation 1.

    Args:
        query: (..., T, K).
        key: (..., S, K).
        value: (..., S, V).
        mask: boolean, broadcastable to (..., T, S); True where a query may look.
        scale: factor on the dot products; `1 / sqrt(K)` unless given, 1 leaves them as they are.

    Returns:
        (..., T, V).

    Two words, one of them [6, 1], look at each other without having learned anything:

    >>> import numpy as np
    >>> words = np.array([[6.0, 1.0], [0.0, 2.0]])
    >>> np.array(attention(words, words, words, scale=1.0)).round(3)
    array([[6.   , 1.   ],
           [0.715, 1.881]])
    """
    return weighted_mean(attention_weights(query, key, mask, scale), _floating(value))


def attention_weights(query, key, mask=None, scale=None, bias=None):
    """The weights of that mean: a softmax over the keys, computed in float32 or better.

    Args:
        query: (..., T, K).
        key: (..., S, K).
        mask: boolean, broadcastable to (..., T, S); True where a query may look.
        scale: factor on the dot products; `1 / sqrt(K)` unless given.
        bias: added to the scaled scores, broadcastable to (..., T, S).

    Returns:
        (..., T, S), in the dtype of `query`; each row sums to 1.
    """
    query, key = _floating(query), _floating(key)
    if mask is not None:
        mask = ops.convert_to_tensor(mask)
        check_boolean(mask=mask)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1])
    # The queries are scaled, not the scores: fewer numbers, and float16 does not overflow.
    scores = _dot_products(query * ops.cast(scale, query.dtype), key)
    scores = ops.cast(scores, keras.backend.result_type(scores.dtype, "float32"))
    if bias is not None:
        scores = scores + ops.cast(bias, scores.dtype)
    if mask is not None:
        scores = ops.where(mask, scores, MASKED_SCORE)
    if scores.shape[-1] == 1:  # all the weight is the one key's; Keras warns of such a softmax
        weights = 1 + 0 * scores  # a constant would cut the gradient off
    else:
        weights = ops.softmax(scores, axis=-1)
    return ops.cast(weights, query.dtype)


def weighted_mean(weights, value):
    """The means of values (..., S, V) with weights (..., T, S): (..., T, V)."""
    if is_alone(weights):
        return ops.sum(ops.swapaxes(weights, -1, -2) * value, axis=-2, keepdims=True)
    return ops.matmul(weights, value)


def _dot_products(query, key):
    """Of queries (..., T, K) with keys (..., S, K): (..., T, S)."""
    if is_alone(query):
        return ops.expand_dims(ops.sum(query * key, axis=-1), -2)
    return ops.matmul(query, ops.swapaxes(key, -1, -2))


def _floating(x):
    """A tensor; integers become floats, as a softmax of them would be all zeros and ones."""
    x = ops.convert_to_tensor(x)
    dtype = keras.backend.standardize_dtype(x.dtype)
    return x if keras.backend.is_float_dtype(dtype) else ops.cast(x, keras.config.floatx())
