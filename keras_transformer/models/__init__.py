"""Models: functional Keras models stacked from the layers, and ways to look inside them."""

from keras_transformer.models.inspection import attention_model, hidden_states_model
from keras_transformer.models.packing import packed
from keras_transformer.models.transformer import Transformer

__all__ = ["Transformer", "attention_model", "hidden_states_model", "packed"]
