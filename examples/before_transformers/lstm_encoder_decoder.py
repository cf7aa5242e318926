"""Two LSTMs: one reads the sentence, the other writes its translation (Sutskever et al. 2014).

    python examples/before_transformers/lstm_encoder_decoder.py

All that the second knows of the sentence is the last state of the first: two vectors, however long
the sentence is. The sentence is read backwards, so that its beginning, with which the translation
begins, was read last.
"""

import keras

from keras_transformer import PositionalEmbedding


@keras.saving.register_keras_serializable("before_transformers")
class LstmEncoderDecoder(keras.Model):
    """Ids of a sentence and of its translation so far in, logits out.

    Args:
        vocab_size: V, of source and target alike.
        dim: D, of embeddings and LSTMs.
        dropout: rate, on embeddings and on what the decoder gives.
        max_length: how many tokens a translation has at most.

    >>> model = LstmEncoderDecoder(vocab_size=100, dim=8)
    >>> ids = keras.ops.ones((2, 5), "int32")
    >>> keras.ops.shape(model({"source": ids, "target": ids[:, :3]}))
    (2, 3, 100)
    """

    def __init__(self, vocab_size, dim=256, dropout=0.0, max_length=256, name=None):
        embedding = PositionalEmbedding(vocab_size, dim, None, positions=None, dropout=dropout)
        encoder = keras.layers.LSTM(dim, go_backwards=True, return_state=True, name="encoder")
        decoder = keras.layers.LSTM(dim, return_sequences=True, name="decoder")
        drop = keras.layers.Dropout(dropout)

        def hidden(source, target):
            _, *state = encoder(embedding(source))
            return drop(decoder(embedding(target), initial_state=state))

        source = keras.Input((None,), dtype="int32", name="source")
        target = keras.Input((None,), dtype="int32", name="target")
        logits = embedding(hidden(source, target), reverse=True)
        super().__init__({"source": source, "target": target}, logits, name=name)
        self.arguments = dict(vocab_size=vocab_size, dim=dim, dropout=dropout, name=self.name)
        self.arguments["max_length"] = max_length
        self.encoder, self.decoder = encoder, decoder
        self.hidden, self.projection = hidden, embedding

    def start(self, source, length=None):
        """What `step` needs to begin: the state in which the encoder has ended."""
        _, *state = self.encoder(self.projection(source))
        return state

    def step(self, ids, position, state):
        """The logits after one more token, (B, 1, V), and the state after it."""
        x, state = self.decoder.cell(self.projection(ids)[:, 0], state)
        return self.projection(x[:, None], reverse=True), state

    def get_config(self):
        return dict(self.arguments)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)


if __name__ == "__main__":
    from training import train_and_translate

    train_and_translate(LstmEncoderDecoder)
