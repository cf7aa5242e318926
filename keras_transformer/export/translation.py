"""Translation as graph functions: text in, text out, nothing in between that is not an op."""

import tensorflow as tf
from keras import ops

from keras_transformer.decoding import beam_search, check_beam, greedy
from keras_transformer.export.text_ops import clean, one_line
from keras_transformer.models import attention_model
from keras_transformer.text import END, START

MOVES = ("reorder", "repeat", "take")  # how a model moves beams, if it knows better than `decoding`
LONGER_BY = 50  # a translation has at most so many tokens more than its source


class Translation:
    """What a trained translation model can be asked, as functions for a TensorFlow graph.

    `tasks.Translator` uses `search` on the host; an exported model has them all as signatures.

    Args:
        model: a `Transformer`, or another model with `start`, `step` and `max_length`.
        tokenizers: of source and target.
        beam_size: how many translations of a sentence are followed side by side; 1 is greedy.
        alpha: how much a beam favours long translations, see `decoding.beam_search`.
        fixed_shapes: whether every step must have tensors of the same shapes, as TFLite and XLA
            want it; slower in a plain graph.
    """

    def __init__(self, model, tokenizers, beam_size=1, alpha=1.0, fixed_shapes=False):
        check_beam(beam_size, alpha)
        if beam_size > tokenizers[1].vocab_size:
            raise ValueError(
                "A beam must not be wider than the vocabulary. Received: "
                f"beam_size={beam_size}, and the vocabulary has {tokenizers[1].vocab_size} pieces"
            )
        self.model, self.tokenizers = model, tokenizers
        self.beam_size, self.alpha, self.fixed_shapes = beam_size, alpha, fixed_shapes
        self.longest = model.get_config()["max_length"]

    def search(self, source):
        """Source ids (B, S), each ending with the end token, to ids (B, L) and scores (B,)."""
        ids, scores = self.search_n_best(source, 1)
        return ids[:, 0], scores[:, 0]

    def search_n_best(self, source, n_best):
        """The same to the best few, (B, n_best, L), and their scores (B, n_best)."""
        lengths = ops.sum(ops.cast(source != 0, "int32"), axis=1) - 1
        limits = ops.minimum(lengths + LONGER_BY, self.longest)
        length = ops.minimum(ops.shape(source)[1] - 1 + LONGER_BY, self.longest)
        state = self.model.start(source, length if self.fixed_shapes else None)
        start = ops.full_like(lengths, START)
        step, enlarge = self.model.step, None
        if not self.fixed_shapes and hasattr(self.model, "make_step"):
            step = self.model.make_step(overwrite=True)
            enlarge = self.model.enlarge
        shrinking = {"shrink": not self.fixed_shapes, "enlarge": enlarge}
        if self.beam_size == 1:
            found = greedy(step, state, start, length, END, limits, **shrinking)
            return tuple(ops.expand_dims(x, 1) for x in found)
        return beam_search(
            step,
            state,
            start,
            length,
            END,
            self.beam_size,
            self.alpha,
            n_best,
            limits,
            **shrinking,
            **{name: getattr(self.model, name) for name in MOVES if hasattr(self.model, name)},
        )

    def translate(self, text):
        """Text (B,) to its translation and its score.

        The score of greedy decoding is the logarithm of the translation's probability, that of a
        beam is divided by the length penalty. A line longer than the model can read is translated
        in pieces; an empty one stays empty.
        """
        best = self._translate_n_best(text, 1)
        return {"translation": best["translations"][:, 0], "score": best["scores"][:, 0]}

    def translate_nbest(self, text):
        """Text (B,) to as many translations (B, K) as the beam is wide, the best first."""
        return self._translate_n_best(text, self.beam_size)

    def _translate_n_best(self, text, n_best):
        ids = self.tokenizers[0].tokenize(clean(text))
        pieces, pieces_of_line = split_rows(ids, self.longest - 1)
        with_end = tf.concat([pieces, tf.fill([pieces.nrows(), 1], END)], axis=1)
        target, scores = self.search_n_best(at_least_one_row(with_end.to_tensor()), n_best)
        count = pieces.nrows()
        texts = self.tokenizers[1].detokenize(tf.reshape(target, [-1, tf.shape(target)[2]]))
        texts = tf.reshape(texts, [-1, n_best])[:count]
        # (lines, pieces, n_best) to (lines, n_best): the best of each piece together, and so on.
        texts = tf.RaggedTensor.from_row_lengths(texts, pieces_of_line)
        scores = tf.RaggedTensor.from_row_lengths(scores[:count], pieces_of_line)
        joined = [
            tf.strings.reduce_join(texts[:, :, rank], axis=1, separator=" ")
            for rank in range(n_best)
        ]
        return {
            "translations": one_line(tf.stack(joined, axis=1)),
            "scores": tf.reshape(tf.reduce_sum(scores, axis=1), [-1, n_best]),
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
