"""Fine-tuning: a trained BERT and a few labelled examples in, a model for one task out."""

import json
import math

import keras
import numpy as np

from keras_transformer.data.row_batches import RowBatches
from keras_transformer.files import write_whole
from keras_transformer.tasks.compiling import compile_network, make_adam
from keras_transformer.tasks.examples import of_all_lengths
from keras_transformer.tasks.finetune_kinds import KINDS
from keras_transformer.tasks.finetune_settings import FinetuneSettings
from keras_transformer.tasks.job import run_job
from keras_transformer.tasks.labelled_corpus import load_labelled
from keras_transformer.tasks.lora import add_lora
from keras_transformer.tasks.predict import Predictor
from keras_transformer.tasks.pretrained import load_pretrained, load_tokenizer, positions_of
from keras_transformer.tasks.training_settings import check_choice
from keras_transformer.text import load_tokenizers, tokenizer_files
from keras_transformer.training import Perplexity, SmoothedCrossentropy, TokenAccuracy
from keras_transformer.training.linear_decay import LinearDecay
from keras_transformer.training.network import in_parts

RESULTS = "results.json"
LONGEST = 256  # tokens, unless the model has fewer or another number is given
WARMUP = 0.1  # of all steps
# The rate that suits a BERT of 768 features; half as wide, four times as much.
RATE, WIDTH, HIGHEST_RATE = 5e-5, 768, 1e-3
LORA_RATE = 10  # times as much: there are far fewer numbers to change


def finetune(model, out, task="classify", **options):
    """Teaches a trained BERT one task, and writes everything about it to a folder.

    Args:
        model: path of a run of `pretrain`, or of a folder in Hugging Face's layout.
        out: the folder, see `RunFolder`; `results.json` in it says how good the model is on
            examples that were held out.
        task: "classify", one label a text; "tag", one label a word; "span", where an answer is.
        **options: of `job.run_job`, such as `resume`; and settings, see `FinetuneSettings`.

    Returns:
        The `RunFolder`, with the model that was best on the validation examples.
    """
    check_choice(KINDS, task=task)
    return run_job(FinetuningTask(KINDS[task]), out, model=model, task=task, **options)


