"""Fine-tuned BERTs as graph functions: text in, labels out, nothing in between that is not an op.

On the host, `data.text_rows` and `tasks.finetune_kinds` do the same; the tests compare them.
"""

import tensorflow as tf

from keras_transformer.export.text_ops import clean, one_line
from keras_transformer.models.bert_heads import mean_vector

LONGEST_ANSWER = 30  # words


class Reading:
    """What all of them have in common: texts become rows of ids.

    Args:
        model: a BERT with a head, see `models.bert_heads`.
        tokenizer: its tokenizer.
        labels: the names of labels, in the order of their numbers.
        max_length: of a row, in tokens; what is longer is cut.
    """

    def __init__(self, model, tokenizer, labels, max_length):
        self.model, self.tokenizer, self.labels = model, tokenizer, list(labels)
        self.max_length, self.special = max_length, tokenizer.special

    def tokenize(self, text):
        """Text (B,) to `token_ids` and `segment_ids` (B, T), as the model reads them."""
        return self.rows(self.tokenizer.tokenize(clean(text)))

    def encode(self, text):
        """Text (B,) to a vector (B, D) each: the mean of the last vectors of its tokens."""
        rows = self.tokenize(text)
        hidden = self.model.bert(rows)[f"hidden_{self.model.bert.num_layers}"]
        return {"vector": mean_vector(hidden, rows["token_ids"])}

    def logits(self, token_ids, segment_ids):
        """Logits of rows of ids."""
        logits = self.model({"token_ids": token_ids, "segment_ids": segment_ids})
        return {"logits": tf.cast(logits, tf.float32)}

    def rows(self, first, second=None, cut="longer"):
        """Ragged ids of one text or two as rows, (B, T); see `data.text_row`."""
        count, room = first.nrows(), self.max_length - (2 if second is None else 3)
        start = tf.fill([count, 1], self.special.start)
        end = tf.fill([count, 1], self.special.end)
        if second is None:
            ids = tf.concat([start, first[:, :room], end], axis=1)
            segments = tf.zeros_like(ids)
        else:
            of_first, of_second = first.row_lengths(), second.row_lengths()
            of_first = tf.minimum(of_first, room)
            if cut == "longer":
                half = tf.cast((room + 1) // 2, of_first.dtype)
                of_first = tf.minimum(of_first, tf.maximum(room - of_second, half))
            of_second = tf.minimum(of_second, room - of_first)
            parts = [start, heads(first, of_first), end, heads(second, of_second), end]
            ids = tf.concat(parts, axis=1)
            segments = tf.concat(
                [tf.zeros_like(part) for part in parts[:3]]
                + [tf.ones_like(part) for part in parts[3:]],
                axis=1,
            )
        token_ids = tf.cast(ids.to_tensor(), tf.int32)
        return {"token_ids": token_ids, "segment_ids": tf.cast(segments.to_tensor(), tf.int32)}

    def call(self, rows):
        """What the model makes of rows."""
        return tf.cast(self.model(rows), tf.float32)


class Classification(Reading):
    """A label for each text."""

    def classify(self, text):
        """Text (B,) to its label (B,), the label's probability (B,), and those of all (B, C).

        An empty text has no label, and probabilities of zero.
        """
        text = clean(text)
        return self._labelled(self.rows(self.tokenizer.tokenize(text)), text == "")

    def classify_pair(self, text, second):
        """The same of two texts, (B,) each."""
        text = clean(text)
        rows = self.rows(self.tokenizer.tokenize(text), self.tokenizer.tokenize(clean(second)))
        return self._labelled(rows, text == "")

    def _labelled(self, rows, is_empty):
        probabilities = tf.nn.softmax(self.call(rows))
        best = tf.argmax(probabilities, axis=-1)
        probabilities = tf.where(is_empty[:, None], 0.0, probabilities)
        return {
            "label": tf.where(is_empty, "", tf.gather(self.labels, best)),
            "probability": tf.reduce_max(probabilities, axis=-1),
            "probabilities": probabilities,
        }


class Tagging(Reading):
    """A label for each word."""

    def tag(self, text):
        """Text (B,) to its words and their tags, (B, W) each, empty after the last word.

        Words are what stands between spaces. One for which there was no room has the tag O.
        """
        words = tf.strings.split(clean(text))
        ids, firsts, fits = word_rows(self, words)
        logits = self.call(self.rows(ids))
        places = tf.where(fits, firsts, 0).to_tensor()
        numbers = tf.argmax(tf.gather(logits, places, batch_dims=1), axis=-1)
        tags = tf.where(fits.to_tensor(), tf.gather(self.labels, numbers), self.labels[0])
        dense = words.to_tensor()
        return {"words": dense, "tags": tf.where(dense == "", "", tags)}


class Answering(Reading):
    """The part of a text that answers a question."""

    def answer(self, question, text):
        """Questions and texts, (B,) each, to answers, empty if there is none, and their scores."""
        words = tf.strings.split(one_line(clean(text)))
        questions = self.tokenizer.tokenize(clean(question))[:, : self.max_length // 2]
        pieces, firsts, _ = word_rows(self, words)
        rows = self.rows(questions, pieces, cut="second")
        # Words begin after the question, not after the start token.
        shift = tf.cast(questions.row_lengths() + 1, tf.int32)
        lengths = tf.reduce_sum(tf.cast(rows["token_ids"] != 0, tf.int32), axis=1)
        firsts = (firsts + shift[:, None]).to_tensor()
        ends = tf.concat([firsts[:, 1:], tf.zeros_like(firsts[:, :1])], axis=1)
        count = tf.cast(words.row_lengths(), tf.int32)
        last = tf.range(tf.shape(firsts)[1])[None] == count[:, None] - 1
        total = shift + tf.cast(pieces.row_lengths(), tf.int32) + 1
        ends = tf.where(last, total[:, None], ends) - 1
        real = (tf.range(tf.shape(firsts)[1])[None] < count[:, None]) & (
            ends < lengths[:, None] - 1
        )
        logits = self.call(rows)
        begins = tf.gather(logits[:, :, 0], tf.where(real, firsts, 0), batch_dims=1)
        # A word ends where the next one begins.
        finishes = tf.gather(logits[:, :, 1], tf.where(real, ends, 0), batch_dims=1)
        sums = begins[:, :, None] + finishes[:, None, :]
        number = tf.range(tf.shape(firsts)[1])
        apart = number[None, :] - number[:, None]
        allowed = (apart >= 0) & (apart < LONGEST_ANSWER)
        allowed = allowed[None] & real[:, :, None] & real[:, None, :]
        width = tf.shape(firsts)[1]
        flat = tf.reshape(tf.where(allowed, sums, -1e9), [-1, width * width])
        flat = tf.pad(flat, [[0, 0], [0, 1]], constant_values=-1e9)  # a text may have no word
        best, score = tf.argmax(flat, axis=-1, output_type=tf.int32), tf.reduce_max(flat, axis=-1)
        first, last = best // tf.maximum(width, 1), best % tf.maximum(width, 1)
        none = tf.reduce_sum(logits[:, 0], axis=-1)
        inside = (number[None] >= first[:, None]) & (number[None] <= last[:, None])
        inside &= (score >= none)[:, None]
        chosen = tf.ragged.boolean_mask(words.to_tensor(), inside)
        return {
            "answer": tf.strings.reduce_join(chosen, axis=1, separator=" "),
            "score": tf.maximum(score, none) - none,
        }


def heads(rows, counts):
    """The first so many of each ragged row."""
    keep = tf.ragged.range(rows.row_lengths()) < tf.expand_dims(counts, 1)
    return tf.ragged.boolean_mask(rows, keep)


def word_rows(reading, words):
    """Ragged words (B, W) to their pieces (B, T), where each word begins, and whether it fits."""
    flat = words.flat_values
    pieces = reading.tokenizer.tokenize(flat)
    # A word without pieces, such as a control character, is unknown.
    unknown = tf.fill([tf.size(flat), 1], reading.special.unknown)
    missing = tf.ragged.boolean_mask(
        tf.RaggedTensor.from_tensor(unknown), (pieces.row_lengths() == 0)[:, None]
    )
    pieces = tf.concat([pieces, missing], axis=1)
    of_words = words.with_flat_values(tf.cast(pieces.row_lengths(), tf.int32))
    ids = words.with_flat_values(pieces).merge_dims(1, 2)
    ends = tf.cumsum(of_words.to_tensor(), axis=1)
    ends = tf.RaggedTensor.from_tensor(ends, lengths=of_words.row_lengths())
    starts = ends - of_words + 1  # after the start token
    return ids, starts, ends + 1 <= reading.max_length - 1
