"""The name under which Keras finds this package's objects in a saved file."""

import keras

register = keras.saving.register_keras_serializable(package="keras_transformer")
