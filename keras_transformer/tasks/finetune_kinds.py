"""What can be learned by fine-tuning: labels of texts, tags of words, places of answers.

Each kind knows how to read examples, how to make rows of ids of them, which head a BERT needs, what
the head's logits say, and how good that is.
"""

from typing import NamedTuple

import numpy as np
from keras import ops

from keras_transformer.data.labelled import read_labelled, read_questions, read_tagged
from keras_transformer.data.row_batches import NO_LABEL
from keras_transformer.data.text_rows import text_row
from keras_transformer.data.tfds_labelled import has_split, is_tfds, read_tfds_labelled
from keras_transformer.layers import padding_mask
from keras_transformer.layers.attention import MASKED_SCORE
from keras_transformer.models import Classifier, SpanFinder, Tagger
from keras_transformer.tasks.score_lines import classification_lines, tagging_lines
from keras_transformer.tasks.scores import answer_scores, classification_scores, tagging_scores
from keras_transformer.tasks.words import word_pieces, word_places, word_row


class Rows(NamedTuple):
    """Examples as a model reads them.

    Attributes:
        ids: lists, one an example.
        seconds: where the second text of each begins.
        labels: an array, or lists with one for each token; None if there are none.
        words: for each row where its words' first and last pieces are, an array (words, 2), as far
            as there was room; None if words do not matter.
        cut: how many rows are shorter than their texts.
    """

    ids: list
    seconds: list
    labels: object
    words: list | None
    cut: int


class ClassifyTexts:
    """One label a text."""

    name = "classify"

    def read(self, path, settings, part, dropped):
        """The examples of a file or a data set."""
        if is_tfds(path):
            return read_tfds_labelled(path, part, dropped)
        return read_labelled(path, settings.columns.split(","), dropped)

    def own_part(self, settings, part, dropped):
        """The part of a data set that is there to evaluate with, if there is one."""
        if not is_tfds(settings.data) or not has_split(settings.data, part):
            return None
        return read_tfds_labelled(settings.data, part, dropped)

    @staticmethod
    def label_of(example):
        """By which examples are split evenly."""
        return example.label

    def text_of(self, example):
        """What a user would give to the model."""
        return example.text

    def labels(self, examples):
        """The names of all labels, sorted."""
        return sorted({example.label for example in examples})

    def rows(self, examples, tokenizer, max_length, labels=None):
        """Rows of ids."""
        firsts = tokenizer.encode([example.text for example in examples])
        seconds = tokenizer.encode([example.second or "" for example in examples])
        rows = [
            text_row(
                tokenizer.special, max_length, first, None if example.second is None else second
            )
            for example, first, second in zip(examples, firsts, seconds, strict=True)
        ]
        numbers = labels and np.array([labels.index(example.label) for example in examples])
        return Rows(
            [row.ids for row in rows],
            [row.second for row in rows],
            numbers,
            None,
            sum(row.is_cut for row in rows),
        )

    def model(self, bert, labels, settings):
        """The BERT with its head."""
        return Classifier(bert, len(labels), settings.pooling)

    def logits(self, model, inputs):
        """What the labels are compared with: (B, C)."""
        return model(inputs)

    def answers(self, examples, rows, logits, labels):
        """The label of each example."""
        return [labels[int(of_row.argmax())] for of_row in logits]

    def scores(self, examples, answers, labels):
        """How good they are, and lines that say so."""
        scores = classification_scores([example.label for example in examples], answers, labels)
        return scores, classification_lines(scores, labels)


class TagWords:
    """One label a word; of a word in pieces, its first piece has it."""

    name = "tag"
    label_of = None

    def read(self, path, settings, part, dropped):
        """The sentences of a file."""
        if is_tfds(path):
            raise ValueError(
                "`tag` learns from a file: one word a line, its tag in the last column"
            )
        return read_tagged(path, dropped)

    def own_part(self, settings, part, dropped):
        """Files have one part only."""
        return None

    def text_of(self, example):
        """What a user would give to the model."""
        return " ".join(example.words)

    def labels(self, examples):
        """The names of all tags, sorted; O, which is no entity, first."""
        tags = {tag for example in examples for tag in example.tags}
        return sorted(tags, key=lambda tag: (tag != "O", tag))

    def rows(self, examples, tokenizer, max_length, labels=None):
        """Rows of ids, words and tags."""
        ids, of_words, tags, cut = [], [], [], 0
        for example in examples:
            row, places = word_row(tokenizer, example.words, max_length)
            cut += len(places) < len(example.words)
            ids.append(row)
            of_words.append(places)
            if labels is not None:
                numbers = [NO_LABEL] * len(row)
                for first, tag in zip(places[:, 0], example.tags, strict=False):
                    numbers[first] = labels.index(tag)
                tags.append(numbers)
        seconds = [len(row) for row in ids]
        return Rows(ids, seconds, tags if labels is not None else None, of_words, cut)

    def model(self, bert, labels, settings):
        """The BERT with its head."""
        return Tagger(bert, len(labels))

    def logits(self, model, inputs):
        """What the labels are compared with: (B, T, C)."""
        return model(inputs)

    def answers(self, examples, rows, logits, labels):
        """The tags of each example; a word for which there was no room has none, O."""
        outside = labels[0]
        answers = []
        for example, places, of_row in zip(examples, rows.words, logits, strict=True):
            tags = [labels[i] for i in of_row[places[:, 0]].argmax(axis=-1)]
            answers.append(tags + [outside] * (len(example.words) - len(tags)))
        return answers

    def scores(self, examples, answers, labels):
        """How good they are, and lines that say so."""
        scores = tagging_scores([example.tags for example in examples], answers)
        return scores, tagging_lines(scores)


