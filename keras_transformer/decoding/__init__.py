"""From a model's next-token logits to whole sequences."""

from keras_transformer.decoding.greedy import greedy

__all__ = ["greedy"]
