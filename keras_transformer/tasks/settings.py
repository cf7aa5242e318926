"""What a training can be told, and what it does when it is not told."""

import math
import os
from dataclasses import asdict, dataclass, fields, replace

from keras_transformer.models.transformer import POSITIONS, SIZES

PHRASES, STORIES = "phrases", "stories"
FILES = ("data", "source", "target", "valid_data", "valid_source", "valid_target")

# What suits a size, besides its shape.
TRAINING_OF_SIZE = {
    "tiny": {"learning_rate": 0.003, "warmup_steps": 800, "batch_tokens": 2048},
    "base": {"learning_rate": 0.0007, "warmup_steps": 4000, "batch_tokens": 25_000},
    "big": {"learning_rate": 0.0005, "warmup_steps": 4000, "batch_tokens": 25_000},
}
# The embedded corpora are small and regular: a small model learns them in a few minutes.
FOR_EMBEDDED = {
    PHRASES: {
        "vocab_size": 1000,
        "num_layers": 2,
        "dropout": 0.0,
        "learning_rate": 0.003,
        "warmup_steps": 400,
        "batch_tokens": 2048,
        "max_steps": 1100,
    },
    # With waves for positions, the model takes far longer to find out who a sentence is about.
    STORIES: {
        "vocab_size": 500,
        "dim": 64,
        "num_layers": 2,
        "norm_first": True,
        "positions": "rotary",
        "dropout": 0.0,
        "label_smoothing": 0.0,
        "learning_rate": 0.002,
        "warmup_steps": 200,
        "batch_tokens": 2048,
        "max_steps": 4200,
        "cool_down": 0.3,
    },
}
# A TPU computes in bfloat16, and compiles what it computes for one shape.
FOR_TPU = {"pack": True, "mixed_precision": True, "steps_per_execution": 20}
# What suits everything else; the paper's.
OTHERWISE = {"norm_first": False, "positions": "sine", "label_smoothing": 0.1, "cool_down": 0.0}
POSITIVE = (
    "accumulate",
    "average",
    "batch_tokens",
    "epochs",
    "keep_epochs",
    "max_minutes",
    "max_steps",
    "patience",
    "steps_per_execution",
)
WATCHED = ("perplexity", "bleu")
# How sacreBLEU may split words: those that need nothing further to be installed.
TOKENIZERS = ("13a", "none", "intl", "char", "zh")
# What may change when a training is resumed; anything else would make it another training.
MAY_CHANGE = (
    "epochs",
    "max_steps",
    "max_minutes",
    "patience",
    "average",
    "keep_epochs",
    "steps_per_execution",
)


