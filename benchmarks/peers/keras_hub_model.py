"""The Transformer of KerasHub's layers."""

import keras


def keras_hub_transformer(vocab_size, dim, num_heads, ffn_dim, num_layers, dropout, max_length):
    """An encoder-decoder of KerasHub's layers, with one embedding for all as ours has.

    Inputs and output are those of our `Transformer`: `source` and `target` ids to logits.
    """
    import keras_hub

    embedding = keras_hub.layers.TokenAndPositionEmbedding(
        vocab_size, max_length, dim, mask_zero=True, tie_weights=True
    )
    block = {"intermediate_dim": ffn_dim, "num_heads": num_heads, "dropout": dropout}
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    memory = keras.layers.Dropout(dropout)(embedding(source))
    for _ in range(num_layers):
        memory = keras_hub.layers.TransformerEncoder(**block)(memory)
    x = keras.layers.Dropout(dropout)(embedding(target))
    for _ in range(num_layers):
        x = keras_hub.layers.TransformerDecoder(**block)(x, memory)
    logits = embedding.token_embedding(x, reverse=True)
    return keras.Model({"source": source, "target": target}, logits)


def keras_hub_tutorial(vocab_size, dim, num_heads, ffn_dim, num_layers, dropout, max_length):
    """The model of KerasHub's translation tutorial, with as many layers: probabilities out."""
    import keras_hub

    def embedding():
        return keras_hub.layers.TokenAndPositionEmbedding(
            vocab_size, max_length, dim, mask_zero=True
        )

    block = {"intermediate_dim": ffn_dim, "num_heads": num_heads, "dropout": dropout}
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    memory = embedding()(source)
    for _ in range(num_layers):
        memory = keras_hub.layers.TransformerEncoder(**block)(memory)
    x = embedding()(target)
    for _ in range(num_layers):
        x = keras_hub.layers.TransformerDecoder(**block)(x, memory)
    x = keras.layers.Dropout(dropout)(x)
    probabilities = keras.layers.Dense(vocab_size, activation="softmax")(x)
    return keras.Model({"source": source, "target": target}, probabilities)
