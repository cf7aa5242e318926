"""The pairs of sentences of a task: an embedded corpus, files, or a data set of TFDS."""

import os
import random
from collections import Counter

from keras_transformer.data import PairFile, iterate_pairs, phrases, stories
from keras_transformer.data.tfds_pairs import PREFIX, TfdsPairs
from keras_transformer.tasks.settings import PHRASES, STORIES
from keras_transformer.tasks.two_parts import TwoParts

HELD_BACK_SHARE, HELD_BACK_AT_MOST = 0.02, 1_000


class Corpus(TwoParts):
    """Pairs of sentences, a `PairFile` each."""

    unit = "pairs"


def load_corpus(settings):
    """Reads what the settings name."""
    dropped = {"training": Counter(), "validation": Counter()}
    named = (settings.data, settings.source, settings.target)
    valid = (settings.valid_data, settings.valid_source, settings.valid_target)
    if valid == (None, None, None) and has_validation(*named):
        valid = named

    def read(named, part, name):
        return PairFile(iterate_corpus(*named, part, settings.skip_bad_lines, dropped[name]))

    train = read(named, "train", "training")
    if valid != (None, None, None):
        return Corpus(train, read(valid, "validation", "validation"), dropped)
    train, valid = hold_back(train, settings.seed)
    return Corpus(train, valid, dropped, held_back=True)


def load_pairs(data, source, target, skip_bad_lines=False):
    """Test pairs as a list, and what was left out; of embedded corpora, those held out."""
    dropped = Counter()
    pairs = iterate_corpus(data, source, target, "test", skip_bad_lines, dropped)
    return list(pairs), dropped


def iterate_corpus(data, source, target, part="train", skip_bad_lines=False, dropped=None):
    """The pairs of a part of a corpus one by one; files have one part only."""
    data, source, target = (x if x is None else os.fspath(x) for x in (data, source, target))
    if data == PHRASES:
        return iter(phrases()[0 if part == "train" else 1])
    if data == STORIES:
        return iter(stories()[0] if part == "train" else stories(count=0)[1])
    if data is not None and data.startswith(PREFIX):
        pairs = TfdsPairs(data, source, target)
        split = pairs.first_split(*SPLITS[part])
        if split is None:
            raise ValueError(f"{data} has no part to {part} with: it has {', '.join(pairs.splits)}")
        return pairs.iterate(split, dropped)
    if data is not None:
        source, target = data, None
    return iterate_pairs(source, target, skip_bad_lines, dropped)


# What the parts are called in TFDS.
SPLITS = {
    "train": ("train",),
    "validation": ("validation", "valid", "dev"),
    "test": ("test", "validation", "valid", "dev"),
}


def has_validation(data, source, target):
    """Whether a corpus has a part of its own to validate with; only those of TFDS may."""
    if data is None or not data.startswith(PREFIX):
        return False
    return TfdsPairs(data, source, target).first_split(*SPLITS["validation"]) is not None


def hold_back(pairs, seed):
    """Some of the pairs for validation, the others for training."""
    count = min(HELD_BACK_AT_MOST, max(1, round(HELD_BACK_SHARE * len(pairs))))
    if count >= len(pairs):
        raise ValueError(f"Two pairs of sentences are needed at least. Received: {len(pairs)}")
    chosen = set(random.Random(seed).sample(range(len(pairs)), count))
    train = PairFile(pair for i, pair in enumerate(pairs) if i not in chosen)
    return train, PairFile(pair for i, pair in enumerate(pairs) if i in chosen)
