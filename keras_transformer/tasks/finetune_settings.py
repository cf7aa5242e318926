"""What a fine-tuning can be told, and what it does when it is not told."""

from dataclasses import dataclass
from typing import ClassVar

from keras_transformer.data.labelled import check_columns
from keras_transformer.tasks.training_settings import TrainingSettings, check_choice

TASKS = ("classify", "tag", "span")
POOLINGS = ("first", "mean")
CLASS_WEIGHTS = ("none", "balanced")


@dataclass
class FinetuneSettings(TrainingSettings):
    """The settings of a fine-tuning; None means what suits the model, or no limit.

    Those that all trainings have are in `TrainingSettings`.

    Attributes:
        model: path of a run of `pretrain`, or of a folder in Hugging Face's layout.
        data: what to learn from: for "classify" a TSV file or a data set of TFDS, "tfds:glue/sst2";
            for "tag" words and tags in columns; for "span" a TSV file or one of SQuAD's JSON files.
        valid_data: what to validate with. Without it, some of the examples are kept back for it.
        test_data: what to evaluate with at the end. Without it, some of them are held out for it.
        task: "classify", one label a text; "tag", one label a word; "span", where an answer is.
        columns: of a TSV file for "classify", such as "label,text" or "text,second,label".
        hold_out: the share of the examples that is held out to evaluate with.
        keep_back: the share of the others that is kept back to validate with.
        max_length: longest row in tokens; longer texts are cut. The model's, at most 256.
        pooling: what a text's label is read from: "mean", the mean of all its tokens' vectors; or
            "first", that of its first token, for models that have guessed next sentences.
        class_weights: "balanced" if rare labels are to count as much as frequent ones.
        lora: train a few numbers instead of whole matrices: the rank of what is added to them.
        fresh: begin with new weights of the same shapes, to see what the pre-training is good for.
        train_embeddings: whether embeddings are trained, too. Unless given, only those of fresh
            models are: words that the examples do not have would be left behind by the others.
        label_smoothing: share of certainty spread over the labels.
        dropout: rate; the model's own unless given.
        weight_decay: by which share of the learning rate matrices shrink in every step.
    """

    epochs: int = 5
    patience: int = 3
    keep_epochs: int = 1
    model: str | None = None
    data: str | None = None
    valid_data: str | None = None
    test_data: str | None = None
    task: str = "classify"
    columns: str = "label,text"
    hold_out: float = 0.2
    keep_back: float = 0.1
    max_length: int | None = None
    pooling: str = "mean"
    class_weights: str = "none"
    lora: int | None = None
    fresh: bool = False
    train_embeddings: bool | None = None
    label_smoothing: float = 0.1
    dropout: float | None = None
    weight_decay: float = 0.01

    files: ClassVar[tuple] = ("model", "data", "valid_data", "test_data")
    pack: ClassVar[bool] = False

    def __post_init__(self):
        self.use_paths_as_text()
        for name in ("model", "data"):
            if getattr(self, name) is None:
                raise ValueError(f"`{name}` must be given")
        check_choice(TASKS, task=self.task)
        check_choice(POOLINGS, pooling=self.pooling)
        check_choice(CLASS_WEIGHTS, class_weights=self.class_weights)
        check_columns(self.columns.split(","))
        for name in ("hold_out", "keep_back"):
            share = getattr(self, name)
            if not 0 < share < 1:
                raise ValueError(f"`{name}` must be between 0 and 1. Received: {name}={share}")
        if self.lora is not None and self.lora < 1:
            raise ValueError(f"`lora` must be positive. Received: lora={self.lora}")
        self.fill_in({"cool_down": 0.0, "batch_tokens": 1024, "train_embeddings": bool(self.fresh)})
        self.check_training()