class FinetuningTask:
    """What `job` wants to know about fine-tuning.

    Args:
        kind: see `finetune_kinds`.
    """

    unit = "examples"
    settings_class = FinetuneSettings
    for_tpu = {}  # noqa: RUF012
    tokenizer_files = staticmethod(tokenizer_files)
    load_tokenizers = staticmethod(load_tokenizers)

    def __init__(self, kind):
        self.kind, self.name = kind, kind.name

    def load_corpus(self, settings):
        """The examples, in three parts."""
        return load_labelled(self.kind, settings)

    def make_tokenizers(self, corpus, settings):
        """That of the trained model."""
        return (load_tokenizer(settings.model),)

    def make_batches(self, corpus, tokenizers, settings):
        """Batches to train and to validate with."""
        self.max_length = longest(settings, settings.model)

        def batches(examples, shuffle, weights=None):
            rows = self.kind.rows(examples, tokenizers[0], self.max_length, corpus.labels)
            made = RowBatches(
                rows.ids,
                rows.seconds,
                rows.labels,
                settings.batch_tokens,
                weights,
                seed=settings.seed,
                shuffle=shuffle,
            )
            if rows.cut:
                made.dropped[f"ends of texts longer than {self.max_length} tokens"] = rows.cut
            return made

        train = batches(corpus.train, True)
        if settings.class_weights == "balanced":
            train.label_weights = balanced_weights(train, len(corpus.labels))
        return train, batches(corpus.valid, False)

    def make_model(self, settings, tokenizers, corpus):
        """The BERT with its head; with `lora`, most of it stays as it is."""
        # Weights that nothing comes of could not be trained.
        changes = {"pooler": self.name == "classify" and settings.pooling == "first"}
        if settings.dropout is not None:
            changes["dropout"] = settings.dropout
        if settings.mixed_precision:
            changes["dtype"] = "mixed_bfloat16"
        bert, _ = load_pretrained(settings.model, settings.fresh, **changes)
        bert.embedding.trainable = settings.train_embeddings
        model = self.kind.model(bert, corpus.labels, settings)
        if settings.lora is not None:
            add_lora(model, settings.lora)
        return model

    def make_network(self, model, settings, parts, batches):
        """What is trained, compiled; the learning rate falls to zero at the end."""
        steps = batches.steps * settings.epochs
        steps = max(2, min(steps, settings.max_steps or steps))
        warmup = settings.warmup_steps
        rate = LinearDecay(
            learning_rate(settings, model.bert.dim),
            min(math.ceil(WARMUP * steps) if warmup is None else warmup, steps - 1),
            steps,
        )
        optimizer = make_adam(settings, rate, 0.999, 1e-6, settings.weight_decay)
        inputs = {
            name: keras.Input((None,), dtype="int32", name=name) for name in RowBatches.inputs
        }
        network = in_parts(inputs, lambda inputs: self.kind.logits(model, inputs), parts)
        # An answer has one place: there is no certainty to spread.
        smoothing = 0.0 if self.name == "span" else settings.label_smoothing
        metrics = [TokenAccuracy(), Perplexity()]
        compile_network(network, settings, optimizer, SmoothedCrossentropy(smoothing), metrics)
        return network

    def describe_model(self, settings):
        """In a few words, for the log."""
        how = f"with LoRA of rank {settings.lora}" if settings.lora else "as a whole"
        return f"{settings.model}, to {self.name}, trained {how},"

    def describe_data(self, corpus, batches, tokenizers, settings):
        """What `config.json` says about the data."""
        return {
            **corpus.fingerprints(),
            "labels": corpus.labels,
            "max_length": self.max_length,
            "examples": of_all_lengths([self.kind.text_of(example) for example in corpus.valid]),
        }

    def watched(self, settings):
        """The metric that says which epoch is best, and whether lower is better."""
        return "val_perplexity", True

    def callbacks(self, job, model, tokenizers, corpus):
        """None."""
        return []

    def describe_step(self, logs):
        """How it goes, after a step."""
        return f"loss {float(logs['loss']):.3f}  accuracy {float(logs['accuracy']):.1%}"

    def describe_epoch(self, row):
        """How it went, after an epoch."""
        return (
            f"loss {row['loss']:.3f}, accuracy {row['accuracy']:.1%}; "
            f"validation: loss {math.log(row['val_perplexity']):.3f}, "
            f"accuracy {row['val_accuracy']:.1%}"
        )

    def finish(self, job, model, network, batches, tokenizers, corpus, progress):
        """Evaluates the best model with the examples that were held out."""
        if job.folder is None or progress.best is None:
            return
        best = job.folder.load_model()
        rows = self.kind.rows(corpus.test, tokenizers[0], self.max_length)
        logits = Predictor(best)(rows.ids, rows.seconds, show_progress=True)
        answers = self.kind.answers(corpus.test, rows, logits, corpus.labels)
        scores, lines = self.kind.scores(corpus.test, answers, corpus.labels)
        results = {"examples": len(corpus.test), "cut": rows.cut, **scores}
        text = json.dumps(results, indent=2) + "\n"
        write_whole(job.folder.path / RESULTS, lambda path: path.write_text(text))
        job.log.say(f"On {len(corpus.test):,} examples held out:")
        for line in lines:
            job.log.say(line)
        if rows.cut:
            job.log.say(f"{rows.cut:,} of them were longer than {self.max_length} tokens, and cut")
        job.log.say(f"Saved as {job.out / 'model.keras'}")


def learning_rate(settings, dim):
    """The highest rate: as given, or what suits a model of that width."""
    if settings.learning_rate is not None:
        return settings.learning_rate
    rate = min(HIGHEST_RATE, RATE * (WIDTH / dim) ** 2)
    return rate * (LORA_RATE if settings.lora else 1) * math.sqrt(settings.scale)


def longest(settings, model):
    """How many tokens a row may have."""
    positions = positions_of(model)
    wanted = settings.max_length or min(LONGEST, positions)
    if not 4 <= wanted <= positions:
        raise ValueError(
            f"`max_length` must be at least 4, and at most {positions}, which is what the model "
            f"can read. Received: max_length={wanted}"
        )
    return wanted


def balanced_weights(batches, count):
    """What makes all labels count the same: the rarer one is, the more its examples do."""
    labels = batches.labels
    labels = labels.read(0, len(labels)) if batches.each_token else np.asarray(labels).reshape(-1)
    numbers = np.bincount(labels[labels >= 0], minlength=count)
    return numbers.sum() / (count * np.maximum(numbers, 1))
