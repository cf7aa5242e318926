"""Mistakes on the way to several devices and workers, and the tests that must notice them."""

from mutation import Mutation

MUTATIONS = [
    Mutation(
        "replicas do not sum their gradients",
        "training/adam.py",
        "sum_over_replicas(grads) if on_tensorflow() else grads",
        "grads",
        "training/test_strategies.py::test_two_replicas_update_like_one",
    ),
    Mutation(
        "replicas accumulate for ever",
        "training/adam.py",
        "ops.where(is_due, ops.zeros_like(total), total)",
        "total",
        "training/test_strategies.py::test_two_replicas_update_like_one",
    ),
    Mutation(
        "replicas drop the same units",
        "layers/tensorflow_ops.py",
        "SEEDS_APART = 2**31",
        "SEEDS_APART = 0",
        "training/test_strategies.py::"
        "test_replicas_drop_different_units_and_one_device_what_it_always_did",
    ),
    Mutation(
        "all replicas get the first rows",
        "data/epochs.py",
        "rows[replica * size : (replica + 1) * size]",
        "rows[:size]",
        "tasks/test_train_on_many.py::test_after_twenty_steps_two_are_where_one_is[mirrored]",
    ),
    Mutation(
        "the loss of an epoch weighs batches by their rows",
        "tasks/preparation.py",
        "metrics = [ReadyMeanLoss(), ReadyAccuracy(), ReadyPerplexity()]",
        "metrics = [ReadyAccuracy(), ReadyPerplexity()]",
        "tasks/test_train_on_many.py::test_after_twenty_steps_two_are_where_one_is[mirrored]",
    ),
    Mutation(
        "numbers are reduced along an axis",
        "training/strategies.py",
        "if local.shape.rank == 0:",
        "if False:",
        "training/test_strategies.py::"
        "test_a_plain_keras_model_fits_on_two_workers_and_not_without_us",
    ),
    Mutation(
        "one worker alone is not heard",
        "training/workers.py",
        'self._meet(np.array([flag], "int32")) > 0',
        'self._meet(np.array([flag], "int32")) > 1',
        "training/test_workers.py::test_workers_agree",
    ),
    Mutation(
        "only the chief hears its errors",
        "training/workers.py",
        'if "error" in said:',
        "if False:",
        "training/test_workers.py::test_workers_agree",
    ),
    Mutation(
        "workers may have other sentences",
        "tasks/job.py",
        'self.workers.check_equal("sentences", fingerprint)',
        "pass",
        "tasks/test_train_on_many.py::test_workers_with_other_sentences_stop",
    ),
    Mutation(
        "a worker that is asked to end tells nobody",
        "tasks/interrupts.py",
        "not self.checkpoints.end_is_near() and self.agree(self.wanted)",
        "not self.checkpoints.end_is_near() and self.wanted",
        "tasks/test_lost_workers.py::test_asked_to_end_all_save_and_say_that_they_can_go_on[1]",
    ),
    Mutation(
        "resumed workers keep their own weights",
        "tasks/job.py",
        "self.workers.share_variables(all_variables(network))",
        "pass",
        "tasks/test_train_on_many.py::test_a_training_moves_from_one_to_two_to_workers_and_back",
    ),
    Mutation(
        "several steps at a time count as one",
        "training/progress.py",
        'done = self.first + min(batch + 1, self.params["steps"])',
        "done = self.progress.step_in_epoch + 1",
        "tasks/test_train_on_many.py::test_several_steps_at_a_time_change_nothing",
    ),
    Mutation(
        "larger batches keep their learning rate",
        "tasks/training_settings.py",
        "learning_rate=self.learning_rate and self.learning_rate * math.sqrt(self.scale)",
        "learning_rate=self.learning_rate",
        "tasks/test_train_on_many.py::test_larger_batches_get_a_larger_rate_and_fewer_steps",
    ),
    Mutation(
        "the others go on when a worker has died",
        "../keras_transformer_launch.py",
        "elif waited > LEAVE and not told:",
        "elif False:",
        "test_launch.py::test_when_one_dies_all_are_stopped_and_its_code_counts",
    ),
]
