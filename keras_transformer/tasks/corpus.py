"""The pairs of sentences of a task: the embedded corpus, or files."""

import hashlib
import random
from dataclasses import dataclass, field

from keras_transformer.data import phrases, read_pairs
from keras_transformer.tasks.settings import PHRASES

HELD_BACK_SHARE, HELD_BACK_AT_MOST = 0.02, 1_000


@dataclass
class Corpus:
    """Pairs to train and validate with, and what was left out of the files.

    Attributes:
        train: list of (source, target).
        valid: likewise.
        dropped: what was left out, by name of the part and reason.
        held_back: how many training pairs were taken for validation.
    """

    train: list
    valid: list
    dropped: dict = field(default_factory=dict)
    held_back: int = 0

    def fingerprint(self):
        """A short text that differs when any sentence does."""
        digest = hashlib.sha256()
        for pair in (*self.train, *self.valid):
            digest.update("\t".join(pair).encode() + b"\n")
        return digest.hexdigest()[:16]


def load_corpus(settings):
    """Reads what the settings name."""
    train, dropped = load_pairs(
        settings.data, settings.source, settings.target, settings.skip_bad_lines
    )
    if settings.valid_data or settings.valid_source:
        valid, valid_dropped = load_pairs(
            settings.valid_data,
            settings.valid_source,
            settings.valid_target,
            settings.skip_bad_lines,
        )
        return Corpus(train, valid, {"training": dropped, "validation": valid_dropped})
    train, valid = hold_back(train, settings.seed)
    return Corpus(train, valid, {"training": dropped}, held_back=len(valid))


def load_pairs(data, source, target, skip_bad_lines=False, held_out=False):
    """Pairs from "phrases", a TSV file or two files, and what was left out."""
    if data == PHRASES:
        return phrases()[1 if held_out else 0], {}
    if data is not None:
        return read_pairs(data, skip_bad_lines=skip_bad_lines)
    return read_pairs(source, target, skip_bad_lines=skip_bad_lines)


def hold_back(pairs, seed):
    """Some of the pairs for validation, the others for training."""
    count = min(HELD_BACK_AT_MOST, max(1, round(HELD_BACK_SHARE * len(pairs))))
    if count >= len(pairs):
        raise ValueError(f"Two pairs of sentences are needed at least. Received: {len(pairs)}")
    chosen = set(random.Random(seed).sample(range(len(pairs)), count))
    train = [pair for i, pair in enumerate(pairs) if i not in chosen]
    return train, [pairs[i] for i in sorted(chosen)]
