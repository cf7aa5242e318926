"""Translation as graph functions: text in, text out, nothing in between that is not an op."""

import tensorflow as tf
from keras import ops

from keras_transformer.decoding import greedy
from keras_transformer.export.text_ops import clean, one_line
from keras_transformer.models import attention_model
from keras_transformer.text import END, START

LONGER_BY = 50  # a translation has at most so many tokens more than its source


class Translation:
    """What a trained translation model can be asked, as functions for a TensorFlow graph.

    `tasks.Translator` uses `search` on the host; an exported model has them all as signatures.

    Args:
        model: a `Transformer`, or another model with `start`, `step` and `max_length`.
        tokenizers: of source and target.
    """

    def __init__(self, model, tokenizers):
        self.model, self.tokenizers = model, tokenizers
        self.longest = model.get_config()["max_length"]

    def search(self, source):
        """Source ids (B, S), each ending with the end token, to ids (B, L) and scores (B,)."""
        lengths = ops.sum(ops.cast(source != 0, "int32"), axis=1) - 1
        limits = ops.minimum(lengths + LONGER_BY, self.longest)
        length = ops.minimum(ops.shape(source)[1] - 1 + LONGER_BY, self.longest)
        state = self.model.start(source, length)
        start = ops.full_like(lengths, START)
        return greedy(self.model.step, state, start, length, END, limits)

    def translate(self, text):
        """Text (B,) to its translation and the logarithm of its probability.

        A line longer than the model can read is translated in pieces; an empty one stays empty.
        """
        ids = self.tokenizers[0].tokenize(clean(text))
        pieces, pieces_of_line = split_rows(ids, self.longest - 1)
        with_end = tf.concat([pieces, tf.fill([pieces.nrows(), 1], END)], axis=1)
        target, scores = self.search(at_least_one_row(with_end.to_tensor()))
        count = pieces.nrows()
        texts = self.tokenizers[1].detokenize(target)[:count]
        lines = tf.RaggedTensor.from_row_lengths(texts, pieces_of_line)
        scores = tf.RaggedTensor.from_row_lengths(scores[:count], pieces_of_line)
        return {
            "translation": one_line(tf.strings.reduce_join(lines, axis=1, separator=" ")),
            "score": tf.reduce_sum(scores, axis=1),
        }

    def translate_ids(self, ids, lengths):
        """Ids (B, S) as `tokenize` gives them, so many of each row, to those of the translation.

        What is after a row's length does not matter, whatever a server has filled it up with. What
        is more than the model can read is left out.
        """
        target, scores = self.search(at_least_one_row(self.ready(ids, lengths)))
        rows = tf.shape(ids)[0]
        target, lengths = without_end(target[:rows])
        return {"ids": target, "lengths": lengths, "score": scores[:rows]}

    def tokenize(self, text):
        """Text (B,) to ids (B, S) and how many of each row there are."""
        ids = self.tokenizers[0].tokenize(clean(text))
        return {"ids": ids.to_tensor(), "lengths": tf.cast(ids.row_lengths(), tf.int32)}

    def detokenize(self, ids, lengths):
        """Ids (B, T) of a translation, so many of each row, to its text."""
        return {"text": one_line(self.tokenizers[1].detokenize(cut(ids, lengths)))}

    def encode(self, text):
        """Text (B,) to a vector (B, D) each: the mean of what the encoder makes of its tokens."""
        rows = tf.shape(text)[0]
        memory, mask = self.model.encode(at_least_one_row(self.source_of(text)))
        mask = tf.cast(mask, memory.dtype)[:, :, None]
        vectors = tf.reduce_sum(memory * mask, axis=1) / tf.reduce_sum(mask, axis=1)
        return {"vector": tf.cast(vectors[:rows], tf.float32)}

    def attention(self, text):
        """Text (B,) to its translation, the tokens of both, and who looked at whom.

        The weights are (B, layers, heads, T, S): row t is what the decoder looked at when it wrote
        target token t. Tokens after a row's end are empty.
        """
        rows = tf.shape(text)[0]
        source = at_least_one_row(self.source_of(text))
        target, _ = self.search(source)
        longest = tf.reduce_max(tf.reduce_sum(tf.cast(target != 0, tf.int32), axis=1))
        target = target[:, :longest]
        before = tf.concat([tf.fill([tf.shape(target)[0], 1], START), target[:, :-1]], axis=1)
        scores = attention_model(self.model)({"source": source, "target": before})
        cross = [value for path, value in scores.items() if "cross_attention" in path]
        return {
            "translation": one_line(self.tokenizers[1].detokenize(target))[:rows],
            "source_tokens": self.tokenizers[0].pieces(source)[:rows],
            "target_tokens": self.tokenizers[1].pieces(target)[:rows],
            "attention": tf.cast(tf.stack(cross, axis=1)[:rows], tf.float32),
        }

    def logits(self, source, target):
        """Logits (B, T, V) after each token of a given target; ids with start and end tokens."""
        return {"logits": tf.cast(self.model({"source": source, "target": target}), tf.float32)}

    def source_of(self, text):
        """The ids the model reads, of as much of each line as it can read."""
        ids = self.tokenizers[0].tokenize(clean(text))
        return self.ready(ids.to_tensor(), tf.cast(ids.row_lengths(), tf.int32))

    def ready(self, ids, lengths):
        """Ids (B, S) and lengths as the model reads them: an end token, then padding."""
        room = self.longest - 1
        lengths = tf.clip_by_value(lengths, 0, tf.minimum(tf.shape(ids)[1], room))
        columns = tf.range(tf.minimum(tf.shape(ids)[1], room) + 1)[None]
        ids = tf.pad(ids, [[0, 0], [0, 1]])[:, : room + 1]
        ids = tf.where(columns == lengths[:, None], END, ids)
        return tf.where(columns > lengths[:, None], 0, ids)


def split_rows(ids, longest):
    """Rows of a ragged (B, None) tensor in pieces, and how many there are of each row."""
    lengths = ids.row_lengths()
    counts = (lengths + longest - 1) // longest
    number = tf.ragged.range(counts)  # of a piece in its row
    left = lengths[:, None] - number * longest
    piece_lengths = tf.minimum(left, tf.cast(longest, left.dtype)).flat_values
    return tf.RaggedTensor.from_row_lengths(ids.flat_values, piece_lengths), counts


def at_least_one_row(ids):
    """The ids (B, S), with a row that only ends if there is none: nobody wants an empty batch."""
    missing = tf.maximum(1 - tf.shape(ids)[0], 0)
    length = tf.maximum(tf.shape(ids)[1], 1)
    row = tf.fill([missing, length], END) * tf.one_hot(0, length, dtype=tf.int32)
    return tf.concat([tf.reshape(ids, [tf.shape(ids)[0], length]), row], axis=0)


def without_end(ids):
    """Ids (B, L) with padding in place of the end token, and how many real ones each row has."""
    ids = tf.where(ids == END, 0, ids)
    return ids, tf.reduce_sum(tf.cast(ids != 0, tf.int32), axis=1)


def cut(ids, lengths):
    """Ids (B, T) with padding after so many of each row."""
    return tf.where(tf.range(tf.shape(ids)[1])[None] < lengths[:, None], ids, 0)
