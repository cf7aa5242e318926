"""The training itself: `model.fit` with everything that watches over it."""

import keras

from keras_transformer.tasks.display import ShowTraining
from keras_transformer.tasks.interrupts import StopOnInterrupt
from keras_transformer.tasks.preparation import for_use
from keras_transformer.tasks.run_folder import AVERAGED
from keras_transformer.tasks.validation_bleu import ValidationBleu
from keras_transformer.training import (
    Checkpoints,
    CountProgress,
    KeepBest,
    KeepWeights,
    MetricsFile,
    StopAfter,
    UseMovingAverage,
    average_weights,
    epochs_kept,
    last_epochs,
)


def fit(model, network, batches, corpus, tokenizers, folder, settings, progress, log):
    """Trains from where the progress is to where the settings say.

    Args:
        model: the `Transformer`.
        network: its `training_network`, compiled.
        batches: to train and to validate with.
        corpus: the sentences they were made of.
        tokenizers: of source and target.
        folder: the `RunFolder`.
        settings: the `Settings`.
        progress: the `Progress` of the training so far.
        log: a `Log`.
    """
    train_batches, valid_batches = batches
    steps = train_batches.steps
    checkpoints = Checkpoints(folder.checkpoints, progress)
    show = ShowTraining(progress, steps, log)
    interrupt = StopOnInterrupt(checkpoints)
    limit = StopAfter(progress, settings.max_steps, settings.max_minutes)
    by_bleu = settings.watch == "bleu"
    callbacks = [
        CountProgress(progress, steps),
        limit,
        *([ValidationBleu(model, tokenizers, corpus.valid, settings.tokenize)] if by_bleu else []),
        MetricsFile(folder.path / "metrics.csv", progress, train_batches.tokens / steps),
        KeepBest(
            progress,
            lambda: folder.save_model(for_use(model)),
            watch=f"val_{settings.watch}",
            lower_is_better=not by_bleu,
            patience=settings.patience,
        ),
        keras.callbacks.TensorBoard(folder.path / "tensorboard", write_graph=False),
        show,
        KeepWeights(folder.weights, progress, keep=settings.keep_epochs),
        *([UseMovingAverage()] if settings.ema is not None else []),
        checkpoints,
        interrupt,
    ]
    try:
        for first, last, steps_per_epoch in parts(progress, steps, settings.epochs):
            if limit.reached() or progress.epochs_since_best >= settings.patience:
                break
            (folder.path / AVERAGED).unlink(missing_ok=True)  # no longer of the last epochs
            network.fit(
                train_batches.dataset(first, progress.step_in_epoch, labels_too=True),
                validation_data=valid_batches.dataset(endless=False, labels_too=True),
                initial_epoch=first,
                epochs=last,
                steps_per_epoch=steps_per_epoch,
                callbacks=callbacks,
                shuffle=False,  # the batches come shuffled
                verbose=0,
            )
    except KeyboardInterrupt:
        log.say(f"Interrupted after step {progress.step:,}; go on with --resume")
        raise
    finally:
        show.close()
        interrupt.restore()


def parts(progress, steps, epochs):
    """(first epoch, last epoch, steps of each): what is left of an epoch, then whole ones."""
    first = progress.epoch
    if progress.step_in_epoch:
        yield first, first + 1, steps - progress.step_in_epoch
        first += 1
    if first < epochs:
        yield first, epochs, steps


def average_last(model, network, valid_batches, folder, count, log):
    """Saves the mean of the last epochs, and says how good it is."""
    count = min(count, len(epochs_kept(folder.weights)))
    average_weights(model, last_epochs(folder.weights, count))
    batches = valid_batches.dataset(endless=False, labels_too=True)
    metrics = network.evaluate(batches, return_dict=True, verbose=0)
    folder.save_model(for_use(model), AVERAGED)
    log.say(
        f"The mean of the last {count} epochs: validation perplexity {metrics['perplexity']:.2f}, "
        f"saved as {folder.path / AVERAGED}"
    )
