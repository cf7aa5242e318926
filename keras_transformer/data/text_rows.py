"""One text or two as a row that BERT reads: `[CLS] first [SEP]`, perhaps `second [SEP]`."""

from typing import NamedTuple


class TextRow(NamedTuple):
    """The ids of a row.

    Attributes:
        ids: a list, special ones included.
        second: where the second text begins; the length of the row if there is none.
        is_cut: whether something was left out, for want of room.
    """

    ids: list
    second: int
    is_cut: bool


def text_row(special, max_length, first, second=None, cut="longer"):
    """Puts ids of texts into a row.

    Args:
        special: the `text.SpecialIds`.
        max_length: of the row.
        first: ids.
        second: ids, or None.
        cut: which of two texts gives way if both are too long: the "longer", token by token, or the
            "second".

    >>> from keras_transformer.text import SpecialIds
    >>> special = SpecialIds(padding=0, start=1, end=2, unknown=3, mask=4)
    >>> text_row(special, 8, [7, 7, 7, 7, 7], [8, 8])
    TextRow(ids=[1, 7, 7, 7, 2, 8, 8, 2], second=5, is_cut=True)
    """
    first = list(first)
    if second is None:
        kept = first[: max_length - 2]
        return TextRow([special.start, *kept, special.end], len(kept) + 2, kept != first)
    room = max_length - 3
    if cut == "second":
        of_first = min(len(first), room)
        of_second = min(len(second), room - of_first)
    else:
        # What is left when the longer one is cut token by token; of equals the second.
        of_first = min(len(first), max(room - len(second), (room + 1) // 2))
        of_second = min(len(second), room - of_first)
    start = [special.start, *first[:of_first], special.end]
    is_cut = of_first < len(first) or of_second < len(second)
    return TextRow([*start, *second[:of_second], special.end], len(start), is_cut)
