"""Asking a fine-tuned model: labels of texts, tags of words, answers to questions."""

from typing import NamedTuple

import numpy as np

from keras_transformer.client import read_chunks
from keras_transformer.data.labelled import LabelledText, Question, TaggedWords
from keras_transformer.tasks.display import console
from keras_transformer.tasks.finetune_kinds import KINDS
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.predict import Predictor
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.text import one_line

LINES_AT_A_TIME = 1024


class Labelled(NamedTuple):
    """What a model says about a text.

    Attributes:
        label: the likeliest one; empty if the text is.
        probabilities: a dict from labels to their probabilities, the likeliest first.
    """

    label: str
    probabilities: dict


class Reader:
    """A fine-tuned model, ready to be asked.

    Args:
        folder: the `RunFolder` of a run of `finetune`.

    Attributes:
        cut: how many texts were longer than the model can read, so far.
    """

    def __init__(self, folder):
        self.folder, self.kind = folder, KINDS[folder.task]
        self.labels = folder.config["data"]["labels"]
        self.max_length = folder.config["data"]["max_length"]
        self.model, self.tokenizer = folder.load_model(), folder.tokenizers()[0]
        self.predictor = Predictor(self.model)
        self.cut = 0

    @classmethod
    def load(cls, run, *tasks):
        """The reader of a run.

        Args:
            run: path of the run's folder.
            *tasks: what it should have learned, if not just anything.
        """
        keep_memory(together=False)
        return cls(RunFolder(run, *(tasks or KINDS)))

    def classify(self, texts, seconds=None, show_progress=False):
        """A `Labelled` for each text, or each pair of texts; an empty text has no label."""
        seconds = seconds or [None] * len(texts)
        pairs = [
            LabelledText("", one_line(text), second if second is None else one_line(second))
            for text, second in zip(texts, seconds, strict=True)
        ]
        found = [Labelled("", {})] * len(texts)
        real = [i for i, pair in enumerate(pairs) if pair.text]
        _, logits = self._read([pairs[i] for i in real], show_progress)
        for i, of_row in zip(real, logits, strict=True):
            exponentials = np.exp(of_row - of_row.max())
            probabilities = exponentials / exponentials.sum()
            order = np.argsort(-probabilities, kind="stable")
            named = {self.labels[k]: float(probabilities[k]) for k in order}
            found[i] = Labelled(next(iter(named)), named)
        return found

    def tag(self, texts, show_progress=False):
        """For each text a list of its words with their tags; words stand between spaces."""
        sentences = [TaggedWords(tuple(text.split()), ()) for text in texts]
        real = [sentence for sentence in sentences if sentence.words]
        rows, logits = self._read(real, show_progress)
        tags = iter(self.kind.answers(real, rows, logits, self.labels))
        return [
            list(zip(sentence.words, next(tags), strict=True)) if sentence.words else []
            for sentence in sentences
        ]

    def answer(self, questions, texts, show_progress=False):
        """The answer to each question that its text has; empty if it has none."""
        asked = [
            Question(one_line(question), one_line(text))
            for question, text in zip(questions, texts, strict=True)
        ]
        rows, logits = self._read(asked, show_progress)
        return self.kind.answers(asked, rows, logits, self.labels)

    def _read(self, examples, show_progress):
        rows = self.kind.rows(examples, self.tokenizer, self.max_length)
        self.cut += rows.cut
        return rows, self.predictor(rows.ids, rows.seconds, show_progress)

    def report_cut(self):
        """Says how many texts were cut, if any were."""
        if self.cut:
            console.print(
                f"{self.cut:,} texts were longer than {self.max_length} tokens, and cut",
                markup=False,
            )


def classify(run, texts, **options):
    """A `Labelled` for each of the texts, by a run of `finetune`; see `Reader.classify`."""
    return Reader.load(run, "classify").classify(texts, **options)


def tag(run, texts, **options):
    """Words with their tags for each of the texts, by a run of `finetune --task tag`."""
    return Reader.load(run, "tag").tag(texts, **options)


def answer(run, questions, texts, **options):
    """Answers of the texts to the questions, by a run of `finetune --task span`."""
    return Reader.load(run, "span").answer(questions, texts, **options)


def read_stream(run, lines, out):
    """Writes exactly one line for each line: its label and probability, or words with their tags.

    Args:
        run: path of the run's folder, of `finetune --task classify` or `tag`.
        lines: strings, for which all labels are written; or a binary file.
        out: a text file.
    """
    reader = Reader.load(run, "classify", "tag")
    typed = isinstance(lines, (list, tuple))
    for chunk in read_chunks(lines, LINES_AT_A_TIME):
        if reader.kind.name == "tag":
            found = [
                " ".join(f"{word}/{tag}" for word, tag in words) for words in reader.tag(chunk)
            ]
        elif typed:
            found = [
                ", ".join(f"{label} {share:.4f}" for label, share in one.probabilities.items())
                for one in reader.classify(chunk)
            ]
        else:
            found = [
                f"{one.label}\t{one.probabilities[one.label]:.4f}" if one.label else ""
                for one in reader.classify(chunk)
            ]
        out.writelines(f"{line}\n" for line in found)
        out.flush()
    reader.report_cut()
