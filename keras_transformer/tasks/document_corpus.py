"""The documents of a pre-training, to train and to validate with."""

import random
from collections import Counter

from keras_transformer.data import PairFile
from keras_transformer.data.documents import iterate_documents, iterate_tfds_documents
from keras_transformer.tasks.two_parts import TwoParts

HELD_BACK_SHARE, HELD_BACK_AT_MOST = 0.05, 1_000


class DocumentCorpus(TwoParts):
    """Sentences with the numbers of their documents, a `PairFile` each."""

    unit = "sentences"


def load_documents(settings):
    """Reads what the settings name."""
    dropped = {"training": Counter(), "validation": Counter()}

    def read(path, part):
        return numbered(iterate_documents(path, settings.skip_bad_lines, dropped[part]))

    if settings.text is not None:
        train = read(settings.text, "training")
    else:
        train = numbered(iterate_tfds_documents(settings.data, settings.feature))
    if settings.valid_text is not None:
        return DocumentCorpus(train, read(settings.valid_text, "validation"), dropped)
    train, valid = hold_back(train, settings.seed)
    return DocumentCorpus(train, valid, dropped, held_back=True)


def numbered(documents):
    """Sentences with the numbers of their documents."""
    return PairFile(
        (str(number), sentence)
        for number, document in enumerate(documents)
        for sentence in document
    )


def hold_back(sentences, seed):
    """Some documents for validation, the others for training; of a single one, its end."""
    numbers = [int(number) for number, _ in sentences]
    count = numbers[-1] + 1
    if count > 1:
        wanted = min(HELD_BACK_AT_MOST, max(1, round(HELD_BACK_SHARE * count)))
        chosen = set(random.Random(seed).sample(range(count), wanted))
        is_held = [number in chosen for number in numbers]
    else:
        wanted = max(1, round(HELD_BACK_SHARE * len(numbers)))
        is_held = [i >= len(numbers) - wanted for i in range(len(numbers))]
    if all(is_held):
        raise ValueError(f"Two sentences are needed at least. Received: {len(numbers)}")

    def those(held):
        return PairFile(
            pair for pair, is_it in zip(sentences, is_held, strict=True) if is_it == held
        )

    return those(False), those(True)
