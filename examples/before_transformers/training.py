"""Training any translation model the way `keras-transformer train` trains a Transformer."""

import random
import tempfile
from pathlib import Path

import keras

from keras_transformer.tasks import Translator
from keras_transformer.tasks.corpus import load_corpus, load_pairs
from keras_transformer.tasks.display import Log, ShowTraining
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.preparation import learn_tokenizers, make_batches, make_network
from keras_transformer.tasks.settings import Settings
from keras_transformer.tasks.threads import share_cores
from keras_transformer.tasks.train import TranslationTask
from keras_transformer.training import CountProgress, MetricsFile, Progress, StopAfter

MINUTES = 3


def train_for(make_model, settings, minutes, folder):
    """Trains a model for so many minutes; same batches, loss and optimizer for every model.

    Args:
        make_model: a function of the number of pieces to a model.
        settings: `Settings`, of data, vocabulary and training; those of the model do not matter.
        minutes: how many, validation included.
        folder: where `metrics.csv` is written.

    Returns:
        The model, its tokenizers, and the `Progress`, with the metrics of each epoch in `rows`.
    """
    keep_memory()
    parts = share_cores()
    corpus = load_corpus(settings)
    tokenizers = learn_tokenizers(corpus, settings)
    batches, valid_batches = make_batches(corpus, tokenizers, settings)
    keras.utils.set_random_seed(settings.seed)
    model = make_model(tokenizers[0].vocab_size)
    network = make_network(model, settings, parts)
    progress, log = Progress(), Log()
    log.say(f"{type(model).__name__} with {model.count_params():,} parameters")
    task = TranslationTask()
    show = ShowTraining(progress, batches.steps, log, task.describe_step, task.describe_epoch)
    try:
        network.fit(
            batches.dataset(labels_too=True),
            validation_data=valid_batches.dataset(endless=False, labels_too=True),
            epochs=1_000_000,
            steps_per_epoch=batches.steps,
            callbacks=[
                CountProgress(progress, batches.steps),
                StopAfter(progress, minutes=minutes),
                MetricsFile(folder / "metrics.csv", progress, batches.tokens / batches.steps),
                show,
            ],
            shuffle=False,  # the batches come shuffled
            verbose=0,
        )
    finally:
        show.close()
    return model, tokenizers, progress


def train_and_translate(model_class):
    """Trains on the embedded sentences and shows what becomes of some it has not seen."""
    settings = Settings(data="phrases", learning_rate=0.002, max_minutes=MINUTES)
    with tempfile.TemporaryDirectory() as folder:
        model, tokenizers, _ = train_for(model_class, settings, MINUTES, Path(folder))
    test, _ = load_pairs("phrases", None, None)
    translations = Translator(model, tokenizers)([source for source, _ in test])
    right = [found == wanted for found, (_, wanted) in zip(translations, test, strict=True)]
    for i in random.Random(0).sample(range(len(test)), 5):
        print(f"{test[i][0]:45} {translations[i]}{'' if right[i] else '   (wrong)'}")
    print(f"{sum(right) / len(test):.1%} of {len(test):,} new sentences translated exactly")
