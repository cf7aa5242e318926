"""Labelled examples in three parts: to train, to validate and to evaluate with."""

import hashlib
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from keras_transformer.data import describe_dropped

PARTS = ("train", "valid", "test")


@dataclass
class LabelledCorpus:
    """Examples of a task, and what was left out.

    Attributes:
        train: a list of examples, see `data.labelled`.
        valid: likewise.
        test: likewise.
        labels: the names of all labels, in the order of their numbers.
        dropped: what was left out, by reason.
    """

    train: list
    valid: list
    test: list
    labels: list
    dropped: Counter = field(default_factory=Counter)

    @property
    def count(self):
        """How many examples there are to train with."""
        return len(self.train)

    def report(self):
        """How much there is to learn from, and what was left out, in lines."""
        yield (
            f"{len(self.train):,} examples to train with, {len(self.valid):,} to validate, "
            f"{len(self.test):,} held out to evaluate"
        )
        if self.labels:
            shown = ", ".join(self.labels[:12]) + (", ..." if len(self.labels) > 12 else "")
            yield f"{len(self.labels)} labels: {shown}"
        if self.dropped:
            yield f"Left out: {describe_dropped(self.dropped)}"

    def fingerprints(self):
        """How many examples there are, and which, in a few letters."""
        found = {}
        for part in PARTS:
            examples = getattr(self, part)
            digest = hashlib.sha256("\n".join(map(repr, examples)).encode())
            found[f"{part}_examples"] = len(examples)
            found[f"{part}_fingerprint"] = digest.hexdigest()[:16]
        return found


def load_labelled(kind, settings):
    """Reads what the settings name, and splits it as they say.

    Args:
        kind: see `finetune_kinds`.
        settings: the `FinetuneSettings`.
    """
    dropped = Counter()
    read = [
        kind.read(path, settings, part, dropped) if path is not None else None
        for path, part in (
            (settings.data, "train"),
            (settings.valid_data, "validation"),
            (settings.test_data, "test"),
        )
    ]
    train, valid, test = read
    if test is None:
        test = kind.own_part(settings, "test", dropped)
    if test is None:
        train, test = split_off(train, settings.hold_out, settings.seed, kind.label_of)
    if valid is None:
        train, valid = split_off(train, settings.keep_back, settings.seed + 1, kind.label_of)
    labels = kind.labels(train)
    for part, examples in (("validate", valid), ("evaluate", test)):
        unknown = set(kind.labels(examples)) - set(labels)
        if unknown:
            raise ValueError(
                f"Some examples to {part} with have labels that none to train with has: "
                f"{', '.join(sorted(unknown))}"
            )
    return LabelledCorpus(train, valid, test, labels, dropped)


def split_off(examples, share, seed, label_of=None):
    """The examples without a share of them, and that share; of each label about the same.

    Args:
        examples: a list.
        share: between 0 and 1.
        seed: which of them.
        label_of: a function of an example to its label, if it has one.

    >>> split_off(["a1", "a2", "a3", "b1", "b2"], 0.4, seed=0, label_of=lambda e: e[0])
    (['a1', 'a3', 'b1'], ['a2', 'b2'])
    """
    if len(examples) < 2:
        raise ValueError(f"Two examples are needed at least. Received: {len(examples)}")
    groups = defaultdict(list)
    for i, example in enumerate(examples):
        groups[label_of(example) if label_of else None].append(i)
    once = [label for label, group in groups.items() if len(group) == 1]
    if label_of and once:
        raise ValueError(
            "Every label needs two examples, one to train and one to evaluate with. Seen once: "
            f"{', '.join(map(str, sorted(once)))}"
        )
    draw, chosen = random.Random(seed), set()
    for group in groups.values():
        wanted = min(len(group) - 1, max(1, round(share * len(group))))
        chosen.update(draw.sample(group, wanted))
    return (
        [example for i, example in enumerate(examples) if i not in chosen],
        [example for i, example in enumerate(examples) if i in chosen],
    )
