"""Learns to reverse strings of digits with an encoder-decoder stacked by hand.

    python examples/reverse_digits.py

    source    3 1 4 1 5 9 2 6
    target    6 2 9 5 1 4 1 3

A translation in small: no word has its place kept, and the decoder must look at the right digit of
the source at each step. About a minute on two cores; held-out strings come out without a mistake.
"""

import argparse
from pathlib import Path

import keras
import numpy as np

from keras_transformer import DecoderBlock, EncoderBlock, PositionalEmbedding

PADDING, START, END, FIRST_DIGIT = 0, 1, 2, 3
VOCAB_SIZE = FIRST_DIGIT + 10
LONGEST = 10
DIM = 64


def make_strings(count, seed):
    """That many different strings of 5 to 10 digits."""
    random = np.random.default_rng(seed)
    strings = {}
    while len(strings) < count:
        digits = random.integers(0, 10, size=random.integers(5, LONGEST + 1))
        strings["".join(map(str, digits))] = None
    return list(strings)


def to_ids(strings, start=False, end=False):
    """Strings as rows of ids, padded with 0."""
    ids = np.full((len(strings), LONGEST + 1), PADDING, "int32")
    for row, string in zip(ids, strings, strict=True):
        tokens = [FIRST_DIGIT + int(digit) for digit in string]
        tokens = [START] * start + tokens + [END] * end
        row[: len(tokens)] = tokens
    return ids


def to_strings(ids):
    """The digits of each row up to its end."""
    rows = [row[: [*row, END].index(END)] for row in ids]
    return ["".join(str(i - FIRST_DIGIT) for i in row if i >= FIRST_DIGIT) for row in rows]


def make_model():
    """Two encoder blocks, two decoder blocks, one embedding for source, target and output."""
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    embedding = PositionalEmbedding(VOCAB_SIZE, DIM, max_length=LONGEST + 1)

    memory = embedding(source)
    for _ in range(2):
        memory = EncoderBlock(DIM, num_heads=4, ffn_dim=128)(memory)

    x = embedding(target)
    for _ in range(2):
        x = DecoderBlock(DIM, num_heads=4, ffn_dim=128)(x, memory)

    logits = embedding(x, reverse=True)
    return keras.Model({"source": source, "target": target}, logits)


def reverse(model, strings):
    """Greedy decoding: the likeliest next digit of all strings, one position after the other."""
    source = to_ids(strings, end=True)
    target = np.full((len(strings), LONGEST + 2), PADDING, "int32")
    target[:, 0] = START
    for t in range(LONGEST + 1):
        # One shape for all steps: what is not written yet is padding, and in the future.
        logits = model.predict({"source": source, "target": target[:, :-1]}, verbose=0)
        target[:, t + 1] = logits[:, t, START + 1 :].argmax(-1) + START + 1
    return to_strings(target[:, 1:])


def exact_match(model, strings):
    """The share of strings that come out reversed without a mistake."""
    return np.mean([o == s[::-1] for o, s in zip(reverse(model, strings), strings, strict=True)])


def main(steps=700, batch_size=128, out="runs/reverse_digits"):
    keras.utils.set_random_seed(0)
    strings = make_strings(steps * batch_size + 500, seed=0)
    held_out, train = strings[:500], strings[500:]
    backwards = [string[::-1] for string in train]

    model = make_model()
    # Keras would compile the step with XLA, which takes longer here than it saves.
    model.compile(
        keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, steps)),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=["accuracy"],
        jit_compile=False,
    )
    print(f"Training on {len(train):,} strings of digits, each seen once.")
    model.fit(
        {"source": to_ids(train, end=True), "target": to_ids(backwards, start=True)},
        to_ids(backwards, end=True),
        batch_size=batch_size,
    )

    for string, output in zip(held_out[:5], reverse(model, held_out[:5]), strict=True):
        print(f"  {string:>10} -> {output}")
    print(f"Exact match on {len(held_out)} held-out strings: {exact_match(model, held_out):.1%}")

    path = Path(out) / "model.keras"
    path.parent.mkdir(parents=True, exist_ok=True)
    model.save(path)
    loaded = keras.models.load_model(path)
    print(f"Saved as {path}; loaded again: {exact_match(loaded, held_out):.1%}")
    return loaded


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=700, help="training steps (%(default)s)")
    parser.add_argument("--out", default="runs/reverse_digits", help="folder (%(default)s)")
    main(**vars(parser.parse_args()))
