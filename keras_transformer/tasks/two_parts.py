"""What is learned from, in two parts: to train and to validate with."""

from dataclasses import dataclass, field
from typing import ClassVar

from keras_transformer.data import describe_dropped


@dataclass
class TwoParts:
    """Examples to train and to validate with, and what was left out of the files.

    Attributes:
        train: with a length and a `fingerprint`, such as a `PairFile`.
        valid: likewise.
        dropped: what was left out: a dict from the name of a part to a `Counter` of reasons.
        held_back: whether what is there to validate with was taken from the rest.
    """

    train: object
    valid: object
    dropped: dict = field(default_factory=dict)
    held_back: bool = False

    unit: ClassVar[str] = "examples"

    @property
    def count(self):
        """How many examples there are to train with."""
        return self.size(self.train)

    def size(self, part):
        """How many examples a part has."""
        return len(part)

    def report(self):
        """How much there is to learn from, and what was left out, in lines."""
        kept_back = " kept back from them" if self.held_back else ""
        yield (
            f"{self.size(self.train):,} {self.unit} to train with, "
            f"{self.size(self.valid):,}{kept_back} to validate"
        )
        for part, dropped in self.dropped.items():
            if dropped:
                yield f"Left out of the {part} {self.unit}: {describe_dropped(dropped)}"

    def fingerprints(self):
        """How many examples there are, and which, in a few letters."""
        return {
            f"train_{self.unit}": self.size(self.train),
            "train_fingerprint": self.train.fingerprint,
            f"valid_{self.unit}": self.size(self.valid),
            "valid_fingerprint": self.valid.fingerprint,
        }
