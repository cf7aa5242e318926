"""The training itself: `model.fit` with everything that watches over it."""

from typing import NamedTuple

import keras

from keras_transformer.tasks.display import ShowTraining
from keras_transformer.tasks.interrupts import Preempted, StopOnInterrupt
from keras_transformer.tasks.preparation import for_use
from keras_transformer.tasks.run_folder import AVERAGED
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


def fit(job, model, network, batches, settings, progress, more_callbacks=()):
    """Trains from where the progress is to where the settings say.

    Args:
        job: the `Job`.
        model: what is trained.
        network: what is trained in its place, compiled.
        batches: to train and to validate with.
        settings: the `TrainingSettings`, scaled.
        progress: the `Progress` of the training so far.
        more_callbacks: those of the task.
    """
    folder, place, log = job.folder, job.place, job.log
    train_batches, valid_batches = batches
    steps, agree = train_batches.steps, place.workers.any
    writes = folder is not None
    checkpoints = Checkpoints(folder.checkpoints if writes else None, progress)
    show = ShowTraining(progress, steps, log, job.task.describe_step, job.task.describe_epoch)
    interrupt = StopOnInterrupt(checkpoints, agree)
    limit = StopAfter(progress, settings.max_steps, settings.max_minutes, agree)
    watch, lower_is_better = job.task.watched(settings)
    callbacks = [
        CountProgress(progress, steps),
        limit,
        *more_callbacks,
        writes and MetricsFile(folder.path / "metrics.csv", progress, train_batches.tokens / steps),
        KeepBest(
            progress,
            lambda: writes and folder.save_model(for_use(model)),
            watch=watch,
            lower_is_better=lower_is_better,
            patience=settings.patience,
        ),
        writes and keras.callbacks.TensorBoard(folder.path / "tensorboard", write_graph=False),
        writes and show,
        writes and KeepWeights(folder.weights, progress, keep=settings.keep_epochs),
        settings.ema is not None and UseMovingAverage(),
        checkpoints,
        interrupt,
    ]
    callbacks = [callback for callback in callbacks if callback]
    try:
        for part in parts(progress, steps, settings):
            if limit.reached() or progress.epochs_since_best >= settings.patience:
                break
            if writes:
                (folder.path / AVERAGED).unlink(missing_ok=True)  # no longer of the last epochs
            network.fit(
                train_batches.dataset(
                    part.first_epoch,
                    progress.step_in_epoch,
                    endless=part.endless,
                    labels_too=True,
                    strategy=place.strategy,
                    steps=part.steps,
                ),
                validation_data=valid_batches.dataset(
                    endless=False, labels_too=True, strategy=place.strategy
                ),
                # Keras does not see how many a distributed data set has, and warns at its end.
                validation_steps=valid_batches.steps,
                initial_epoch=part.first_epoch,
                epochs=part.last_epoch,
                steps_per_epoch=part.steps,
                callbacks=callbacks,
                shuffle=False,  # the batches come shuffled
                verbose=0,
            )
    except (KeyboardInterrupt, Preempted):
        log.say(f"Interrupted after step {progress.step:,}; go on with --resume")
        raise
    finally:
        show.close()
        interrupt.restore()


class Part(NamedTuple):
    """What one call of Keras's `fit` does.

    Attributes:
        first_epoch: with which it begins.
        last_epoch: before which it ends.
        steps: of each epoch.
        endless: whether batches go on for ever; else there are no more than `steps`.
    """

    first_epoch: int
    last_epoch: int
    steps: int
    endless: bool = True


def parts(progress, steps, settings):
    """What is left of an epoch, then whole ones.

    With several steps at a time, one epoch after the other, and none goes beyond the last step:
    Keras would look for limits too late, and take batches of the next epoch.
    """
    if settings.steps_per_execution > 1:
        while progress.epoch < settings.epochs:
            left = steps - progress.step_in_epoch
            if settings.max_steps is not None:
                left = min(left, settings.max_steps - progress.step)
            yield Part(progress.epoch, progress.epoch + 1, left, endless=False)
        return
    first = progress.epoch
    if progress.step_in_epoch:
        yield Part(first, first + 1, steps - progress.step_in_epoch)
        first += 1
    if first < settings.epochs:
        yield Part(first, settings.epochs, steps)


def average_last(model, network, valid_batches, folder, count, log, place):
    """Saves the mean of the last epochs, and says how good it is."""

    def of_chief():
        kept = min(count, len(epochs_kept(folder.weights)))
        average_weights(model, last_epochs(folder.weights, kept))
        return kept

    count = place.workers.share(of_chief)
    place.workers.share_variables(model.variables)
    batches = valid_batches.dataset(endless=False, labels_too=True, strategy=place.strategy)
    metrics = network.evaluate(batches, steps=valid_batches.steps, return_dict=True, verbose=0)
    if folder is not None:
        folder.save_model(for_use(model), AVERAGED)
        log.say(
            f"The mean of the last {count} epochs: validation perplexity "
            f"{metrics['perplexity']:.2f}, saved as {folder.path / AVERAGED}"
        )
