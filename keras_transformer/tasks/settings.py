"""What a training to translate can be told, and what it does when it is not told."""

from dataclasses import dataclass
from typing import ClassVar

from keras_transformer.models.transformer import POSITIONS, SIZES
from keras_transformer.tasks.training_settings import TrainingSettings, check_choice

PHRASES, STORIES = "phrases", "stories"

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
WATCHED = ("perplexity", "bleu")
# How sacreBLEU may split words: those that need nothing further to be installed.
TOKENIZERS = ("13a", "none", "intl", "char", "zh")


@dataclass
class Settings(TrainingSettings):
    """The settings of a training to translate; None means what suits the size, or no limit.

    Those that all trainings have are in `TrainingSettings`.

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
        pack: put several pairs into one row, so that there is one shape and hardly any padding.
        label_smoothing: share of certainty spread over the vocabulary.
        watch: what the best epoch is best in, "perplexity" or "bleu" of the validation pairs; BLEU
            is that of greedy translations.
        tokenize: for BLEU, see `evaluate`.
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
    pack: bool = False
    label_smoothing: float | None = None
    watch: str = "perplexity"
    tokenize: str = "13a"

    files: ClassVar[tuple] = (
        "data",
        "source",
        "target",
        "valid_data",
        "valid_source",
        "valid_target",
    )

    def __post_init__(self):
        self.use_paths_as_text()
        self._check_data()
        check_choice(SIZES, size=self.size)
        defaults = {**OTHERWISE, **SIZES[self.size], **TRAINING_OF_SIZE[self.size]}
        defaults.update(FOR_EMBEDDED.get(self.data, {}))
        self.fill_in(defaults)
        check_choice(WATCHED, watch=self.watch)
        check_tokenize(self.tokenize)
        check_choice(POSITIONS, positions=self.positions)
        self.check_training()

    def _check_data(self):
        if not (self.data or "").startswith("tfds:"):  # there, `source` and `target` are features
            _one_or_two_files("", self.data, self.source, self.target, needed=True)
        _one_or_two_files("valid_", self.valid_data, self.valid_source, self.valid_target)


def check_tokenize(tokenize):
    """Raises an error unless sacreBLEU can split words so."""
    check_choice(TOKENIZERS, tokenize=tokenize)


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
