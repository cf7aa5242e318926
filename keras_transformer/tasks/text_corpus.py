"""What a language model learns from: one long text, or many."""

import random

from keras_transformer.data.documents import iterate_tfds_texts
from keras_transformer.data.plain_text import iterate_text, iterate_texts
from keras_transformer.data.text_store import TextStore
from keras_transformer.tasks.two_parts import TwoParts


class TextCorpus(TwoParts):
    """Texts to train and to validate with, a `TextStore` each; one long text is in pieces."""

    unit = "characters"

    def size(self, part):
        """How many characters a part has."""
        return part.characters


def load_texts(settings):
    """Reads what the settings name, and splits it as they say."""
    if settings.data is not None:
        texts = TextStore(filter(None, iterate_tfds_texts(settings.data, settings.feature)))
    else:
        read = iterate_texts if settings.documents else iterate_text
        texts = TextStore(read(settings.text))
        if settings.valid_text is not None:
            return TextCorpus(texts, TextStore(read(settings.valid_text)))
    hold_back = some_texts if settings.documents else the_end
    train, valid = hold_back(texts, settings.valid_share, settings.seed)
    return TextCorpus(train, valid, held_back=True)


def the_end(pieces, share, seed=None):
    """A text without its end, and its end."""
    # Rounded as nanoGPT does, whose figures others compare theirs with.
    first = int(pieces.characters * (1 - share))
    if not 0 < first < pieces.characters:
        raise ValueError(f"The text is too short. Received: {pieces.characters} characters")

    def between(start, end):
        at = 0
        for piece in pieces:
            part = piece[max(start - at, 0) : max(end - at, 0)]
            if part:
                yield part
            at += len(piece)

    return TextStore(between(0, first)), TextStore(between(first, pieces.characters))


def some_texts(texts, share, seed):
    """The texts without some of them, and these."""
    if len(texts) < 2:
        raise ValueError(f"Two texts are needed at least. Received: {len(texts)}")
    wanted = min(len(texts) - 1, max(1, round(share * len(texts))))
    chosen = set(random.Random(seed).sample(range(len(texts)), wanted))

    def those(held):
        return TextStore(text for i, text in enumerate(texts) if (i in chosen) == held)

    return those(False), those(True)
