"""A loop over a batch that gets smaller as its rows come to their end; TensorFlow's graphs only."""

import keras
import tensorflow as tf

# With fewer of its rows left than this, a batch is made smaller. Doing so copies what is left.
ENOUGH = 0.75
# A state gets room for so many rounds at a time, or for a quarter of those it has behind it: making
# room copies what is there, and room that nobody uses yet is computed with all the same.
ROUNDS = 16


def shrinking_while_loop(goes_on, advance, loop, running, results, take, enlarge=None):
    """`keras.ops.while_loop`, with only those rows in it that have not ended.

    Args:
        goes_on: a function of the loop's variables, whether there is a next round.
        advance: a function of the loop's variables to the same after one round.
        loop: the variables, a tuple of nests of tensors, with B rows; the first is the number of
            rounds so far, a scalar.
        running: a function of the variables to (B,), which rows have not ended.
        results: a function of the variables to a tuple of tensors with a row for each of the batch:
            what is wanted of a row once it has ended.
        take: a function `take(loop, rows) -> loop` that takes these rows of the batch.
        enlarge: a function of the last variable to the same with room for so many rounds; it has
            room for all of them unless this is given.

    Returns:
        The results of all rows, in their order.
    """
    count = tf.shape(running(*loop))[0]

    def is_any_left(rows, found, loop):
        return tf.logical_and(tf.size(rows) > 0, goes_on(*loop))

    def run_until_many_have_ended(rows, found, loop):
        enough = tf.cast(tf.math.ceil(tf.cast(tf.size(rows), "float32") * ENOUGH), "int32")
        until = tf.int32.max
        if enlarge is not None:
            until = room_for(loop[0])
            loop = (*loop[:-1], enlarge(loop[-1], until))

        def are_enough_left(*loop):
            left = tf.math.count_nonzero(running(*loop), dtype="int32")
            return (left >= enough) & (loop[0] < until) & goes_on(*loop)

        loop = _while_loop(are_enough_left, advance, loop, enlarge is not None)
        found = tuple(
            tf.tensor_scatter_nd_update(every, rows[:, None], some)
            for every, some in zip(found, results(*loop), strict=True)
        )
        left = tf.cast(tf.where(running(*loop))[:, 0], "int32")
        return tf.gather(rows, left), found, take(loop, left)

    variables = (tf.range(count), results(*loop), loop)
    return _while_loop(is_any_left, run_until_many_have_ended, variables, enlarge is not None)[1]


def room_for(rounds):
    """For how many rounds there should be room after so many: never less than for fewer.

    >>> [int(room_for(rounds)) for rounds in (0, 15, 16, 64, 300, 512)]
    [16, 16, 32, 80, 320, 640]
    """
    more = ROUNDS * tf.maximum(rounds // (4 * ROUNDS), 1)
    return (rounds // more + 1) * more


def _while_loop(condition, body, variables, makes_room):
    """`tf.while_loop` in which every dimension may change but the last.

    Where there is no room and nobody makes any, that stays known: a step says so.
    """

    def shape_of(x):
        if len(x.shape) < 2:
            return tf.TensorShape([None] * len(x.shape))
        _, *between, last = x.shape
        between = [0 if size == 0 and not makes_room else None for size in between]
        return tf.TensorShape([None, *between, last])

    shapes = keras.tree.map_structure(shape_of, variables)
    return tf.while_loop(condition, body, variables, shape_invariants=shapes)
