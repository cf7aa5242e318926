"""Vectors of words in their context, from any layers of a trained BERT."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from keras import ops

from keras_transformer.client import read_chunks
from keras_transformer.files import write_whole
from keras_transformer.models import Bert
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.predict import Predictor
from keras_transformer.tasks.pretrained import load_pretrained
from keras_transformer.tasks.training_settings import check_choice
from keras_transformer.tasks.words import word_row


class Choice(NamedTuple):
    """Which layers' vectors are taken, and how they become one.

    Attributes:
        layers: numbers of hidden states: 0 is the embeddings, -1 the last layer; None for all
            layers but the embeddings.
        join: "sum" or "concat".
    """

    layers: tuple | None
    join: str = "sum"


# The rows of table 7 in Devlin et al. 2019.
COMBINATIONS = {
    "first": Choice((0,)),
    "second_to_last": Choice((-2,)),
    "last": Choice((-1,)),
    "sum_last_four": Choice((-4, -3, -2, -1)),
    "concat_last_four": Choice((-4, -3, -2, -1), "concat"),
    "sum_all": Choice(None),
}
JOINS = ("sum", "concat")
LINES_AT_A_TIME = 1024


def features(model, text, layers=None, combine="last"):
    """The vectors of a text's words, each of which knows its context.

    Args:
        model: a path, see `load_pretrained`; or a `FeatureReader`, which saves loading it again.
        text: a string, or a list of strings. Words are what stands between spaces; of a word in
            pieces, the first piece's vector is taken.
        layers: numbers of hidden states, 0 being the embeddings and -1 the last; then `combine` is
            "sum" or "concat".
        combine: else the name of a choice: "first" (the embeddings), "last", "second_to_last",
            "sum_all", "sum_last_four" or "concat_last_four".

    Returns:
        An array (words, D'), D' being D, or its multiple for "concat"; or a list of such.
    """
    reader = model if isinstance(model, FeatureReader) else FeatureReader.load(model)
    choice = choose(layers, combine)
    texts = [text] if isinstance(text, str) else list(text)
    states = reader.states([one.split() for one in texts])
    found = [joined(of_text, choice) for of_text in states]
    return found[0] if isinstance(text, str) else found


def choose(layers, combine):
    """The `Choice` that the arguments of `features` mean."""
    if layers is None:
        check_choice(COMBINATIONS, combine=combine)
        return COMBINATIONS[combine]
    check_choice(JOINS, combine=combine)
    return Choice(tuple(layers), combine)


def joined(states, choice):
    """One vector a word: hidden states (layers, words, D) to (words, D')."""
    count = len(states)
    layers = range(1, count) if choice.layers is None else choice.layers
    if not all(-count <= layer < count for layer in layers):
        raise ValueError(
            f"The model has the hidden states 0 to {count - 1}. Received: layers={tuple(layers)}"
        )
    chosen = [states[layer] for layer in layers]
    if choice.join == "concat":
        return np.concatenate(chosen, axis=-1)
    return np.sum(chosen, axis=0)


class FeatureReader:
    """A trained BERT, ready to give the vectors of words.

    Args:
        bert: a `Bert`.
        tokenizer: its tokenizer.
    """

    def __init__(self, bert, tokenizer):
        self.bert, self.tokenizer = bert, tokenizer
        self.predictor = Predictor(AllStates(bert))
        self.cut = 0

    @classmethod
    def load(cls, path):
        """From a run of `pretrain` or `finetune`, or a folder in Hugging Face's layout."""
        keep_memory(together=False)
        return cls(*load_pretrained(Path(path), pooler=False))

    def states(self, sentences, show_progress=False, dtype="float32"):
        """The hidden states of words, a list of arrays (layers + 1, words, D).

        Args:
            sentences: lists of words. Words for which the model has no room get zeros.
            show_progress: whether to show a bar.
            dtype: of the arrays.
        """
        max_length = self.bert.arguments["max_length"]
        rows = [word_row(self.tokenizer, words, max_length) for words in sentences]
        ids = [row for row, _ in rows]
        vectors = self.predictor(ids, [len(row) for row in ids], show_progress, dtype)
        found = []
        for words, (_, places), of_row in zip(sentences, rows, vectors, strict=True):
            states = np.zeros((of_row.shape[1], len(words), of_row.shape[2]), dtype)
            states[:, : len(places)] = of_row[places[:, 0]].swapaxes(0, 1)
            self.cut += len(places) < len(words)
            found.append(states)
        return found


class AllStates:
    """A function of rows to all hidden states, (B, T, layers + 1, D).

    Args:
        bert: a `Bert`.
    """

    def __init__(self, bert: Bert):
        self.bert = bert

    def __call__(self, rows):
        """The states, side by side."""
        outputs = self.bert(rows)
        names = [f"hidden_{i}" for i in range(self.bert.num_layers + 1)]
        return ops.stack([ops.cast(outputs[name], "float32") for name in names], axis=2)


def write_features(model, lines, combine, path, out):
    """Writes the vectors of the words of some texts.

    Args:
        model: see `load_pretrained`.
        lines: strings, or a binary file.
        combine: see `features`.
        path: of an .npz file, with `words`, `texts`, the number of each word's text, and `vectors`;
            None to print a line for each word: the word, a tab, its numbers.
        out: a text file to print to.
    """
    choose(None, combine)
    if path is not None and Path(path).suffix != ".npz":
        raise ValueError(f"The file's name must end with .npz. Received: {path}")
    reader = FeatureReader.load(model)
    texts = [text for chunk in read_chunks(lines, LINES_AT_A_TIME) for text in chunk]
    found = features(reader, texts, combine=combine)
    words = [text.split() for text in texts]
    if path is not None:
        arrays = {
            "words": np.array([word for of_text in words for word in of_text]),
            "texts": np.repeat(np.arange(len(texts)), [len(of_text) for of_text in words]),
            "vectors": np.concatenate(found),
        }
        write_whole(path, lambda temporary: np.savez(temporary, **arrays))
        return
    for of_text, vectors in zip(words, found, strict=True):
        for word, vector in zip(of_text, vectors, strict=True):
            out.write(f"{word}\t{' '.join(f'{number:.4f}' for number in vector)}\n")
