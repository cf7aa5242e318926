"""Translating text with a trained run."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf

from keras_transformer.client import read_chunks
from keras_transformer.decoding import check_beam
from keras_transformer.export import CompiledGreedy, Translation
from keras_transformer.tasks.display import progress_bar
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.tasks.threads import share_cores
from keras_transformer.text import END, one_line

LINES_AT_A_TIME = 1024


class Translator:
    """Translates lines of text: each line of its own, whatever company it is in.

    Lines are decoded in batches of similar length, several batches side by side. A line longer than
    the model can read is translated in pieces. One trace of the decoding loop serves all shapes.

    Args:
        model: a `Transformer`.
        tokenizers: of source and target.
        beam_size: how many translations of a sentence are followed side by side; 1 is greedy.
        alpha: how much a beam favours long translations.
        n_best: how many of them `n_best` gives.
        batch_size: lines of a batch, at most.
        batch_tokens: source positions of a batch, those of all beams together, at most.
        workers: how many batches are decoded side by side.
        compiled: whether to decode with code that XLA compiles for a few shapes of batches, see
            `export.CompiledGreedy`: faster, after seconds of compiling for each shape; single lines
            six times as fast. Greedy only.

    Attributes:
        decode: the traced function, (B, S) source ids to (B, n_best, L) target ids and scores.
    """

    def __init__(
        self,
        model,
        tokenizers,
        beam_size=1,
        alpha=1.0,
        n_best=1,
        batch_size=64,
        batch_tokens=4096,
        workers=1,
        compiled=False,
    ):
        check_beam(beam_size, alpha, n_best)
        self.model, self.tokenizers = model, tokenizers
        self.translation = Translation(model, tokenizers, beam_size, alpha)
        self.batch_size, self.batch_tokens = batch_size, batch_tokens // beam_size
        self.workers = workers
        self.compiled = CompiledGreedy(self.translation) if compiled else None
        self.longest = self.translation.longest
        self.decode = tf.function(
            lambda source: self.translation.search_n_best(source, n_best),
            input_signature=[tf.TensorSpec((None, None), tf.int32)],
        )

    @classmethod
    def load(cls, run, weights=None, **options):
        """A translator with a model of a run.

        If TensorFlow has not started yet, it gets as many threads for an operation as make room
        for several batches side by side (`threads.share_cores`); with `workers` given, its threads
        are left alone. The process keeps memory it has freed (`memory.keep_memory`).

        Args:
            run: path of the run's folder.
            weights: which of its models, see `RunFolder.load_model`.
            **options: of the `Translator`.
        """
        keep_memory(together=False)
        if "workers" not in options:
            options["workers"] = share_cores()
        folder = RunFolder(run, "translation")
        return cls(folder.load_model(weights), folder.tokenizers(), **options)

    def __call__(self, lines, show_progress=False):
        """Translates a list of lines; an empty line stays empty."""
        return [best[0][1] if best else "" for best in self.n_best(lines, show_progress)]

    def n_best(self, lines, show_progress=False):
        """For each line its best translations as (score, text); none for an empty line."""
        pieces = [
            (number, piece)
            for number, ids in enumerate(self.tokenizers[0].encode([clean(line) for line in lines]))
            for piece in self._pieces(ids)
        ]
        found = [[] for _ in lines]
        outputs = [None] * len(pieces)
        batches = list(self._batches([len(piece) for _, piece in pieces]))
        with progress_bar(disable=not show_progress) as bar:
            task = bar.add_task("Translating", total=len(pieces), note="")
            decoded = self._decode([[pieces[i][1] for i in batch] for batch in batches])
            for batch, rows in zip(batches, decoded, strict=True):
                for i, row in zip(batch, rows, strict=True):
                    outputs[i] = row
                bar.advance(task, len(batch))
        for (number, _), best in zip(pieces, outputs, strict=True):
            found[number].append(best)
        return [join_pieces(of_line) for of_line in found]

    def _pieces(self, ids):
        room = self.longest - 1  # for the end token
        return [ids[i : i + room] for i in range(0, len(ids), room)]

    def _batches(self, lengths):
        """Indices by length, the longest first, as many as the budget allows."""
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        while order:
            size = min(self.batch_size, max(1, self.batch_tokens // (lengths[order[0]] + 1)))
            yield order[:size]
            order = order[size:]

    def _decode(self, batches):
        """What `_decode_batch` makes of each of them, in their order."""
        if self.workers == 1 or len(batches) == 1:
            yield from map(self._decode_batch, batches)
            return
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                yield from pool.map(self._decode_batch, batches)
            finally:
                pool.shutdown(wait=False, cancel_futures=True)  # where somebody has interrupted

    def _decode_batch(self, pieces):
        if self.compiled is None:
            return self._decode_in_graph(pieces)
        found = self.compiled([[*piece, END] for piece in pieces])
        texts = self.tokenizers[1].decode([ids for ids, _ in found])
        return [[(score, text)] for (_, score), text in zip(found, texts, strict=True)]

    def _decode_in_graph(self, pieces):
        source = np.zeros((len(pieces), max(map(len, pieces)) + 1), "int32")
        for row, piece in zip(source, pieces, strict=True):
            row[: len(piece)], row[len(piece)] = piece, END
        ids, scores = (x.numpy() for x in self.decode(source))
        texts = self.tokenizers[1].decode(ids.reshape(-1, ids.shape[-1]).tolist())
        texts = [texts[i : i + ids.shape[1]] for i in range(0, len(texts), ids.shape[1])]
        return [list(zip(*row, strict=True)) for row in zip(scores.tolist(), texts, strict=True)]


def translate(run, lines, show_progress=False, **options):
    """Translates lines of text with a trained run.

    Args:
        run: path of the run's folder.
        lines: a list of strings.
        show_progress: whether to show a bar.
        **options: of `Translator.load`, such as `beam_size`.

    Returns:
        A list of as many strings.
    """
    return Translator.load(run, **options)(lines, show_progress)


def translate_stream(run, lines, out, n_best=None, **options):
    """Translates line after line and writes exactly one line for each, or `n_best`.

    Args:
        run: path of the run's folder.
        lines: strings; or a binary file, of which many lines are translated at a time, and single
            lines at once if somebody types them.
        out: a text file.
        n_best: write so many translations of each line, with their scores: score, tab, text. An
            empty line has one, of score 0.
        **options: of `Translator.load`, such as `beam_size`.
    """
    translator = Translator.load(run, n_best=n_best or 1, **options)
    typed = isinstance(lines, (list, tuple)) or lines.isatty()
    for chunk in read_chunks(lines, LINES_AT_A_TIME):
        for best in translator.n_best(chunk, show_progress=not typed):
            for score, text in best or [(0.0, "")]:
                out.write(f"{text}\n" if n_best is None else f"{score:.4f}\t{text}\n")
        out.flush()


def join_pieces(pieces):
    """Translations of a line from those of its pieces: the best of each, the second best, ..."""
    return [
        (sum(score for score, _ in of_rank), one_line(" ".join(text for _, text in of_rank)))
        for of_rank in zip(*pieces, strict=True)
    ]


def clean(line):
    """The line as `data.read_pairs` would read it: no byte order mark, no white space around."""
    return line.removeprefix("\ufeff").strip()
