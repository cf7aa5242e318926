"""Pre-training a BERT: documents in, a run folder out."""

import itertools

from keras_transformer.data import TokenRows
from keras_transformer.data.pretraining import PretrainingBatches
from keras_transformer.models import Bert, MaskedLanguageModel
from keras_transformer.tasks.compiling import compile_network, make_adam
from keras_transformer.tasks.document_corpus import load_documents
from keras_transformer.tasks.examples import of_all_lengths
from keras_transformer.tasks.job import run_job
from keras_transformer.tasks.preparation import ENCODE_AT_ONCE, LEARN_FROM, some_of
from keras_transformer.tasks.pretrain_settings import PretrainSettings
from keras_transformer.text import Tokenizer, load_tokenizers, tokenizer_files
from keras_transformer.text.learn_word_pieces import learn_word_pieces
from keras_transformer.training import (
    InverseSquareRoot,
    ReadyAccuracy,
    ReadyLoss,
    ReadyPerplexity,
    SmoothedCrossentropy,
    TokenAccuracy,
)
from keras_transformer.training.pretraining_network import pretraining_network

DEFAULT_VOCAB_SIZE = 8000


def pretrain(out, **options):
    """Teaches a BERT a language: to guess hidden words, and whether a sentence follows another.

    Args:
        out: the folder, see `RunFolder`. Of several workers, only the first one uses it.
        **options: of `job.run_job`, such as `resume`; and settings, see `PretrainSettings`.

    Returns:
        The `RunFolder`, with the model that was best on the validation documents; None in workers
        that have none.
    """
    return run_job(PretrainingTask(), out, **options)


class PretrainingTask:
    """What `job` wants to know about pre-training."""

    name = "pretraining"
    unit = "sentences"
    settings_class = PretrainSettings
    for_tpu = {"mixed_precision": True, "steps_per_execution": 20}  # noqa: RUF012
    load_corpus = staticmethod(load_documents)
    tokenizer_files = staticmethod(tokenizer_files)
    load_tokenizers = staticmethod(load_tokenizers)

    def make_tokenizers(self, corpus, settings):
        """One tokenizer, whose vocabulary is learned from the training documents."""
        lines = [text for _, text in some_of(corpus.train, LEARN_FROM, settings.seed)]
        vocab_size = settings.vocab_size or DEFAULT_VOCAB_SIZE
        if settings.vocab_kind == "wordpiece":
            return (learn_word_pieces(lines, vocab_size, lowercase=not settings.cased),)
        learned = Tokenizer.learn(
            lines,
            vocab_size=vocab_size,
            kind=settings.vocab_kind,
            normalization="none" if settings.cased else "lowercase",
            fewer=settings.vocab_size is None,
            mask=True,
        )
        return (learned,)

    def make_batches(self, corpus, tokenizers, settings):
        """Batches to train and to validate with."""

        def batches(sentences, shuffle):
            documents = []
            rows = TokenRows(encode(sentences, tokenizers[0], documents))
            return PretrainingBatches(
                rows,
                documents,
                tokenizers[0],
                settings.batch_tokens,
                settings.max_length,
                settings.next_sentence,
                settings.whole_words,
                settings.mask_rate,
                settings.seed,
                shuffle,
            )

        return batches(corpus.train, True), batches(corpus.valid, False)

    def make_model(self, settings, tokenizers, corpus):
        """The `MaskedLanguageModel`."""
        bert = Bert(
            vocab_size=tokenizers[0].vocab_size,
            dim=settings.dim,
            num_heads=settings.num_heads,
            ffn_dim=settings.ffn_dim,
            num_layers=settings.num_layers,
            dropout=settings.dropout,
            max_length=settings.max_length,
            dtype="mixed_bfloat16" if settings.mixed_precision else "float32",
        )
        return MaskedLanguageModel(bert, next_sentence=settings.next_sentence)

    def make_network(self, model, settings, parts, batches):
        """The model as it is trained, compiled."""
        network = pretraining_network(model, parts)
        rate = InverseSquareRoot(
            settings.learning_rate,
            settings.warmup_steps,
            settings.max_steps,
            settings.cool_down,
        )
        optimizer = make_adam(settings, rate, 0.999, 1e-6, settings.weight_decay)
        losses = {"masked": ReadyLoss()}
        if settings.next_sentence:
            losses["next"] = SmoothedCrossentropy(0.0)
            metrics = {"masked": [ReadyAccuracy(), ReadyPerplexity()], "next": [TokenAccuracy()]}
        else:  # Keras names metrics after their output only if there are several
            named = [ReadyAccuracy("masked_accuracy"), ReadyPerplexity("masked_perplexity")]
            metrics = {"masked": named}
        compile_network(network, settings, optimizer, losses, metrics)
        return network

    def describe_model(self, settings):
        """In a few words, for the log."""
        return f"A {settings.size} BERT"

    def describe_data(self, corpus, batches, tokenizers, settings):
        """What `config.json` says about the data."""
        some = [text for _, text in itertools.islice(corpus.valid, 1_000)]
        return {
            **corpus.fingerprints(),
            "shapes": batches.shapes.tolist(),
            "padding": batches.padding,
            "tokens": batches.tokens,
            "cut": batches.cut,
            "examples": of_all_lengths(some),
        }

    def watched(self, settings):
        """The metric that says which epoch is best, and whether lower is better."""
        return "val_masked_perplexity", True

    def callbacks(self, job, model, tokenizers, corpus):
        """None."""
        return []

    def describe_step(self, logs):
        """How it goes, after a step."""
        return f"loss {float(logs['loss']):.3f}  masked {float(logs['masked_accuracy']):.1%}"

    def describe_epoch(self, row):
        """How it went, after an epoch."""
        follows = ", next sentence {:.1%}"
        here = follows.format(row["next_accuracy"]) if "next_accuracy" in row else ""
        there = follows.format(row["val_next_accuracy"]) if "val_next_accuracy" in row else ""
        return (
            f"loss {row['loss']:.3f}, masked {row['masked_accuracy']:.1%}{here}; validation: "
            f"perplexity {row['val_masked_perplexity']:.2f}, "
            f"masked {row['val_masked_accuracy']:.1%}{there}"
        )

    def finish(self, job, model, network, batches, tokenizers, corpus, progress):
        """Says what came out."""
        if progress.best is not None:
            job.log.say(
                f"Best validation perplexity of masked words {progress.best:.2f}, "
                f"saved as {job.out / 'model.keras'}"
            )


def encode(sentences, tokenizer, documents):
    """The ids of sentences, one after the other; adds the numbers of their documents to a list."""
    sentences = iter(sentences)
    while chunk := list(itertools.islice(sentences, ENCODE_AT_ONCE)):
        documents.extend(int(number) for number, _ in chunk)
        yield from tokenizer.encode([text for _, text in chunk])
