"""Adam in fewer operations."""

import keras
from keras import ops

from keras_transformer.layers.tensorflow_ops import (
    apply_adam,
    is_sparse,
    on_tensorflow,
    replicas,
    sum_over_replicas,
    update_on_all_devices,
)
from keras_transformer.training.registration import register


@register
class Adam(keras.optimizers.Adam):
    """Keras's Adam; on TensorFlow, one operation for each variable instead of twenty.

    Its arguments, its variables and what it computes are those of `keras.optimizers.Adam`, but that
    gradients of several replicas are summed before anything else is done with them: Keras clips,
    and accumulates, what each replica has found, and N replicas would not train like one.
    """

    def apply(self, grads, trainable_variables=None):
        super().apply(sum_over_replicas(grads) if on_tensorflow() else grads, trainable_variables)

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return grads_and_vars  # they are sums already

    def _backend_apply_gradients(self, grads, trainable_variables):
        steps = self.gradient_accumulation_steps
        if not steps or not on_tensorflow() or replicas() == 1:
            super()._backend_apply_gradients(grads, trainable_variables)
            return
        # Keras decides once, around all updates, whether there are any; but replicas can meet to
        # update a variable only outside of such a branch. Here each update has a branch inside.
        indices = [self._get_variable_index(v) for v in trainable_variables]
        sums = [g + self._accumulated_gradients[i] for g, i in zip(grads, indices, strict=True)]
        means = self._clip_gradients([total / steps for total in sums])
        is_due = (self._iterations + 1) % steps == 0
        rate = self.learning_rate

        def update(variable, mean, total, is_due, rate):
            def step():
                if self.weight_decay is not None and self._use_weight_decay(variable):
                    variable.assign_sub(variable * self.weight_decay * rate)
                self.update_step(mean, variable, rate)

            ops.cond(is_due, step, lambda: None)
            accumulator = self._accumulated_gradients[self._get_variable_index(variable)]
            accumulator.value.assign(ops.where(is_due, ops.zeros_like(total), total))

        arguments = [(mean, total, is_due, rate) for mean, total in zip(means, sums, strict=True)]
        update_on_all_devices(update, trainable_variables, arguments)
        if self.use_ema:
            self._update_model_variables_moving_average(self._trainable_variables)

    def update_step(self, gradient, variable, learning_rate):
        if not on_tensorflow() or self.amsgrad or is_sparse(gradient):
            super().update_step(gradient, variable, learning_rate)
            return
        index = self._get_variable_index(variable)
        apply_adam(
            variable,
            self._momentums[index].value,
            self._velocities[index].value,
            gradient,
            learning_rate,
            self.iterations + 1,
            self.beta_1,
            self.beta_2,
            self.epsilon,
        )
