"""From documents to what BERT reads: stretches of text, or two, one of which may follow."""

from typing import NamedTuple

import numpy as np

SHORTER = (
    0.1  # of the examples are cut short, so that a model sees all lengths (Devlin et al. 2019)
)


class Stretch(NamedTuple):
    """Sentences that follow each other.

    Attributes:
        first: the index of the first of them.
        last: one more than that of the last.
    """

    first: int
    last: int


class Example(NamedTuple):
    """What stands in a row, `[CLS] first [SEP]` or `[CLS] first [SEP] second [SEP]`.

    Attributes:
        first: a `Stretch`.
        second: a `Stretch`, or None.
        follows: whether the second one follows the first in its document.
    """

    first: Stretch
    second: Stretch | None = None
    follows: bool = True


def stretches(lengths, documents, room, seed=0):
    """Examples of one stretch each, as long as there is room, all text once.

    Args:
        lengths: (N,), tokens of each sentence, none longer than the room.
        documents: (N,), the number of each sentence's document, rising.
        room: tokens of a stretch at most.
        seed: not used: nothing is drawn.

    Returns:
        A list of `Example`s.
    """
    examples, first, total = [], 0, 0
    for i, length in enumerate(lengths):
        if i > first and (documents[i] != documents[first] or total + length > room):
            examples.append(Example(Stretch(first, i)))
            first, total = i, 0
        total += length
    return [*examples, Example(Stretch(first, len(lengths)))] if len(lengths) else examples


def sentence_pairs(lengths, documents, room, seed=0):
    """Examples of two stretches: in half of them the second follows the first in its document.

    In the other half it is from another document, and what should have followed is used again.
    A document of one sentence can only be the first of such two. After Devlin et al. 2019, A.2.

    Args and returns: see `stretches`.
    """
    random = np.random.default_rng(seed)
    starts = np.flatnonzero(np.diff(documents, prepend=documents[0] - 1))
    ends = np.append(starts[1:], len(lengths))
    examples = []
    for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        i = start
        while i < end:
            target = room if random.random() >= SHORTER else int(random.integers(2, room + 1))
            last, total = i + 1, int(lengths[i])
            while last < end and total + lengths[last] <= target:
                total += int(lengths[last])
                last += 1
            several = last - i > 1
            middle = int(random.integers(i + 1, last)) if several else i + 1
            first = Stretch(i, middle)
            left = room - int(lengths[i:middle].sum())
            if several and (random.random() < 0.5 or len(starts) == 1):
                examples.append(Example(first, Stretch(middle, last)))
                i = last
                continue
            other = other_stretch(lengths, starts, ends, number, left, random)
            if other is None:  # no room, or no other document
                examples.append(Example(Stretch(i, last)))
                i = last
            else:
                examples.append(Example(first, other, follows=False))
                i = middle
    return examples


def other_stretch(lengths, starts, ends, number, room, random):
    """A stretch of a document other than this one, from a random sentence on; None if none fits."""
    if len(starts) == 1:
        return None
    other = int(random.integers(len(starts) - 1))
    other += other >= number
    first = int(random.integers(starts[other], ends[other]))
    last, total = first, 0
    while last < ends[other] and total + lengths[last] <= room:
        total += int(lengths[last])
        last += 1
    return Stretch(first, last) if last > first else None
