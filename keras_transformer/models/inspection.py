"""Looking inside a model of anyone's making: what its heads attend to, what its blocks put out."""

import keras

from keras_transformer.layers import recording


def attention_model(model):
    """A model with the same inputs that outputs the scores of every attention layer.

    Args:
        model: a functional or sequential Keras model in which `MultiHeadSelfAttention`,
            `MultiHeadCrossAttention` or blocks made of them are used, at any depth.

    Returns:
        A functional model; its output is a dict from the attention layer's path to its scores,
        (B, H, T, S). A path that occurs again, as of a layer called twice, ends with `:1`.

    >>> from keras_transformer.layers import EncoderBlock
    >>> x = keras.Input((None, 8))
    >>> model = keras.Model(x, EncoderBlock(8, num_heads=2, ffn_dim=32, name="block")(x))
    >>> {name: scores.shape for name, scores in attention_model(model).output.items()}
    {'block/self_attention': (None, 2, None, None)}
    """
    return _recorded(model, recording.ATTENTION)


def hidden_states_model(model):
    """A model with the same inputs that outputs what every block put out.

    Args:
        model: a functional or sequential Keras model in which `EncoderBlock` or `DecoderBlock`
            are used, at any depth.

    Returns:
        A functional model; its output is a dict from the block's path to its output, (B, T, D).
        A path that occurs again, as of a block called twice, ends with `:1`.

    >>> from keras_transformer.layers import EncoderBlock
    >>> x = keras.Input((None, 8))
    >>> model = keras.Model(x, EncoderBlock(8, num_heads=2, ffn_dim=32, name="block")(x))
    >>> {name: state.shape for name, state in hidden_states_model(model).output.items()}
    {'block': (None, None, 8)}
    """
    return _recorded(model, recording.HIDDEN_STATES)


def _recorded(model, kind):
    if not isinstance(model, keras.Model) or not model.built or not hasattr(model, "inputs"):
        raise ValueError(
            "A model with known inputs is needed: functional, or sequential and built. "
            f"Received: {model!r}"
        )
    inputs = model.inputs[0] if isinstance(model, keras.Sequential) else model.input
    outputs = Recorded(model, kind, name=kind)(inputs)
    if not outputs:
        raise ValueError(
            f"No layer of this model records its {kind.replace('_', ' ')}: it needs layers of "
            f"keras_transformer. Received: {model.name}"
        )
    return keras.Model(inputs, outputs, name=f"{model.name}_{kind}")


@keras.saving.register_keras_serializable(package="keras_transformer")
class Recorded(keras.layers.Layer):
    """Calls a model and returns what its layers recorded on the way, in place of its output.

    Args:
        model: the Keras model.
        kind: what to record, `recording.ATTENTION` or `recording.HIDDEN_STATES`.
    """

    def __init__(self, model, kind, **kwargs):
        super().__init__(**kwargs)
        self.model = model
        self.kind = kind

    def call(self, inputs, training=None):
        with recording.recording(self.kind) as records:
            self.model(inputs, training=training)
        return records

    def get_config(self):
        model = keras.saving.serialize_keras_object(self.model)
        return {**super().get_config(), "model": model, "kind": self.kind}

    @classmethod
    def from_config(cls, config):
        """Makes the model first, then the layer around it."""
        return cls(**{**config, "model": keras.saving.deserialize_keras_object(config["model"])})
