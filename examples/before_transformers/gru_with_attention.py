"""GRUs with a look back at the whole sentence (Bahdanau et al. 2015).

    python examples/before_transformers/gru_with_attention.py

One GRU reads the sentence forwards, one backwards: each word gets a vector that knows its
surroundings. The GRU that writes the translation asks at every step which of these vectors matter
now, and gets their weighted mean: attention, with a small network instead of a dot product. As in
Luong et al. 2015, it asks with the state after the step: so the questions of all steps of a
training batch are asked at once, and Keras's own layers can do it.
"""

import keras
from keras import ops

from keras_transformer import PositionalEmbedding, padding_mask


@keras.saving.register_keras_serializable("before_transformers")
class GruWithAttention(keras.Model):
    """Ids of a sentence and of its translation so far in, logits out.

    Args:
        vocab_size: V, of source and target alike.
        dim: D, of embeddings and GRUs; half of it each for the encoder's two.
        dropout: rate, on embeddings and on what the decoder gives.
        max_length: how many tokens a translation has at most.

    >>> model = GruWithAttention(vocab_size=100, dim=8)
    >>> ids = keras.ops.ones((2, 5), "int32")
    >>> keras.ops.shape(model({"source": ids, "target": ids[:, :3]}))
    (2, 3, 100)
    """

    def __init__(self, vocab_size, dim=256, dropout=0.0, max_length=256, name=None):
        dense = keras.layers.Dense
        embedding = PositionalEmbedding(vocab_size, dim, None, positions=None, dropout=dropout)
        encoder = keras.layers.Bidirectional(
            keras.layers.GRU(dim // 2, return_sequences=True, return_state=True), name="encoder"
        )
        first_state = dense(dim, activation="tanh", name="first_state")
        decoder = keras.layers.GRU(dim, return_sequences=True, name="decoder")
        question = dense(dim, use_bias=False, name="question")
        keys = dense(dim, use_bias=False, name="keys")
        attention = keras.layers.AdditiveAttention(name="attention")
        together = dense(dim, activation="tanh", name="together")
        drop = keras.layers.Dropout(dropout)

        def encode(source):
            memory, forwards, backwards = encoder(embedding(source))
            state = first_state(ops.concatenate([forwards, backwards], axis=-1))
            return state, memory, keys(memory), padding_mask(source)

        def look_back(x, memory, keys, mask):
            found = attention([question(x), memory, keys], mask=[None, mask])
            return drop(together(ops.concatenate([x, found], axis=-1)))

        def hidden(source, target):
            state, *memory = encode(source)
            return look_back(decoder(embedding(target), initial_state=state), *memory)

        source = keras.Input((None,), dtype="int32", name="source")
        target = keras.Input((None,), dtype="int32", name="target")
        logits = embedding(hidden(source, target), reverse=True)
        super().__init__({"source": source, "target": target}, logits, name=name)
        self.arguments = dict(vocab_size=vocab_size, dim=dim, dropout=dropout, name=self.name)
        self.arguments["max_length"] = max_length
        self.decoder, self.encode, self.look_back = decoder, encode, look_back
        self.hidden, self.projection = hidden, embedding

    def start(self, source, length=None):
        """What `step` needs to begin: a first state, and the sentence to look back at."""
        return self.encode(source)

    def step(self, ids, position, state):
        """The logits after one more token, (B, 1, V), and the state after it."""
        state, *memory = state
        state, _ = self.decoder.cell(self.projection(ids)[:, 0], [state])
        x = self.look_back(state[:, None], *memory)
        return self.projection(x, reverse=True), (state, *memory)

    def get_config(self):
        return dict(self.arguments)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)


if __name__ == "__main__":
    from training import train_and_translate

    train_and_translate(GruWithAttention)
