"""What the training of a language model can be told, and what it does when it is not told."""

from dataclasses import dataclass
from typing import ClassVar

from keras_transformer.models.gpt_sizes import SIZES
from keras_transformer.tasks.training_settings import TrainingSettings, check_choice

VOCABULARIES = ("characters", "bytes", "bpe", "unigram")
# What suits a size, besides its shape.
FOR_MINUTES = {
    "vocab_kind": "characters",
    "learning_rate": 2e-3,
    "warmup_steps": 100,
    "batch_tokens": 2048,
    "max_steps": 3000,
}
FOR_HALF_AN_HOUR = {**FOR_MINUTES, "batch_tokens": 4096, "max_steps": 3400}
FOR_WEEKS = {
    "vocab_kind": "bpe",
    "learning_rate": 6e-4,
    "warmup_steps": 2000,
    "batch_tokens": 524_288,
    "max_steps": 100_000,
}
SUITS = {"mini": FOR_MINUTES, "llama-mini": FOR_MINUTES, "llama-small": FOR_HALF_AN_HOUR}
SHAPE = (
    "dim",
    "num_heads",
    "ffn_dim",
    "num_layers",
    "max_length",
    "dropout",
    "positions",
    "num_kv_heads",
)


@dataclass
class LanguageSettings(TrainingSettings):
    """The settings of the training of a language model; None means what suits the size.

    Those that all trainings have are in `TrainingSettings`.

    Attributes:
        text: text file, plain or gzip, read to the letter.
        data: a data set of TFDS with a text feature, "tfds:imdb_reviews"; instead of `text`.
        feature: which text feature that is, if there are several.
        valid_text: text file to validate with. Without one, the end of the text is kept back for
            it, or some of the texts.
        valid_share: how much of it.
        documents: whether the file has many texts, with blank lines between them, that are not to
            see each other; those of a data set never do.
        vocab_kind: "characters", "bytes", or SentencePiece's "bpe" or "unigram".
        vocab_size: pieces of a SentencePiece vocabulary; 8000, fewer if the text has not as many.
        size: a name in `gpt_sizes.SIZES`; the following eight are the size's unless given.
        dim: width.
        num_heads: attention heads.
        ffn_dim: inner width of the feed-forward networks.
        num_layers: how many blocks.
        max_length: how many tokens the model sees at once.
        dropout: rate.
        positions: "learned", "sine", "rotary", "alibi" or "relative", see `Gpt`.
        num_kv_heads: heads of keys and values, if they are fewer.
        lowest_rate: the learning rate at the end, as a share of the highest.
        beta_2: of Adam, how slowly its mean of squares changes.
        weight_decay: by which share of the learning rate matrices shrink in every step.
        prompt: what the text begins with that is written after every epoch.
    """

    text: str | None = None
    data: str | None = None
    feature: str | None = None
    valid_text: str | None = None
    valid_share: float = 0.1
    documents: bool = False
    vocab_kind: str | None = None
    vocab_size: int | None = None
    size: str = "mini"
    dim: int | None = None
    num_heads: int | None = None
    ffn_dim: int | None = None
    num_layers: int | None = None
    max_length: int | None = None
    dropout: float | None = None
    positions: str | None = None
    num_kv_heads: int | None = None
    lowest_rate: float = 0.1
    beta_2: float = 0.99
    weight_decay: float = 0.1
    prompt: str = ""

    files: ClassVar[tuple] = ("text", "data", "valid_text")
    # A TPU needs batches of one shape, which these are.
    pack: ClassVar[bool] = True

    def __post_init__(self):
        self.use_paths_as_text()
        if (self.text is None) == (self.data is None):
            raise ValueError("Give either --text, a file, or --data, a data set of TFDS")
        if self.data is not None:
            if not self.data.startswith("tfds:"):
                raise ValueError(
                    '`data` is a data set of TFDS, "tfds:name"; a file is `text`. Received: '
                    f"data={self.data}"
                )
            self.documents = True
        check_choice(SIZES, size=self.size)
        of_size = {name: SIZES[self.size][name] for name in SHAPE if name in SIZES[self.size]}
        suits = SUITS.get(self.size, FOR_WEEKS)
        self.fill_in({"cool_down": 0.0, "positions": "learned", "dropout": 0.1, **of_size, **suits})
        check_choice(VOCABULARIES, vocab_kind=self.vocab_kind)
        if not 0 < self.valid_share < 1 or not 0 <= self.lowest_rate <= 1:
            raise ValueError(
                "`valid_share` must be between 0 and 1, `lowest_rate` at least 0 and at most 1. "
                f"Received: valid_share={self.valid_share}, lowest_rate={self.lowest_rate}"
            )
        self.check_training()
