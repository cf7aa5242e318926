"""Translating one sentence at a time with code that XLA has compiled for its length.

A plain graph spends most of a decoding step on finding out which small operation comes next; with
one sentence in the batch, several times as much as on computing. XLA makes one piece of code of the
whole loop, for one length of the source: sentences are padded to a few lengths.
"""

import threading

import numpy as np
import tensorflow as tf
from keras import ops
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from keras_transformer.decoding import greedy
from keras_transformer.export.translation import LONGER_BY
from keras_transformer.layers.tensorflow_ops import for_xla
from keras_transformer.text import END, START


class CompiledGreedy:
    """Greedy decoding of single sentences; finds what `Translation.search` finds.

    Every length is compiled when it first occurs, which takes seconds, and with the weights the
    model has then: as constants, they need not be looked up for every sentence.

    Args:
        translation: a `Translation`.
    """

    def __init__(self, translation):
        if translation.beam_size != 1:
            raise ValueError(
                "Only greedy decoding is compiled for single sentences. "
                f"Received: beam_size={translation.beam_size}"
            )
        self.translation = translation
        self.compiled, self.one_at_a_time = {}, threading.Lock()

    def __call__(self, ids):
        """Source ids, a list with the end token, to those of the translation and its score.

        Returns:
            A list of ids with the end token, and a number; or None if the translation is so long
            that it does not fit into the compiled code's room.
        """
        length = self.padded_length(len(ids))
        source = np.zeros((1, length), "int32")
        source[0, : len(ids)] = ids
        limit = min(len(ids) - 1 + LONGER_BY, self.translation.longest)
        # As tensors: arrays would cost a tenth of a millisecond.
        arguments = tf.constant(source), tf.constant([limit])
        found, score = (x.numpy()[0] for x in self._for_length(length)(*arguments))
        found = found.tolist()
        if END in found:
            return found[: found.index(END) + 1], float(score)
        return (found[:limit], float(score)) if limit <= len(found) else None

    def warm_up(self, longest):
        """Compiles the code for all sentences of at most so many tokens, the end token included."""
        for length in sorted({self.padded_length(n) for n in range(1, longest + 1)}):
            self._for_length(length)

    def padded_length(self, length):
        """The length that a sentence of so many tokens is padded to."""
        step = 8 if length <= 64 else 64
        return min(-(-length // step) * step, self.translation.longest)

    def room(self, length):
        """For how many tokens there is room when the source has this padded length."""
        return min(length + length // 2 + 8, self.translation.longest)

    def _for_length(self, length):
        with self.one_at_a_time:
            if length not in self.compiled:
                self.compiled[length] = self._compile(length)
            return self.compiled[length]

    def _compile(self, length):
        model, room = self.translation.model, self.room(length)
        shapes = [tf.TensorSpec((1, length), tf.int32), tf.TensorSpec((1,), tf.int32)]

        def search(source, limits):
            state = model.start(source, room)
            return greedy(model.step, state, ops.full((1,), START), room, END, limits)

        with for_xla():
            graph = tf.function(search, input_signature=shapes).get_concrete_function()
        # `lower_control_flow` would turn the loop into something that XLA does not take.
        constant = convert_variables_to_constants_v2(graph, lower_control_flow=False)
        compiled = tf.function(
            lambda source, limits: constant(source, limits),
            input_signature=shapes,
            jit_compile=True,
        ).get_concrete_function()
        compiled(tf.fill([1, length], END), tf.ones([1], tf.int32))  # compiles it
        return compiled