@dataclass
class Settings:
    """The settings of a training; None means what suits the size, or no limit.

    Attributes:
        data: "phrases" or "stories" for an embedded corpus, a TSV file of pairs, or a data set of
            TFDS with two text features, "tfds:ted_hrlr_translate/pt_to_en".
        source: text file, one sentence a line, plain or gzip; instead of `data`. With a data set of
            TFDS, the name of a feature.
        target: its translation, line by line.
        valid_data: TSV file of pairs to validate with. Without any, some training pairs are kept
            back for it.
        valid_source: text file to validate with.
        valid_target: its translation.
        skip_bad_lines: leave out lines that are not UTF-8 instead of stopping.
        vocab_size: pieces of the vocabulary, or of each; 8000, fewer if the text has not as many.
        vocab_kind: "bpe" or "unigram".
        normalization: of all text, "none", "nfkc" or "lowercase".
        separate_vocabularies: one for the source and one for the target.
        size: "tiny", "base" or "big"; the following seven are the size's unless given.
        dim: width.
        num_heads: attention heads.
        ffn_dim: inner width of the feed-forward networks.
        num_layers: of the encoder, and of the decoder.
        norm_first: normalise before attention and feed-forward, not after.
        positions: "sine", "learned", "rotary", "alibi" or "relative", see `Transformer`.
        dropout: rate.
        max_length: longest sentence in tokens; longer ones are left out of the training.
        batch_tokens: positions of a batch on its longer side, however many devices share it.
        scale_batch: make batches as many times larger as there are devices when the training
            begins, see `scaled`.
        scale: how many times that is; not to be given.
        pack: put several pairs into one row, so that there is one shape and hardly any padding.
        accumulate: over how many batches to average the gradient before an update.
        mixed_precision: compute in bfloat16, keep weights in float32.
        learning_rate: the highest.
        warmup_steps: how long it rises, in batches.
        cool_down: the share of `max_steps`, at their end, in which it falls to zero.
        label_smoothing: share of certainty spread over the vocabulary.
        clip_norm: the largest norm of a gradient.
        epochs: how many at most.
        max_steps: how many training steps at most.
        max_minutes: how long at most.
        watch: what the best epoch is best in, "perplexity" or "bleu" of the validation pairs; BLEU
            is that of greedy translations.
        tokenize: for BLEU, see `evaluate`.
        patience: epochs without a better validation after which to stop.
        average: at the end average the weights of so many of the last epochs.
        ema: validate and save a moving average of the weights, which keeps this share of itself in
            every step, such as 0.999.
        keep_epochs: of how many of the last epochs to keep the weights, to average them.
        steps_per_execution: how many steps to do before looking at limits and signals.
        seed: of everything drawn.
    """

    data: str | None = None
    source: str | None = None
    target: str | None = None
    valid_data: str | None = None
    valid_source: str | None = None
    valid_target: str | None = None
    skip_bad_lines: bool = False
    vocab_size: int | None = None
    vocab_kind: str = "bpe"
    normalization: str = "none"
    separate_vocabularies: bool = False
    size: str = "tiny"
    dim: int | None = None
    num_heads: int | None = None
    ffn_dim: int | None = None
    num_layers: int | None = None
    norm_first: bool | None = None
    positions: str | None = None
    dropout: float | None = None
    max_length: int = 256
    batch_tokens: int | None = None
    scale_batch: bool = False
    scale: int = 1
    pack: bool = False
    accumulate: int = 1
    mixed_precision: bool = False
    learning_rate: float | None = None
    warmup_steps: int | None = None
    cool_down: float | None = None
    label_smoothing: float | None = None
    clip_norm: float = 1.0
    epochs: int = 100
    max_steps: int | None = None
    max_minutes: float | None = None
    watch: str = "perplexity"
    tokenize: str = "13a"
    patience: int = 10
    average: int | None = None
    ema: float | None = None
    keep_epochs: int = 10
    steps_per_execution: int = 1
    seed: int = 0

    as_dict = asdict

    def __post_init__(self):
        for name in FILES:
            path = getattr(self, name)
            setattr(self, name, None if path is None else os.fspath(path))
        self._check_data()
        _check_choice(SIZES, size=self.size)
        defaults = {**OTHERWISE, **SIZES[self.size], **TRAINING_OF_SIZE[self.size]}
        defaults.update(FOR_EMBEDDED.get(self.data, {}))
        for name, value in defaults.items():
            if getattr(self, name) is None:
                setattr(self, name, value)
        for name in POSITIVE:
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"`{name}` must be positive. Received: {name}={value}")
        _check_choice(WATCHED, watch=self.watch)
        if self.ema is not None and not 0 < self.ema < 1:
            raise ValueError(f"`ema` must be between 0 and 1. Received: ema={self.ema}")
        check_tokenize(self.tokenize)
        _check_choice(POSITIONS, positions=self.positions)
        if not 0 <= self.cool_down <= 1 or (self.cool_down and self.max_steps is None):
            raise ValueError(
                "`cool_down` is a share of `max_steps`, which must be given. "
                f"Received: cool_down={self.cool_down}, max_steps={self.max_steps}"
            )
        if self.average is not None:
            if self.average > self.epochs:
                raise ValueError(
                    "There must be as many epochs as are to be averaged. "
                    f"Received: average={self.average}, epochs={self.epochs}"
                )
            self.keep_epochs = max(self.keep_epochs, self.average)

    def _check_data(self):
        if not (self.data or "").startswith("tfds:"):  # there, `source` and `target` are features
            _one_or_two_files("", self.data, self.source, self.target, needed=True)
        _one_or_two_files("valid_", self.valid_data, self.valid_source, self.valid_target)

    def scaled(self):
        """The settings for batches that are `scale` times as large as `batch_tokens` says.

        The learning rate grows with the square root of that, as Adam wants it (Malladi et al.
        2022), and what is counted in steps shrinks with it: as much text is learned from.
        """
        steps = {
            name: math.ceil(getattr(self, name) / self.scale)
            for name in ("warmup_steps", "max_steps")
            if getattr(self, name) is not None
        }
        return replace(
            self,
            batch_tokens=self.batch_tokens * self.scale,
            learning_rate=self.learning_rate * math.sqrt(self.scale),
            **steps,
        )

    def with_changes(self, changes):
        """The same with some changes; only those a running training can take.

        Files may have moved: whether their sentences are the same is seen when they are read.
        """
        # The learning rate comes down towards `max_steps`.
        fixed = ("max_steps",) if self.cool_down else ()
        may_change = [name for name in MAY_CHANGE if name not in fixed]
        for name, value in changes.items():
            began = getattr(self, name)
            if value != began and name not in (*may_change, *FILES):
                raise ValueError(
                    f"A resumed training goes on as it began, only {', '.join(may_change)} may "
                    f"change. It began with {name}={began!r}. Received: {name}={value!r}"
                )
        return Settings(**{**self.as_dict(), **changes})

    @classmethod
    def from_dict(cls, values):
        """Settings from a config, whatever else is in it."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})


def check_tokenize(tokenize):
    """Raises an error unless sacreBLEU can split words so."""
    _check_choice(TOKENIZERS, tokenize=tokenize)


def _check_choice(choices, **setting):
    ((name, value),) = setting.items()
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(choices)}. Received: {name}={value!r}"
        )


def _one_or_two_files(prefix, data, source, target, needed=False):
    one = data is not None
    two = source is not None and target is not None
    half = (source is None) != (target is None)
    if half or (one and two) or (needed and not (one or two)):
        options = [f"--{prefix}{name}".replace("_", "-") for name in ("data", "source", "target")]
        received = [
            o for o, v in zip(options, (data, source, target), strict=True) if v is not None
        ]
        raise ValueError(
            f"Give either {options[0]}, or both {options[1]} and {options[2]}. "
            f"Received: {', '.join(received) or 'none of them'}"
        )
