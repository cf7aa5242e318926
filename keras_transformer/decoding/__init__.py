"""From a model's next-token logits to whole sequences."""

from keras_transformer.decoding.beam import beam_search, check_beam
from keras_transformer.decoding.greedy import greedy
from keras_transformer.decoding.sampling import sample

__all__ = ["beam_search", "check_beam", "greedy", "sample"]
