"""Translating text with a trained run."""

import numpy as np
import tensorflow as tf

from keras_transformer.client import read_chunks
from keras_transformer.export import Translation
from keras_transformer.tasks.display import progress_bar
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.text import END

LINES_AT_A_TIME = 1024


class Translator:
    """Translates lines of text: each line of its own, whatever company it is in.

    Lines are decoded in batches of similar length. A line longer than the model can read is
    translated in pieces. One trace of the decoding loop serves all shapes.

    Args:
        model: a `Transformer`.
        tokenizers: of source and target.
        batch_tokens: source positions of a batch.

    Attributes:
        decode: the traced function, (B, S) source ids to (B, L) target ids.
    """

    def __init__(self, model, tokenizers, batch_tokens=4096):
        self.model, self.tokenizers, self.batch_tokens = model, tokenizers, batch_tokens
        translation = Translation(model, tokenizers)
        self.longest = translation.longest
        self.decode = tf.function(
            lambda source: translation.search(source)[0],
            input_signature=[tf.TensorSpec((None, None), tf.int32)],
        )

    @classmethod
    def load(cls, run, **options):
        """A translator with the best model of a run."""
        keep_memory()
        folder = RunFolder(run)
        return cls(folder.load_model(), folder.tokenizers(), **options)

    def __call__(self, lines, show_progress=False):
        """Translates a list of lines; an empty line stays empty."""
        pieces = [
            (number, piece)
            for number, ids in enumerate(self.tokenizers[0].encode([clean(line) for line in lines]))
            for piece in self._pieces(ids)
        ]
        translated = [[] for _ in lines]
        outputs = [None] * len(pieces)
        with progress_bar(disable=not show_progress) as bar:
            task = bar.add_task("Translating", total=len(pieces), note="")
            for batch in self._batches([len(piece) for _, piece in pieces]):
                rows = self._decode_batch([pieces[i][1] for i in batch])
                for i, row in zip(batch, rows, strict=True):
                    outputs[i] = row
                bar.advance(task, len(batch))
        for (number, _), text in zip(pieces, outputs, strict=True):
            translated[number].append(text)
        return [one_line(" ".join(texts)) for texts in translated]

    def _pieces(self, ids):
        room = self.longest - 1  # for the end token
        return [ids[i : i + room] for i in range(0, len(ids), room)]

    def _batches(self, lengths):
        """Indices by length, the longest first, as many as the budget allows."""
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        while order:
            size = max(1, self.batch_tokens // (lengths[order[0]] + 1))
            yield order[:size]
            order = order[size:]

    def _decode_batch(self, pieces):
        source = np.zeros((len(pieces), max(map(len, pieces)) + 1), "int32")
        for row, piece in zip(source, pieces, strict=True):
            row[: len(piece)], row[len(piece)] = piece, END
        return self.tokenizers[1].decode(self.decode(source).numpy().tolist())


def translate(run, lines, show_progress=False):
    """Translates lines of text with the best model of a run.

    Args:
        run: path of the run's folder.
        lines: a list of strings.
        show_progress: whether to show a bar.

    Returns:
        A list of as many strings.
    """
    return Translator.load(run)(lines, show_progress)


def translate_stream(run, lines, out):
    """Translates line after line and writes exactly one line for each.

    Args:
        run: path of the run's folder.
        lines: strings; or a binary file, of which many lines are translated at a time, and single
            lines at once if somebody types them.
        out: a text file.
    """
    translator = Translator.load(run)
    typed = isinstance(lines, (list, tuple)) or lines.isatty()
    for chunk in read_chunks(lines, LINES_AT_A_TIME):
        for translation in translator(chunk, show_progress=not typed):
            out.write(translation + "\n")
        out.flush()


def clean(line):
    """The line as `data.read_pairs` would read it: no byte order mark, no white space around."""
    return line.removeprefix("\ufeff").strip()


def one_line(text):
    """The text without anything that ends a line."""
    return " ".join(text.split())
