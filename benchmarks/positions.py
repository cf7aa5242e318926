"""How long it takes a model to begin to read, by the kind of its positions.

    python benchmarks/positions.py

Two sentences say who went where, a question asks for one of them: "Anna went to the attic. Ben went
to the cellar. Where is Ben? Ben is in the ..." Half of the answers are right without reading. Then,
within a few dozen steps, nearly all are: the model has found out that a place belongs to the person
four words before it. The table has the step at which that was so, for several seeds.
"""

import argparse
import time

import keras
import numpy as np
import tensorflow as tf

from keras_transformer import Transformer
from keras_transformer.models.transformer import POSITIONS

PEOPLE, PLACES = range(20, 30), range(30, 38)
START, END, WENT, TO, THE, STOP, WHERE, IS, ASKED, IN = range(1, 11)
VOCAB_SIZE = 38
STORIES = 128  # a step
PLACE = 4  # of the answer's tokens
RIGHT = 0.97  # of the answers of the last 50 steps


def main(seeds, most_steps):
    """Prints a line for each kind of positions."""
    print(f"{'positions':10} {'norm':5} steps, by seed (seconds)")
    for positions in POSITIONS:
        for norm_first in (False, True):
            found = [steps_to_read(positions, norm_first, seed, most_steps) for seed in seeds]
            text = ", ".join(
                f"{steps if steps else f'> {most_steps}'} ({seconds:.0f})"
                for steps, seconds in found
            )
            print(f"{positions:10} {'first' if norm_first else 'last':5} {text}", flush=True)


def steps_to_read(positions, norm_first, seed, most_steps):
    """After how many steps the model reads, or None; and the seconds."""
    keras.utils.set_random_seed(seed)
    random = np.random.default_rng(seed)
    model = Transformer(
        VOCAB_SIZE,
        dim=64,
        num_heads=4,
        ffn_dim=256,
        num_layers=2,
        dropout=0.0,
        norm_first=norm_first,
        positions=positions,
    )
    optimizer = keras.optimizers.Adam(0.001, beta_2=0.98, global_clipnorm=1.0)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(source, target, labels):
        with tf.GradientTape() as tape:
            logits = model({"source": source, "target": target}, training=True)
            loss = keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
            loss = tf.reduce_mean(loss)
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        said = tf.argmax(logits[:, PLACE], axis=-1, output_type="int32")
        return tf.reduce_mean(tf.cast(said == labels[:, PLACE], "float32"))

    began, right = time.perf_counter(), []
    for number in range(1, most_steps + 1):
        right.append(float(step(*map(tf.constant, make_stories(random)))))
        if number >= 50 and np.mean(right[-50:]) > RIGHT:
            return number, time.perf_counter() - began
    return None, time.perf_counter() - began


def make_stories(random):
    """Sources, targets and labels of a step."""
    people = np.stack([random.choice(PEOPLE, 2, replace=False) for _ in range(STORIES)], 1)
    places = np.stack([random.choice(PLACES, 2, replace=False) for _ in range(STORIES)], 1)
    which = random.integers(0, 2, STORIES)
    who, where = (np.where(which, x[1], x[0]) for x in (people, places))
    told = [
        word
        for person, place in zip(people, places, strict=True)
        for word in (person, WENT, TO, THE, place, STOP)
    ]
    source = rows([*told, WHERE, IS, who, ASKED, END])
    labels = rows([who, IS, IN, THE, where, STOP, END])
    target = np.concatenate([np.full_like(labels[:, :1], START), labels[:, :-1]], axis=1)
    return source, target, labels


def rows(words):
    """(STORIES, T) ids of words that are the same in all stories or not."""
    return np.stack([np.broadcast_to(word, STORIES) for word in words], axis=1).astype("int32")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--most-steps", type=int, default=1500)
    arguments = parser.parse_args()
    main(arguments.seeds, arguments.most_steps)
