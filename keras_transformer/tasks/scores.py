"""How good labels, entities and answers are, in the numbers that others report."""

import re
import string
from collections import Counter

import numpy as np

ARTICLES = re.compile(r"\b(a|an|the)\b")


def classification_scores(expected, found, labels):
    """Accuracy, and precision, recall and F1 of each label.

    Args:
        expected: the right labels.
        found: those of a model.
        labels: all there are, in their order.

    Returns:
        A dict: `accuracy`, `f1` (the mean over labels, "macro"), `labels`, a dict from each label
        to its `precision`, `recall`, `f1` and `count`, and `confusion`, rows being right labels
        and columns those found.

    >>> scores = classification_scores(["a", "a", "b"], ["a", "b", "b"], ["a", "b"])
    >>> scores["accuracy"], scores["labels"]["b"]["f1"], scores["confusion"]
    (0.6666666666666666, 0.6666666666666666, [[1, 1], [0, 1]])
    """
    number = {label: i for i, label in enumerate(labels)}
    confusion = np.zeros((len(labels), len(labels)), int)
    for right, guess in zip(expected, found, strict=True):
        confusion[number[right], number[guess]] += 1
    hits = np.diag(confusion)
    of_labels = {
        label: {**ratios(hits[i], confusion[:, i].sum(), confusion[i].sum())}
        for i, label in enumerate(labels)
    }
    return {
        "accuracy": float(hits.sum() / max(confusion.sum(), 1)),
        "f1": float(np.mean([scores["f1"] for scores in of_labels.values()])),
        "labels": of_labels,
        "confusion": confusion.tolist(),
    }


def ratios(hits, found, expected):
    """Precision, recall and F1 of so many hits among what was found and what was expected."""
    precision, recall = hits / max(found, 1), hits / max(expected, 1)
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return {
        "precision": float(precision),
        "recall": float(recall),
        "f1": float(f1),
        "count": int(expected),
    }


def entities(tags):
    """The entities of a sentence: a set of (kind, first word, one more than its last word).

    Tags are those of CoNLL: "B-PER" begins a person, "I-PER" goes on with it, or begins one if
    nothing of that kind goes before; "O" is no entity.

    >>> sorted(entities(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"]))
    [('LOC', 3, 4), ('LOC', 4, 5), ('PER', 0, 2)]
    """
    found, kind, first = set(), None, 0
    for i, tag in enumerate([*tags, "O"]):
        prefix, _, name = tag.partition("-")
        goes_on = prefix == "I" and name == kind
        if not goes_on:
            if kind is not None:
                found.add((kind, first, i))
            kind, first = (None if tag == "O" else name), i
    return found


def tagging_scores(expected, found):
    """Entity by entity: one counts if its kind, its first and its last word are right.

    Args:
        expected: lists of tags, one a sentence.
        found: likewise.

    Returns:
        A dict: `f1`, `precision` and `recall` of all entities, `accuracy` of single tags, and
        `entities`, a dict from each kind to its own.
    """
    hits, guessed, right = Counter(), Counter(), Counter()
    same = total = 0
    for tags, guesses in zip(expected, found, strict=True):
        same += sum(tag == guess for tag, guess in zip(tags, guesses, strict=True))
        total += len(tags)
        is_right, is_guessed = entities(tags), entities(guesses)
        for counter, those in (
            (hits, is_right & is_guessed),
            (guessed, is_guessed),
            (right, is_right),
        ):
            counter.update(kind for kind, _, _ in those)
    kinds = sorted({*guessed, *right})
    return {
        **ratios(hits.total(), guessed.total(), right.total()),
        "accuracy": same / max(total, 1),
        "entities": {kind: ratios(hits[kind], guessed[kind], right[kind]) for kind in kinds},
    }


def answer_scores(expected, found):
    """How many answers are the right ones, and how many words of them, as SQuAD counts.

    Args:
        expected: tuples of right answers; none if there is no answer.
        found: strings, empty for "there is no answer".

    Returns:
        A dict: `exact_match` and `f1`.
    """
    exact = [
        max(plain(a) == plain(guess) for a in answers or ("",))
        for answers, guess in zip(expected, found, strict=True)
    ]
    words = [
        max(word_f1(a, guess) for a in answers or ("",))
        for answers, guess in zip(expected, found, strict=True)
    ]
    return {"exact_match": float(np.mean(exact)), "f1": float(np.mean(words))}


def plain(answer):
    """An answer without capital letters, punctuation, articles and double spaces."""
    answer = "".join(c for c in answer.lower() if c not in string.punctuation)
    return " ".join(ARTICLES.sub(" ", answer).split())


def word_f1(answer, guess):
    """F1 of the words of an answer."""
    answer, guess = plain(answer).split(), plain(guess).split()
    if not answer or not guess:
        return float(answer == guess)
    hits = (Counter(answer) & Counter(guess)).total()
    return ratios(hits, len(guess), len(answer))["f1"]
