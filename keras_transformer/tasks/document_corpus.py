"""The documents of a pre-training, to train and to validate with."""

import random
from collections import Counter
from dataclasses import dataclass, field

from keras_transformer.data import PairFile, describe_dropped
from keras_transformer.data.documents import iterate_documents, iterate_tfds_documents

HELD_BACK_SHARE, HELD_BACK_AT_MOST = 0.05, 1_000


@dataclass
class DocumentCorpus:
    """Sentences with the numbers of their documents, and what was left out of the files.

    Attributes:
        train: a `PairFile` of (number of the document, sentence).
        valid: likewise.
        dropped: what was left out, by reason.
        held_back: whether the documents to validate with were taken from the others.
    """

    train: PairFile
    valid: PairFile
    dropped: Counter = field(default_factory=Counter)
    held_back: bool = False

    @property
    def count(self):
        """How many sentences there are to train with."""
        return len(self.train)

    def report(self):
        """How much there is to learn from, and what was left out, in lines."""
        kept_back = " kept back from them" if self.held_back else ""
        yield (
            f"{len(self.train):,} sentences to train with, "
            f"{len(self.valid):,}{kept_back} to validate"
        )
        if self.dropped:
            yield f"Left out: {describe_dropped(self.dropped)}"

    def fingerprints(self):
        """How many sentences there are, and which, in a few letters."""
        return {
            "train_examples": len(self.train),
            "train_fingerprint": self.train.fingerprint,
            "valid_examples": len(self.valid),
            "valid_fingerprint": self.valid.fingerprint,
        }


def load_documents(settings):
    """Reads what the settings name."""
    dropped = Counter()
    if settings.text is not None:
        documents = iterate_documents(settings.text, settings.skip_bad_lines, dropped)
    else:
        documents = iterate_tfds_documents(settings.data, settings.feature)
    train = numbered(documents)
    if settings.valid_text is not None:
        valid = numbered(iterate_documents(settings.valid_text, settings.skip_bad_lines, dropped))
        return DocumentCorpus(train, valid, dropped)
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
