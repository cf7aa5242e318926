"""From a model's next-token logits to whole sequences."""

from keras_transformer.decoding.beam import beam_search, check_beam
from keras_transformer.decoding.greedy import greedy
from keras_transformer.decoding.prompts import penalize_repetition, read_prompts
from keras_transformer.decoding.sampling import sample
from keras_transformer.decoding.speculative import speculative

__all__ = [
    "beam_search",
    "check_beam",
    "greedy",
    "penalize_repetition",
    "read_prompts",
    "sample",
    "speculative",
]
