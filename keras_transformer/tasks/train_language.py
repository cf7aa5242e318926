"""Training a language model: text in, a run folder out."""

import itertools
import math

from keras_transformer.data.packed_texts import PackedTexts
from keras_transformer.data.text_blocks import TextBlocks
from keras_transformer.data.token_file import TokenFile
from keras_transformer.data.token_rows import TokenRows
from keras_transformer.models import Gpt
from keras_transformer.models.gpt_sizes import size_arguments
from keras_transformer.tasks.compiling import compile_network, make_adam
from keras_transformer.tasks.job import run_job
from keras_transformer.tasks.language_settings import SHAPE, LanguageSettings
from keras_transformer.tasks.preparation import LEARN_FROM, some_of
from keras_transformer.tasks.text_corpus import load_texts
from keras_transformer.tasks.write_samples import WriteSamples
from keras_transformer.text import Tokenizer, load_tokenizers, tokenizer_files
from keras_transformer.text.byte_tokenizer import ByteTokenizer
from keras_transformer.text.characters import CharacterTokenizer
from keras_transformer.training import ReadyAccuracy, ReadyLoss, ReadyMeanLoss, ReadyPerplexity
from keras_transformer.training.cosine_decay import CosineDecay
from keras_transformer.training.language_network import language_network

DEFAULT_VOCAB_SIZE = 8000
EXAMPLE = 64  # characters of a prompt to try an export with


def train_language(out, **options):
    """Teaches a GPT to say what comes next, and writes everything about it to a folder.

    Args:
        out: the folder, see `RunFolder`. Of several workers, only the first one uses it.
        **options: of `job.run_job`, such as `resume`; and settings, see `LanguageSettings`.

    Returns:
        The `RunFolder`, with the model that was best on the validation text; None in workers that
        have none.
    """
    return run_job(LanguageTask(), out, **options)


class LanguageTask:
    """What `job` wants to know about learning a language model."""

    name = "language"
    unit = "text"
    settings_class = LanguageSettings
    for_tpu = {"mixed_precision": True, "steps_per_execution": 20}  # noqa: RUF012
    load_corpus = staticmethod(load_texts)
    tokenizer_files = staticmethod(tokenizer_files)
    load_tokenizers = staticmethod(load_tokenizers)

    def make_tokenizers(self, corpus, settings):
        """One tokenizer; characters are those of all text, so that validation has no others."""
        if settings.vocab_kind == "bytes":
            return (ByteTokenizer(),)
        if settings.vocab_kind == "characters":
            texts = itertools.chain(corpus.train, corpus.valid)
            return (CharacterTokenizer.learn(texts, has_end=settings.documents),)
        lines = [line for text in corpus.train for line in text.split("\n") if line]
        learned = Tokenizer.learn(
            some_of(lines, LEARN_FROM, settings.seed),
            vocab_size=settings.vocab_size or DEFAULT_VOCAB_SIZE,
            kind=settings.vocab_kind,
            fewer=settings.vocab_size is None,
            exact=True,
        )
        return (learned,)

    def make_batches(self, corpus, tokenizers, settings):
        """Batches to train and to validate with."""
        tokenizer = tokenizers[0]

        def batches(texts, shuffle):
            ids = map(tokenizer.encode, texts)
            options = (settings.batch_tokens, settings.max_length, settings.seed, shuffle)
            if settings.documents:
                return PackedTexts(TokenRows(ids), tokenizer.start, tokenizer.end, *options)
            return TextBlocks(TokenFile(ids, tokenizer.vocab_size), *options)

        valid = batches(corpus.valid, False)
        self.tokens_per_character = valid.tokens / corpus.valid.characters
        return batches(corpus.train, True), valid

    def make_model(self, settings, tokenizers, corpus):
        """The `Gpt`."""
        changes = {name: getattr(settings, name) for name in SHAPE}
        dtype = "mixed_bfloat16" if settings.mixed_precision else "float32"
        vocab_size = tokenizers[0].vocab_size
        return Gpt(**size_arguments(settings.size, vocab_size, dtype=dtype, **changes))

    def make_network(self, model, settings, parts, batches):
        """What is trained, compiled."""
        network = language_network(model, settings.documents, parts)
        steps = min(settings.max_steps, settings.epochs * batches.steps)
        rate = CosineDecay(
            settings.learning_rate,
            min(settings.warmup_steps, max(steps - 1, 0)),
            max(steps, 1),
            settings.lowest_rate * settings.learning_rate,
        )
        optimizer = make_adam(settings, rate, settings.beta_2, 1e-8, settings.weight_decay)
        metrics = [ReadyMeanLoss(), ReadyAccuracy(), ReadyPerplexity()]
        compile_network(network, settings, optimizer, ReadyLoss(), metrics)
        return network

    def describe_model(self, settings):
        """In a few words, for the log."""
        return f"A {settings.size} language model"

    def describe_data(self, corpus, batches, tokenizers, settings):
        """What `config.json` says about the data."""
        lines = (line for text in corpus.valid for line in text.split("\n") if line.strip())
        prompts = [line[:EXAMPLE] for line in itertools.islice(lines, 8)]
        return {
            **corpus.fingerprints(),
            "shapes": batches.shapes.tolist(),
            "padding": batches.padding,
            "tokens": batches.tokens,
            "tokens_per_character": self.tokens_per_character,
            "examples": prompts,
        }

    def watched(self, settings):
        """The metric that says which epoch is best, and whether lower is better."""
        return "val_perplexity", True

    def callbacks(self, job, model, tokenizers, corpus):
        """Some text after every epoch."""
        return [WriteSamples(model, tokenizers[0], job.settings.prompt, job.log, job.workers)]

    def describe_step(self, logs):
        """How it goes, after a step."""
        return f"loss {float(logs['loss']):.3f}"

    def describe_epoch(self, row):
        """How it went, after an epoch."""
        return (
            f"loss {row['loss']:.4f}; validation: loss {row['val_loss']:.4f}, "
            f"{self.bits(row['val_perplexity']):.3f} bits per character"
        )

    def bits(self, perplexity):
        """Bits per character, which do not depend on the vocabulary."""
        return math.log2(perplexity) * self.tokens_per_character

    def finish(self, job, model, network, batches, tokenizers, corpus, progress):
        """Says what came out."""
        if progress.best is not None:
            job.log.say(
                f"Best validation loss {math.log(progress.best):.4f}, "
                f"{self.bits(progress.best):.3f} bits per character, "
                f"saved as {job.out / 'model.keras'}"
            )
