"""One mistake, made on purpose."""

from typing import NamedTuple


class Mutation(NamedTuple):
    """A line, what it becomes, and the test that must notice.

    Attributes:
        what: the mistake in words.
        file: inside `keras_transformer/`.
        line: a piece of text that the file has exactly once.
        broken: what it is replaced by.
        noticed_by: the test, inside `tests/`.
    """

    what: str
    file: str
    line: str
    broken: str
    noticed_by: str