class FindSpans:
    """Where the answer to a question begins and ends, in words."""

    name = "span"
    label_of = None

    def read(self, path, settings, part, dropped):
        """The questions of a file."""
        if is_tfds(path):
            raise ValueError("`span` learns from a TSV file, or one of SQuAD's JSON files")
        return read_questions(path, dropped)

    def own_part(self, settings, part, dropped):
        """Files have one part only."""
        return None

    def text_of(self, example):
        """What a user would give to the model: the text; there is a question, too."""
        return example.text

    def labels(self, examples):
        """None: there are only places."""
        return []

    def rows(self, examples, tokenizer, max_length, labels=None):
        """Rows of ids: question, then text; words of the text; where the answers are."""
        ids, seconds, of_words, places, cut = [], [], [], [], 0
        questions = tokenizer.encode([example.question for example in examples])
        for example, question in zip(examples, questions, strict=True):
            pieces = word_pieces(tokenizer, example.text.split())
            flat = [piece for word in pieces for piece in word]
            # A question that leaves no room for a text is cut, too.
            question = question[: max_length // 2]
            row = text_row(tokenizer.special, max_length, question, flat, cut="second")
            of_words.append(word_places(pieces, row.second, len(row.ids) - 1))
            ids.append(row.ids)
            seconds.append(row.second)
            cut += row.is_cut
            places.append(self.place(example, of_words[-1]))
        return Rows(ids, seconds, np.array(places), of_words, cut)

    def place(self, example, places):
        """The first and the last piece of the answer; the first token of all if there is none."""
        if not example.answers:
            return 0, 0
        start, end = example.start, example.start + len(example.answers[0])
        first = len(example.text[:start].split()) - (
            start > 0 and not example.text[start - 1].isspace()
        )
        last = len(example.text[:end].split()) - 1
        if last >= len(places):
            return 0, 0  # it was cut away
        return places[first, 0], places[last, 1]

    def model(self, bert, labels, settings):
        """The BERT with its head."""
        return SpanFinder(bert)

    def logits(self, model, inputs):
        """What the labels are compared with: of both ends, logits of real tokens, (B, 2, T)."""
        real = ops.expand_dims(padding_mask(inputs["token_ids"]), 1)
        return ops.where(real, ops.transpose(model(inputs), (0, 2, 1)), MASKED_SCORE)

    def answers(self, examples, rows, logits, labels):
        """The likeliest answer of each example, in words of its text; empty if there is none."""
        return [
            best_span(example.text, places, of_row)
            for example, places, of_row in zip(examples, rows.words, logits, strict=True)
        ]

    def scores(self, examples, answers, labels):
        """How good they are, and lines that say so."""
        scores = answer_scores([example.answers for example in examples], answers)
        return scores, [f"Exact match {scores['exact_match']:.1%}, F1 {scores['f1']:.1%}"]


KINDS = {kind.name: kind for kind in (ClassifyTexts(), TagWords(), FindSpans())}
LONGEST_ANSWER = 30  # words


def best_span(text, places, logits):
    """The words between the likeliest two ends, logits (T, 2); empty if "no answer" is likelier."""
    words = text.split()
    if not len(places):
        return ""
    total = logits[places[:, 0], 0][:, None] + logits[places[:, 1], 1][None, :]
    number = np.arange(len(places))
    apart = number[None, :] - number[:, None]
    total = np.where((apart >= 0) & (apart < LONGEST_ANSWER), total, -np.inf)
    first, last = np.unravel_index(total.argmax(), total.shape)
    if total[first, last] < logits[0].sum():
        return ""
    return " ".join(words[first : last + 1])
