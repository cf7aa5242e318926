"""Models: functional Keras models stacked from the layers, and ways to look inside them."""

from keras_transformer.models.inspection import attention_model, hidden_states_model

__all__ = ["attention_model", "hidden_states_model"]
