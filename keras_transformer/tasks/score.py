"""How likely a language model finds a text."""

import math
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.client import read_chunks
from keras_transformer.tasks.run_folder import RunFolder

AT_ONCE = 16  # windows in a batch
MULTIPLE = 32  # of which the lengths of windows are, so that few shapes are traced
LINES_AT_A_TIME = 1024


class Score(NamedTuple):
    """How likely a text is.

    Attributes:
        log_probabilities: (N,), the natural logarithm of each token's probability, given those
            before it.
        characters: how many the text has.
    """

    log_probabilities: np.ndarray
    characters: int

    @property
    def total(self):
        """The logarithm of the text's probability."""
        return float(self.log_probabilities.sum())

    @property
    def perplexity(self):
        """Among how many tokens the model is undecided, on average; of nothing, 1."""
        return math.exp(-self.total / max(len(self.log_probabilities), 1))

    @property
    def bits_per_character(self):
        """The same, whatever the vocabulary."""
        return abs(self.total) / math.log(2) / max(self.characters, 1)  # no minus before a zero


class Scorer:
    """Gives log-probabilities of texts, in TensorFlow's graph.

    A text longer than the model can see at once is read in windows, each of which begins half a
    context after the one before: every token is scored once, and after the first window with half a
    context before it at least.

    Args:
        model: a `Gpt`.
        tokenizer: with `encode` and `start`.
    """

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer = model, tokenizer
        self.context = model.arguments["max_length"]

    @classmethod
    def load(cls, run, weights=None):
        """From a run of `train_language`."""
        folder = RunFolder(run, "language")
        return cls(folder.load_model(weights), folder.tokenizers()[0])

    def __call__(self, texts, prompts=None):
        """The `Score`s of texts.

        Args:
            texts: strings.
            prompts: what stands before each of them, and does not count: strings, or one for all.
        """
        texts = list(texts)
        prompts = [prompts or ""] * len(texts) if isinstance(prompts or "", str) else prompts
        rows, counted = [], []
        for text, prompt in zip(texts, prompts, strict=True):
            before = [self.tokenizer.start, *self.tokenizer.encode(prompt)]
            rows.append(before + self.tokenizer.encode(text))
            counted.append(len(before))
        found = [np.zeros(len(row), "float32") for row in rows]  # of each token, given the others
        windows = [
            (row, first, scored)
            for row, ids in enumerate(rows)
            for first, scored in self._windows(len(ids))
        ]
        for i in range(0, len(windows), AT_ONCE):
            self._score(windows[i : i + AT_ONCE], rows, found)
        return [
            Score(of_row[count:], len(text))
            for of_row, count, text in zip(found, counted, texts, strict=True)
        ]

    def _windows(self, length):
        """Where windows begin, and the first token that each scores."""
        yield 0, 1
        first, scored = 0, self.context + 1
        while scored < length:
            first += max(self.context // 2, 1)
            yield first, scored
            scored = first + self.context + 1

    def _score(self, windows, rows, found):
        parts = [rows[row][first : first + self.context + 1] for row, first, _ in windows]
        width = -(-(max(map(len, parts)) - 1) // MULTIPLE) * MULTIPLE
        width = max(min(width, self.context), 1)
        ids = np.zeros((len(parts), width + 1), "int32")
        for i, part in enumerate(parts):
            ids[i, : len(part)] = part
        scores = self._log_probabilities(tf.constant(ids)).numpy()
        for (row, first, scored), part, of_part in zip(windows, parts, scores, strict=True):
            end = first + len(part)
            found[row][scored:end] = of_part[scored - first - 1 : len(part) - 1]

    @tf.function(reduce_retracing=True)
    def _log_probabilities(self, ids):
        logits = tf.cast(self.model({"token_ids": ids[:, :-1]}), tf.float32)
        return -tf.nn.sparse_softmax_cross_entropy_with_logits(ids[:, 1:], logits)


def score(run, texts, prompts=None, weights=None):
    """The `Score`s of texts, by a run of `train_language`; see `Scorer`."""
    return Scorer.load(run, weights)(texts, prompts)


def score_stream(run, lines, out, prompt="", weights=None):
    """Writes for each line its log-probability, perplexity and bits per character, and the line.

    Args:
        run: path of a run of `train_language`.
        lines: strings, or a binary file.
        out: a text file.
        prompt: what stands before each of them, and does not count.
        weights: see `RunFolder.load_model`.
    """
    scorer = Scorer.load(run, weights)
    out.write("log-probability\tperplexity\tbits/character\ttext\n")
    for chunk in read_chunks(lines, LINES_AT_A_TIME):
        for text, of_text in zip(chunk, scorer(chunk, prompt), strict=True):
            out.write(
                f"{of_text.total:.3f}\t{of_text.perplexity:.3f}\t"
                f"{of_text.bits_per_character:.3f}\t{text}\n"
            )
