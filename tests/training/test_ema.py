"""The moving average of the weights: used to validate and to save, never to train on."""

import keras
import numpy as np
from regression import X, Y, make_model

from keras_transformer.training import UseMovingAverage

MOMENTUM = 0.5


def with_sgd(**options):
    return make_model(optimizer=keras.optimizers.SGD(0.05, **options))


class Remember(keras.callbacks.Callback):
    """The weights after each batch, and at the end of each epoch."""

    def __init__(self):
        super().__init__()
        self.of_batches, self.of_epochs = [], []

    def on_train_batch_end(self, batch, logs=None):
        self.of_batches.append(self.model.get_weights()[0])

    def on_epoch_end(self, epoch, logs=None):
        self.of_epochs.append(self.model.get_weights()[0])


def fit(model, *callbacks, epochs=3):
    model.fit(
        X,
        Y,
        validation_data=(X, Y),
        batch_size=4,
        epochs=epochs,
        shuffle=False,
        verbose=0,
        callbacks=callbacks,
    )


def test_it_is_in_place_from_validation_to_the_epochs_end():
    during, after = Remember(), Remember()
    model = with_sgd(use_ema=True, ema_momentum=MOMENTUM)
    fit(model, during, UseMovingAverage(), after)

    plain, trained = with_sgd(), Remember()
    fit(plain, trained)
    # Training goes on as if there were no average, and fit ends with the weights themselves.
    np.testing.assert_allclose(during.of_batches, trained.of_batches, rtol=1e-6)
    np.testing.assert_allclose(after.of_epochs, trained.of_epochs, rtol=1e-6)
    np.testing.assert_allclose(model.get_weights()[0], plain.get_weights()[0], rtol=1e-6)

    average = None
    averages = []
    for weight in trained.of_batches:
        first = average is None
        average = weight if first else MOMENTUM * average + (1 - MOMENTUM) * weight
        averages.append(average)
    np.testing.assert_allclose(during.of_epochs, averages[15::16], rtol=1e-5)
    assert not np.allclose(during.of_epochs, after.of_epochs, rtol=1e-3)


def test_the_validation_is_that_of_the_average():
    model = with_sgd(use_ema=True, ema_momentum=MOMENTUM)
    seen = []

    class Validated(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append((logs["val_loss"], self.model.get_weights()))

    fit(model, Validated(), UseMovingAverage(), epochs=1)
    ((loss, weights),) = seen
    other = with_sgd()
    other.set_weights(weights)
    np.testing.assert_allclose(other.evaluate(X, Y, verbose=0), loss, rtol=1e-5)
