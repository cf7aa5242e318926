"""Greedy decoding with code that XLA has compiled for a few shapes.

A plain graph spends much of a decoding step on finding out which small operation comes next, and
passes large tensors through memory between them; with one sentence in the batch that is most of the
time. XLA makes one piece of code of the whole loop, for one number of sentences and one length of
the source: batches are padded to a few of each.
"""

import hashlib
import threading

import keras
import numpy as np
import tensorflow as tf
from keras import ops
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from keras_transformer.decoding.greedy import choose_likeliest
from keras_transformer.decoding.rows import take_rows
from keras_transformer.decoding.token_by_token import Writing
from keras_transformer.export.translation import LONGER_BY
from keras_transformer.layers.tensorflow_ops import for_xla
from keras_transformer.text import END, START

# Numbers of sentences there is code for. When most sentences of a batch have ended, the others go
# on in a smaller one; with more sizes in between, moving them costs what it saves.
SIZES = (1, 8, 32, 64)
LARGE = 2**14  # bytes


class CompiledGreedy:
    """Greedy decoding; finds what `Translation.search` finds.

    Every shape is compiled when it first occurs, which takes seconds. The model's weights are
    looked up once and for all: they must not change any more. All pieces of code use the same ones,
    so that they stay in the CPU's caches when sentences of different lengths follow each other.

    Args:
        translation: a `Translation`.
    """

    def __init__(self, translation):
        if translation.beam_size != 1:
            raise ValueError(
                f"Only greedy decoding is compiled. Received: beam_size={translation.beam_size}"
            )
        self.translation = translation
        model = translation.model
        self.step = model.make_step() if hasattr(model, "make_step") else model.step
        self.compiled, self.weights, self.one_at_a_time = {}, Weights(), threading.Lock()

    def __call__(self, sentences):
        """Source ids of sentences to those of their translations.

        Args:
            sentences: lists of ids with the end token, best of similar length.

        Returns:
            For each a list of ids, with the end token if it came, and its score.
        """
        longest = self.translation.longest
        for ids in sentences:
            if not 1 <= len(ids) <= longest:
                raise ValueError(
                    f"A sentence has 1 to {longest} ids, the end token included. "
                    f"Received: one of {len(ids)}"
                )
        most = SIZES[-1]
        parts = [sentences[i : i + most] for i in range(0, len(sentences), most)]
        return [found for part in parts for found in self._decode(part)]

    def _decode(self, sentences):
        size, length = size_for(len(sentences)), self.padded_length(max(map(len, sentences)))
        source, limits = np.zeros((size, length), "int32"), np.zeros(size, "int32")
        for i, ids in enumerate(sentences):
            source[i, : len(ids)] = ids
            limits[i] = min(len(ids) - 1 + LONGER_BY, self.translation.longest)
        found, rows = [None] * size, np.arange(size)
        # As tensors: arrays would cost a tenth of a millisecond.
        limit_of, source, limits = limits.tolist(), tf.constant(source), tf.constant(limits)
        code = self._begin(size, length, self.room(length))
        loop = code(source, limits)
        while True:
            running, written, scores = (loop[i].numpy() for i in (1, 4, 5))
            for row, ids, score in zip(rows, written.tolist(), scores.tolist(), strict=True):
                found[row] = until_end(ids[: limit_of[row]]), score
            if not running.any():
                return found[: len(sentences)]
            if not next_smaller(size):  # too little room, and no state to go on with
                loop = self._begin(size, length, self.most_room(length))(source, limits)
                continue
            left = max(np.count_nonzero(running), 2)  # size 1 is for sentences that come alone
            code = self._go_on(code.variables, size_for(left), length)
            taken = np.argsort(~running, kind="stable")[: code.size].astype("int32")
            loop, rows = code(tf.constant(taken), *loop), rows[taken]

    def warm_up(self, longest, sentences=1):
        """Compiles the code for so many sentences, of so many tokens with the end token, at most.

        What is rare is still compiled when it occurs: for translations half as long again as their
        source, and for batches of which most sentences end at once.

        Args:
            longest: of the sources.
            sentences: at a time.
        """
        sizes = [size for size in SIZES if size <= size_for(min(sentences, SIZES[-1]))]
        for length in sorted({self.padded_length(n) for n in range(1, longest + 1)}):
            for size in sizes:
                code = self._begin(size, length, self.room(length))
                if next_smaller(size):
                    self._go_on(code.variables, next_smaller(size), length)

    def padded_length(self, length):
        """The length that a sentence of so many tokens is padded to."""
        step = 8 if length <= 64 else 64
        return min(-(-length // step) * step, self.translation.longest)

    def room(self, length):
        """For how many tokens there is room at first when the source has this padded length."""
        most = self.most_room(length)
        if not hasattr(self.translation.model, "enlarge"):
            return most
        return min(length + length // 2 + 8, most)

    def most_room(self, length):
        """For how many tokens there is room for the last few sentences: for all there may be."""
        return min(length + LONGER_BY, self.translation.longest)

    def _begin(self, size, length, room):
        """From sources and limits to the loop's variables when it is time for another size."""

        def begin(source, limits):
            writing = self._writing(room)
            state = self.translation.model.start(source, writing.max_length)
            loop = writing.begin(state, ops.full((size,), START), limits)
            return until_another_size(writing, loop, size)

        specs = [tf.TensorSpec((size, length), tf.int32), tf.TensorSpec((size,), tf.int32)]
        return self._compiled((size, length, room), begin, specs)

    def _go_on(self, variables, size, length):
        """From the loop's variables to those at this size, of some of the rows.

        The last few sentences get more room; and so do those that have used up theirs, which is
        why they are not fewer yet.
        """
        before, room = variables[4].shape
        more = size == before or not next_smaller(size)
        writing = self._writing(self.most_room(length) if more else room)

        def go_on(rows, *flat):
            loop = keras.tree.pack_sequence_as(variables, list(flat))
            *loop, written, scores, state = take_rows(loop, rows)
            written = ops.pad(written, ((0, 0), (0, writing.max_length - room)))
            if writing.max_length > room:
                state = self.translation.model.enlarge(state, writing.max_length)
            loop = (*loop, written, scores, state)
            return until_another_size(writing, loop, size)

        specs = [tf.TensorSpec((size,), tf.int32), *keras.tree.flatten(variables)]
        return self._compiled((before, room, size, length), go_on, specs)

    def _writing(self, room):
        return Writing(choose_likeliest, self.step, room, END)

    def _compiled(self, key, function, specs):
        if key not in self.compiled:
            with self.one_at_a_time:
                if key not in self.compiled:
                    self.compiled[key] = Compiled(function, specs, self.weights)
        return self.compiled[key]


class Weights:
    """Large tensors that several graphs have in common, each of them in memory once."""

    def __init__(self):
        self.tensors = {}

    def take_from(self, graph):
        """The large constants of a graph, by the names of their tensors.

        Args:
            graph: a `GraphDef`.
        """
        found = {}
        for node in graph.node:
            if node.op != "Const":
                continue
            value = node.attr["value"].tensor
            if len(value.tensor_content) >= LARGE:
                array = tf.make_ndarray(value)
                key = (array.dtype, array.shape, hashlib.sha256(value.tensor_content).digest())
                found[f"{node.name}:0"] = self.tensors.setdefault(key, tf.constant(array))
        return found


class Compiled:
    """A function of tensors as XLA's code, with the values that variables have now.

    Variables would have to be looked up in every call. Large ones become arguments, small ones
    constants.

    Args:
        function: of tensors to a nest of tensors.
        specs: of the tensors.
        weights: `Weights`, where large ones are kept.

    Attributes:
        variables: the nest, of specs.
        size: the first dimension of the first tensor.
    """

    def __init__(self, function, specs, weights=None):
        self.size = specs[0].shape[0]
        with for_xla():
            traced = tf.function(function, input_signature=specs).get_concrete_function()
        self.variables = keras.tree.map_structure(
            lambda x: tf.TensorSpec(x.shape, x.dtype), traced.structured_outputs
        )
        # `lower_control_flow` would turn the loop into something that XLA does not take.
        constant = convert_variables_to_constants_v2(traced, lower_control_flow=False)
        graph = constant.graph.as_graph_def()
        large = (weights or Weights()).take_from(graph)
        inputs, outputs = ([x.name for x in xs] for xs in (constant.inputs, constant.outputs))
        given = {name.removesuffix(":0") for name in (*inputs, *large)}
        rest = tf.compat.v1.GraphDef(library=graph.library, versions=graph.versions)
        rest.node.extend(node for node in graph.node if node.name not in given)

        def call(*tensors):
            arguments = dict(zip(inputs, tensors, strict=True))
            arguments.update({name: tf.identity(tensor) for name, tensor in large.items()})
            return tf.graph_util.import_graph_def(rest, arguments, outputs)

        self.call = tf.function(call, input_signature=specs, jit_compile=True)
        self.call = self.call.get_concrete_function()
        self(*(tf.zeros(spec.shape, spec.dtype) for spec in specs))  # compiles it

    def __call__(self, *tensors):
        """The nest's tensors, one after the other."""
        return self.call(*tensors)


def until_another_size(writing, loop, size):
    """The loop's variables when it is time for a smaller size; at the last, without the state.

    The state is many tensors, and handing them out takes a twentieth of the time of one sentence.
    """
    *loop, state = writing.go_on(loop, next_smaller(size))
    return (*loop, state) if next_smaller(size) else tuple(loop)


def size_for(count):
    """The size of batch that so many sentences are decoded in."""
    return next(size for size in SIZES if size >= count)


def next_smaller(size):
    """The size in which a batch of this size goes on; 0 if it stays as it is to the end.

    >>> [next_smaller(size) for size in SIZES]
    [0, 0, 8, 32]
    """
    return max((smaller for smaller in SIZES if 1 < smaller < size), default=0)


def until_end(ids):
    """Ids up to the end token, which is among them; all, if it has not come.

    >>> until_end([5, 6, END, 0]), until_end([5, 6])
    ([5, 6, 2], [5, 6])
    """
    return ids[: ids.index(END) + 1] if END in ids else ids
