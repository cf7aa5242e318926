"""Training a translation model: pairs of sentences in, a run folder out."""

import itertools

from keras_transformer.tasks.corpus import load_corpus
from keras_transformer.tasks.examples import of_all_lengths
from keras_transformer.tasks.fit import average_last
from keras_transformer.tasks.job import run_job
from keras_transformer.tasks.preparation import (
    learn_tokenizers,
    make_batches,
    make_model,
    make_network,
)
from keras_transformer.tasks.settings import FOR_TPU, Settings
from keras_transformer.tasks.validation_bleu import ValidationBleu
from keras_transformer.text.files import load_tokenizers, tokenizer_files

LOOK_AT = 1_000  # sentences, to find examples among


def train(out, **options):
    """Trains a Transformer to translate, and writes everything about it to a folder.

    Args:
        out: the folder, see `RunFolder`. Of several workers, only the first one uses it.
        **options: of `job.run_job`, such as `resume`; and settings, see `Settings`.

    Returns:
        The `RunFolder`, with the model that was best on the validation pairs; None in workers that
        have none.
    """
    return run_job(TranslationTask(), out, **options)


class TranslationTask:
    """What `job` wants to know about learning to translate."""

    name = "translation"
    unit = "pairs"
    settings_class = Settings
    for_tpu = FOR_TPU
    load_corpus = staticmethod(load_corpus)
    make_tokenizers = staticmethod(learn_tokenizers)
    tokenizer_files = staticmethod(tokenizer_files)
    load_tokenizers = staticmethod(load_tokenizers)
    make_batches = staticmethod(make_batches)

    def make_model(self, settings, tokenizers, corpus):
        """The `Transformer`."""
        return make_model(settings, tokenizers)

    def make_network(self, model, settings, parts, batches):
        """Its training network."""
        return make_network(model, settings, parts)

    def describe_model(self, settings):
        """In a few words, for the log."""
        return f"A {settings.size} Transformer"

    def describe_data(self, corpus, batches, tokenizers, settings):
        """What `config.json` says about the data."""
        return {
            **corpus.fingerprints(),
            "shapes": batches.shapes.tolist(),
            "padding": batches.padding,
            "tokens": batches.tokens,
            "examples": of_all_lengths(some_sources(corpus, tokenizers[0], settings.max_length)),
        }

    def watched(self, settings):
        """The metric that says which epoch is best, and whether lower is better."""
        return f"val_{settings.watch}", settings.watch != "bleu"

    def callbacks(self, job, model, tokenizers, corpus):
        """BLEU of the validation pairs, if that is watched."""
        if job.settings.watch != "bleu":
            return []
        return [ValidationBleu(model, tokenizers, corpus.valid, job.settings.tokenize, job.workers)]

    def describe_step(self, logs):
        """How it goes, after a step."""
        return f"loss {float(logs['loss']):.3f}  accuracy {float(logs['accuracy']):.1%}"

    def describe_epoch(self, row):
        """How it went, after an epoch."""
        bleu = f", BLEU {row['val_bleu']:.2f}" if "val_bleu" in row else ""
        return (
            f"loss {row['loss']:.3f}, accuracy {row['accuracy']:.1%}; "
            f"validation: perplexity {row['val_perplexity']:.2f}, "
            f"accuracy {row['val_accuracy']:.1%}{bleu}"
        )

    def finish(self, job, model, network, batches, tokenizers, corpus, progress):
        """Says what came out, and averages the last epochs if that is wanted."""
        if progress.best is None:
            return
        job.log.say(
            f"Best validation {job.settings.watch} {progress.best:.2f}, "
            f"saved as {job.out / 'model.keras'}"
        )
        if job.settings.average is not None:
            count = job.settings.average
            average_last(model, network, batches[1], job.folder, count, job.log, job.place)


def some_sources(corpus, tokenizer, max_length):
    """Source sentences that the model can take as they are, to try an export with."""
    pairs = itertools.chain(corpus.valid, corpus.train)
    sentences = [source for source, _ in itertools.islice(pairs, LOOK_AT)]
    ids = tokenizer.encode(sentences)
    return [s for s, of_s in zip(sentences, ids, strict=True) if len(of_s) < max_length]
