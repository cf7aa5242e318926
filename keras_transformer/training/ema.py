"""A moving average of the weights, for validation and for the saved model."""

import keras


class UseMovingAverage(keras.callbacks.Callback):
    """Puts the moving average in the place of the weights from validation to the epoch's end.

    In the list of callbacks it comes after those that save the model for use and before
    `Checkpoints`, which save the weights themselves, and the average with the optimizer. The
    optimizer must have `use_ema=True`.
    """

    def on_train_begin(self, logs=None):
        self.swapped = False
        # Keras would end `fit` with the average in place of the weights; but a resumed training
        # calls it twice.
        self.model.optimizer.finalize_variable_values = lambda variables: None

    def on_test_begin(self, logs=None):
        self._swap()

    def on_epoch_end(self, epoch, logs=None):
        if self.swapped:
            self._swap()

    def _swap(self):
        optimizer = self.model.optimizer
        averages = optimizer._model_variables_moving_average
        for variable, average in zip(self.model.trainable_variables, averages, strict=True):
            value = keras.ops.copy(variable.value)
            variable.assign(average)
            average.assign(value)
        self.swapped = not self.swapped
