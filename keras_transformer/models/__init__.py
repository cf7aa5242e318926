"""Models: functional Keras models stacked from the layers, and ways to look inside them."""

from keras_transformer.models.bert import Bert
from keras_transformer.models.bert_heads import (
    Classifier,
    SentenceEncoder,
    SpanFinder,
    Tagger,
)
from keras_transformer.models.gpt import Gpt
from keras_transformer.models.inspection import attention_model, hidden_states_model
from keras_transformer.models.masked_language_model import MaskedLanguageModel
from keras_transformer.models.packing import packed
from keras_transformer.models.transformer import Transformer

__all__ = [
    "Bert",
    "Classifier",
    "Gpt",
    "MaskedLanguageModel",
    "SentenceEncoder",
    "SpanFinder",
    "Tagger",
    "Transformer",
    "attention_model",
    "hidden_states_model",
    "packed",
]
