"""Which combinations of options are tested: all, or so many that every pair occurs."""

import itertools
import random

import numpy as np

from keras_transformer import DecoderBlock, EncoderBlock

DIM, HEADS = 8, 4

OPTIONS = {
    "norm_first": (False, True),
    "norm": ("layer", "rms"),
    "attention_positions": (None, "rotary", "alibi", "relative"),
    "num_kv_heads": (4, 2, 1),
    "head_dim": (None, 4),
    "feed_forward": ("relu", "swiglu"),
}

BLOCKS = ("encoder", "decoder", "language_model")


def full_product(options):
    """Every combination, as dicts."""
    return [dict(zip(options, c, strict=True)) for c in itertools.product(*options.values())]


def pairwise(options):
    """A small set of combinations in which every pair of values of two options occurs.

    Greedy: of all combinations, take the one with the most pairs not seen yet. How many that takes
    depends on the order of the candidates, so some orders are tried.
    """

    def pairs(combination):
        return set(itertools.combinations(combination.items(), 2))

    def cover(candidates):
        missing = set().union(*map(pairs, candidates))
        while missing:
            best = max(candidates, key=lambda c: len(pairs(c) & missing))
            missing -= pairs(best)
            yield best

    every = full_product(options)
    orders = [random.Random(seed).sample(every, len(every)) for seed in range(10)]
    return min((list(cover(order)) for order in orders), key=len)


def make_block(kind, feed_forward="relu", **options):
    """One of the three kinds of block, small."""
    activation = {"relu": {}, "swiglu": {"activation": "silu", "gated": True}}[feed_forward]
    options = {"dim": DIM, "num_heads": HEADS, "ffn_dim": 16, **activation, **options}
    if kind == "encoder":
        return EncoderBlock(**options)
    return DecoderBlock(cross_attention=kind == "decoder", **options)


def block_inputs(kind, batch=3, length=5, memory_length=7, seed=0):
    """Vectors for that kind of block, by argument name."""
    noise = np.random.default_rng(seed)
    inputs = {"x": noise.normal(size=(batch, length, DIM)).astype("float32")}
    if kind == "decoder":
        inputs["memory"] = noise.normal(size=(batch, memory_length, DIM)).astype("float32")
    return inputs


def attention_masks(kind):
    """The block's arguments for masks of pairs, and what they pair."""
    masks = {"attention_mask": ("x", "x")}
    return {**masks, "memory_attention_mask": ("x", "memory")} if kind == "decoder" else masks
