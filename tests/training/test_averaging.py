"""The weights of the last epochs, and their mean."""

import keras
import numpy as np
import pytest
from regression import X, Y, make_model

from keras_transformer.training import (
    CountProgress,
    KeepWeights,
    Progress,
    average_weights,
    epochs_kept,
    last_epochs,
)


class Remember(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.weights = []

    def on_epoch_end(self, epoch, logs=None):
        self.weights.append(self.model.get_weights())


def fit(model, folder, progress, first, last, keep=3):
    seen = Remember()
    callbacks = [CountProgress(progress, 16), KeepWeights(folder, progress, keep), seen]
    options = {"batch_size": 4, "verbose": 0, "shuffle": False}
    model.fit(X, Y, initial_epoch=first, epochs=last, callbacks=callbacks, **options)
    return seen.weights


def names(folder):
    return [path.name for path in epochs_kept(folder)]


def test_the_mean_is_that_of_the_last_epochs(tmp_path):
    model = make_model()
    seen = fit(model, tmp_path, Progress(), 0, 6)
    average_weights(model, last_epochs(tmp_path, 3))
    for index, weight in enumerate(model.get_weights()):
        mean = np.mean([weights[index].astype("float64") for weights in seen[-3:]], axis=0)
        np.testing.assert_array_equal(weight, mean.astype("float32"))
    average_weights(model, last_epochs(tmp_path, 1))
    for weight, last in zip(model.get_weights(), seen[-1], strict=True):
        np.testing.assert_array_equal(weight, last)


def test_one_epoch_more_than_wanted_stays(tmp_path):
    fit(make_model(), tmp_path, Progress(), 0, 12)
    assert names(tmp_path) == [f"epoch-{epoch:06d}.npz" for epoch in (9, 10, 11, 12)]


def test_what_a_resumed_training_has_not_seen_is_forgotten(tmp_path):
    fit(make_model(), tmp_path, Progress(), 0, 6)
    # Killed in epoch 6, after its weights were written; the checkpoint was made in epoch 5.
    fit(make_model(), tmp_path, Progress(epoch=4, step=64), 4, 5)
    assert names(tmp_path) == [f"epoch-{epoch:06d}.npz" for epoch in (3, 4, 5)]


def test_more_epochs_than_there_are_cannot_be_averaged(tmp_path):
    fit(make_model(), tmp_path, Progress(), 0, 3)
    with pytest.raises(ValueError, match=r"last=4, and .* has 3 \(epochs 1 to 3\)"):
        last_epochs(tmp_path, 4)
    with pytest.raises(ValueError, match="last=0"):
        last_epochs(tmp_path, 0)
    with pytest.raises(ValueError, match=r"has 0 \(none\)"):
        last_epochs(tmp_path / "nowhere", 1)


def test_a_damaged_file_is_named(tmp_path):
    fit(make_model(), tmp_path, Progress(), 0, 1)
    (path,) = epochs_kept(tmp_path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"epoch-000001\.npz is damaged and cannot be read"):
        average_weights(make_model(), [path])


def test_the_weights_of_another_model_are_refused(tmp_path):
    fit(make_model(), tmp_path, Progress(), 0, 1)
    with pytest.raises(ValueError, match="has the weights of another model"):
        average_weights(make_model(width=9), last_epochs(tmp_path, 1))
