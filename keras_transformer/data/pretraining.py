"""Documents to batches of masked rows, several examples in each."""

import numpy as np
import tensorflow as tf

from keras_transformer.data.epochs import Epochs
from keras_transformer.data.masking import RATE, mask_tokens
from keras_transformer.data.packing import pack
from keras_transformer.data.sentence_pairs import sentence_pairs, stretches
from keras_transformer.data.token_rows import TokenRows


class PretrainingBatches(Epochs):
    """Batches of one shape, whose rows have several examples each, with some of the words hidden.

    Which sentences make an example, and which examples share a row, is decided once; the order of
    the rows, and what is hidden in them, is another in every epoch.

    The inputs are `token_ids`, `segment_ids` and `examples`, (B, T) each: the last numbers the
    examples of a row from 1 on, 0 is padding, and keeps them apart. `positions` (B, M) are those of
    hidden tokens, and `starts` (B, K) those where examples begin, if the next sentence is asked
    for. Labels and weights are dicts: `masked` (B, M), the hidden tokens, and `next` (B, K), 0 if
    the second stretch of an example follows the first, 1 if not. Weights are 1 / N each for the
    batch's N real labels.

    Args:
        sentences: `TokenRows`, or an iterable of lists of ids, without special tokens.
        documents: the number of each sentence's document, rising.
        tokenizer: with `special` ids, `vocab_size` and `begins_word`.
        batch_tokens: B is as large as `B * T <= batch_tokens` allows.
        max_length: T, of a row; longer sentences are cut.
        next_sentence: whether examples are two stretches, of which the second may follow.
        whole_words: whether all pieces of a word are hidden together.
        mask_rate: the share of tokens that are hidden.
        seed: of everything drawn.
        shuffle: whether rows come in any order but that in which they were packed.

    Attributes:
        shapes: (1, 1), T.
        batch_sizes: (1,), B.
        steps: batches an epoch.
        dropped: how many sentences were cut, if any, by reason.
        cut: how many that were.
        padding: the share of an epoch's positions that are padding.
        tokens: real tokens an epoch.
    """

    def __init__(
        self,
        sentences,
        documents,
        tokenizer,
        batch_tokens,
        max_length=128,
        next_sentence=True,
        whole_words=False,
        mask_rate=RATE,
        seed=0,
        shuffle=True,
    ):
        self.sentences = sentences if isinstance(sentences, TokenRows) else TokenRows(sentences)
        self.tokenizer, self.special = tokenizer, tokenizer.special
        if self.special.mask is None:
            raise ValueError("The vocabulary has no [MASK]: learn one with `mask=True`")
        if not self.sentences.lengths.any():
            raise ValueError("Batches are made of sentences. Received: none")
        self.max_length, self.next_sentence = max_length, next_sentence
        self.whole_words, self.mask_rate = whole_words, mask_rate
        room = max_length - (3 if next_sentence else 2)
        # A sentence that fills a row alone leaves no place for a second one.
        self.longest = room // 2 if next_sentence else room
        if self.longest < 1 or batch_tokens < max_length:
            raise ValueError(
                "A batch must have room for a row, and a row for words: `batch_tokens` must be at "
                f"least `max_length`, and that at least 5. Received: batch_tokens={batch_tokens}, "
                f"max_length={max_length}"
            )
        lengths = np.minimum(self.sentences.lengths, self.longest)
        self.cut = int((self.sentences.lengths > self.longest).sum())
        make = sentence_pairs if next_sentence else stretches
        self.examples = make(lengths, np.asarray(documents), room, seed)
        of_examples = np.array([self._length(example, lengths) for example in self.examples])
        self.packed = pack(of_examples[:, None], np.array([max_length]), seed)
        size = min(batch_tokens // max_length, len(self.packed))
        self.batch_sizes, self.shapes = np.array([size]), np.array([[max_length]])
        self.seed, self.shuffle = seed, shuffle
        self.predictions = max(1, round(mask_rate * max_length))
        self.starts = max(map(len, self.packed))
        self.steps = -(-len(self.packed) // size)
        self.tokens = int(of_examples.sum())
        self.padding = 1 - self.tokens / (self.steps * size * max_length)
        self.dropped = {}
        if self.cut:
            self.dropped[f"ends of sentences longer than {self.longest} tokens"] = self.cut

    def _length(self, example, lengths):
        parts = [part for part in (example.first, example.second) if part is not None]
        return 1 + sum(1 + int(lengths[part.first : part.last].sum()) for part in parts)

    def plan(self, epoch):
        """The batches of an epoch in their order: the epoch, and the indices of packed rows."""
        order = np.arange(len(self.packed))
        if self.shuffle:
            order = np.random.default_rng((self.seed, epoch)).permutation(order)
        size = int(self.batch_sizes[0])
        return [(epoch, order[i : i + size]) for i in range(0, len(order), size)]

    def batch(self, epoch, rows):
        """Arrays of these packed rows, then of empty ones."""
        size = int(self.batch_sizes[0])
        token_ids, segment_ids, examples = np.zeros((3, size, self.max_length), "int32")
        positions, masked = np.zeros((2, size, self.predictions), "int32")
        starts, follows = np.zeros((2, size, self.starts), "int32")
        is_masked = np.zeros((size, self.predictions), bool)
        is_start = np.zeros((size, self.starts), bool)
        for i, row in enumerate(rows):
            at = 0
            for number, index in enumerate(self.packed[row]):
                example = self.examples[index]
                starts[i, number], follows[i, number] = at, not example.follows
                # What has only one part says nothing about a second.
                is_start[i, number] = example.second is not None
                token_ids[i, at] = self.special.start
                begin, at = at, at + 1
                for segment, part in enumerate((example.first, example.second)):
                    if part is None:
                        continue
                    ids = self._ids(part)
                    end = at + len(ids)
                    token_ids[i, at:end], token_ids[i, end] = ids, self.special.end
                    segment_ids[i, at : end + 1] = segment
                    at = end + 1
                examples[i, begin:at] = number + 1
            token_ids[i], chosen, answers = mask_tokens(
                token_ids[i],
                self.special,
                self.tokenizer.vocab_size,
                self.predictions,
                np.random.default_rng((self.seed, epoch, int(row))),
                self.tokenizer.begins_word(token_ids[i]) if self.whole_words else None,
                self.mask_rate,
            )
            positions[i, : len(chosen)], masked[i, : len(chosen)] = chosen, answers
            is_masked[i, : len(chosen)] = True
        inputs = {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "examples": examples,
            "positions": positions,
        }
        labels, weights = {"masked": masked}, {"masked": shares(is_masked)}
        if self.next_sentence:
            inputs["starts"] = starts
            labels["next"], weights["next"] = follows, shares(is_start)
        return inputs, labels, weights

    def _ids(self, stretch):
        return np.concatenate(
            [self.sentences[i][: self.longest] for i in range(stretch.first, stretch.last)]
        )

    def with_labels(self, inputs, labels):
        """The inputs of `training.pretraining_network`: hidden tokens are among them."""
        return {**inputs, "labels": labels["masked"]}

    def _signature(self, labels_too, replicas):
        rows = -(-int(self.batch_sizes[0]) // replicas)
        widths = {
            "token_ids": self.max_length,
            "segment_ids": self.max_length,
            "examples": self.max_length,
            "positions": self.predictions,
        }
        outputs = {"masked": self.predictions}
        if self.next_sentence:
            widths["starts"] = outputs["next"] = self.starts
        if labels_too:
            widths["labels"] = self.predictions

        def specs(widths, dtype):
            return {name: tf.TensorSpec((rows, width), dtype) for name, width in widths.items()}

        return specs(widths, tf.int32), specs(outputs, tf.int32), specs(outputs, tf.float32)


def shares(real):
    """1 / N for each of the N that are real, 0 for the others."""
    return real / np.float32(max(real.sum(), 1))
