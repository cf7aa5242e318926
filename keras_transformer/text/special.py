"""The ids that mean something to a model rather than to a reader."""

from typing import NamedTuple


class SpecialIds(NamedTuple):
    """Where a vocabulary has the tokens that stand in no text.

    Attributes:
        padding: fills rows up; 0, by which models know it.
        start: before the first sentence; BERT's [CLS].
        end: after every sentence; BERT's [SEP].
        unknown: for what the vocabulary does not cover.
        mask: for what a model has to guess; None if there is no such token.
    """

    padding: int
    start: int
    end: int
    unknown: int
    mask: int | None
