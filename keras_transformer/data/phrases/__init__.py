"""English-French sentences from a grammar written for this project: nothing to download."""

from keras_transformer.data.phrases.corpus import phrases

__all__ = ["phrases"]
