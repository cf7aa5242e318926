"""What a pre-training can be told, and what it does when it is not told."""

from dataclasses import dataclass
from typing import ClassVar

from keras_transformer.models.bert import SIZES
from keras_transformer.tasks.training_settings import TrainingSettings, check_choice

VOCABULARIES = ("wordpiece", "bpe", "unigram")
# What suits a size, besides its shape.
SMALL = {"learning_rate": 1e-3, "warmup_steps": 300, "batch_tokens": 4096}
TRAINING_OF_SIZE = {
    "tiny": SMALL,
    "mini": SMALL,
    "small": {**SMALL, "learning_rate": 5e-4},
    "medium": {**SMALL, "learning_rate": 5e-4},
    "base": {"learning_rate": 1e-4, "warmup_steps": 10_000, "batch_tokens": 131_072},
    "large": {"learning_rate": 1e-4, "warmup_steps": 10_000, "batch_tokens": 131_072},
}


@dataclass
class PretrainSettings(TrainingSettings):
    """The settings of a pre-training; None means what suits the size, or no limit.

    Those that all trainings have are in `TrainingSettings`.

    Attributes:
        text: text file, plain or gzip: one sentence or paragraph a line, blank lines between
            documents.
        data: a data set of TFDS with a text feature, "tfds:imdb_reviews"; instead of `text`.
        feature: which text feature that is, if there are several.
        valid_text: text file to validate with. Without one, some documents are kept back for it.
        skip_bad_lines: leave out lines that are not UTF-8 instead of stopping.
        vocab_size: pieces of the vocabulary; 8000, fewer if the text has not as many.
        vocab_kind: "wordpiece" as in BERT, or SentencePiece's "bpe" or "unigram".
        cased: keep capital letters and accents.
        size: "tiny", "mini", "small", "medium", "base" or "large"; the following four are the
            size's unless given.
        dim: width.
        num_heads: attention heads.
        ffn_dim: inner width of the feed-forward networks.
        num_layers: how many blocks.
        dropout: rate.
        max_length: of a row, in tokens; the model has as many positions.
        next_sentence: whether to guess, too, if a sentence follows another.
        whole_words: hide all pieces of a word together.
        mask_rate: the share of tokens that are hidden.
        weight_decay: by which share of the learning rate matrices shrink in every step.
    """

    text: str | None = None
    data: str | None = None
    feature: str | None = None
    valid_text: str | None = None
    skip_bad_lines: bool = False
    vocab_size: int | None = None
    vocab_kind: str = "wordpiece"
    cased: bool = False
    size: str = "mini"
    dim: int | None = None
    num_heads: int | None = None
    ffn_dim: int | None = None
    num_layers: int | None = None
    dropout: float = 0.1
    max_length: int = 128
    next_sentence: bool = True
    whole_words: bool = False
    mask_rate: float = 0.15
    weight_decay: float = 0.01

    files: ClassVar[tuple] = ("text", "data", "valid_text")
    # A TPU needs batches of one shape, which these are.
    pack: ClassVar[bool] = True

    def __post_init__(self):
        self.use_paths_as_text()
        if (self.text is None) == (self.data is None):
            raise ValueError("Give either --text, a file, or --data, a data set of TFDS")
        if self.data is not None and not self.data.startswith("tfds:"):
            raise ValueError(
                '`data` is a data set of TFDS, "tfds:name"; a file is `text`. Received: '
                f"data={self.data}"
            )
        check_choice(SIZES, size=self.size)
        check_choice(VOCABULARIES, vocab_kind=self.vocab_kind)
        self.fill_in({"cool_down": 0.0, **SIZES[self.size], **TRAINING_OF_SIZE[self.size]})
        if not 0 < self.mask_rate < 1:
            raise ValueError(
                f"`mask_rate` must be between 0 and 1. Received: mask_rate={self.mask_rate}"
            )
        self.check_training()
