"""Our blocks against KerasHub's, one layer at a time: microseconds a token.

    python -m benchmarks.layer_speed
    python -m benchmarks.layer_speed --widths 128 --rounds 3

Forward alone as in inference, and forward and backward as in training, over a grid of widths,
lengths and batches. Plain TensorFlow graphs with known shapes, float32, a padding mask, dropout 0.1
in training wherever a layer has it: KerasHub's on attention weights and what sublayers give, ours
on inner activations as well. Feed-forward networks are four times as wide as the model.
"""

import argparse
import time

import numpy as np

from benchmarks.contest import Contestant, compete
from benchmarks.report import OURS, PEERS, pyplot, ratio, save, spread, verdict, write_json

WIDTHS = (128, 256, 512)
SHAPES = ((8, 16), (64, 16), (8, 64), (64, 64), (8, 256))  # batch, length
BLOCKS = ("encoder block", "decoder block", "self-attention", "embedding")
MODES = ("forward", "forward and backward")
VOCAB_SIZE, HEAD_DIM, DROPOUT = 8000, 32, 0.1
US, THEM = "ours", "KerasHub"


def main(widths, rounds, out):
    """Measures and reports."""
    rows = compete(
        [Contestant(name, layers, {"who": name, "widths": widths}) for name in (US, THEM)], rounds
    )
    results = {}
    print("\nTokens a second of ours over KerasHub's: median (lowest to highest)")
    for block in BLOCKS:
        for mode in MODES:
            print(f"{block}, {mode}")
            for width in widths:
                line = f"  {width:4} wide"
                for shape in SHAPES:
                    cell = (block, mode, width, *shape)
                    ours, theirs = ([figures[cell] for figures in rows[who]] for who in (US, THEM))
                    times_faster = ratio(theirs, ours)
                    results[" / ".join(map(str, cell))] = {
                        US: ours,
                        THEM: theirs,
                        "ratio": times_faster,
                        "verdict": verdict([-t for t in ours], [-t for t in theirs]),
                    }
                    line += f"   {shape[0]} x {shape[1]}: {times_faster['median']:.2f}"
                    line += f" ({times_faster['low']:.2f}-{times_faster['high']:.2f})"
                print(line)
    means = mean_ratios(results)
    print("\nThe geometric mean of these medians over all shapes")
    for name, mean in means.items():
        print(f"  {name}: {mean:.2f}")
    write_json(
        out,
        "layer_speed",
        question="seconds of one layer, by block / mode / width / batch / length",
        command=f"python -m benchmarks.layer_speed --rounds {rounds}",
        dropout=DROPOUT,
        vocab_size=VOCAB_SIZE,
        cells=results,
        mean_ratios=means,
    )
    draw(out, widths, results)


def mean_ratios(results):
    """The geometric mean over all shapes of how many times as fast ours is, by block, mode, width.

    Args:
        results: as in the JSON file, by "block / mode / width / batch / length".
    """
    medians = {}
    for cell, figures in results.items():
        block, mode, width, *_ = cell.split(" / ")
        name = f"{block}, {mode}, {width} wide"
        medians.setdefault(name, []).append(figures["ratio"]["median"])
    return {name: float(np.exp(np.mean(np.log(values)))) for name, values in medians.items()}


def layers(who, widths):
    """The work: all cells, each for a moment."""
    import keras
    import tensorflow as tf

    from keras_transformer.tasks.memory import keep_memory

    keep_memory()
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    runs = {}
    for width in widths:
        made = our_layers(width) if who == US else their_layers(width)
        for batch, length in SHAPES:
            x = tf.constant(random.normal(size=(batch, length, width)), "float32")
            ids = tf.constant(random.integers(1, VOCAB_SIZE, (batch, length)), "int32")
            mask = tf.constant(np.arange(length) < random.integers(length // 2, length, (batch, 1)))
            for block, (layer, call) in made.items():
                call(layer, x, ids, mask)  # builds it
                for mode in MODES:
                    run = graph(layer, call, x, ids, mask, mode == MODES[1])
                    runs[(block, mode, width, batch, length)] = run

    def work():
        return {cell: seconds_of(run) for cell, run in runs.items()}

    return work


def graph(layer, call, x, ids, mask, training):
    """The layer as a function without arguments."""
    import tensorflow as tf

    @tf.function(jit_compile=False)
    def forward():
        return call(layer, x, ids, mask)

    @tf.function(jit_compile=False)
    def forward_and_backward():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(layer, x, ids, mask, training=True)
        return tape.gradient(
            y, [x, *(v.value for v in layer.trainable_variables)], unconnected_gradients="zero"
        )

    return forward_and_backward if training else forward


def seconds_of(run, at_least=0.1):
    """Median time of a call, over a tenth of a second and five calls at least."""
    seconds = []
    while sum(seconds) < at_least or len(seconds) < 5:
        began = time.perf_counter()
        result = run()
        (result[0] if isinstance(result, list) else result).numpy()
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def our_layers(width):
    """Ours: each layer, and how it is called with vectors, ids and a mask."""
    from keras_transformer import (
        DecoderBlock,
        EncoderBlock,
        MultiHeadSelfAttention,
        PositionalEmbedding,
    )

    heads, ffn_dim = width // HEAD_DIM, 4 * width
    return {
        "encoder block": (
            EncoderBlock(width, heads, ffn_dim, dropout=DROPOUT),
            lambda layer, x, ids, mask, **mode: layer(x, mask=mask, **mode),
        ),
        "decoder block": (
            DecoderBlock(width, heads, ffn_dim, dropout=DROPOUT),
            lambda layer, x, ids, mask, **mode: layer(x, x, x_mask=mask, memory_mask=mask, **mode),
        ),
        "self-attention": (
            MultiHeadSelfAttention(width, heads, dropout=DROPOUT),
            lambda layer, x, ids, mask, **mode: layer(x, mask=mask, **mode),
        ),
        "embedding": (
            PositionalEmbedding(VOCAB_SIZE, width, 256, positions="learned"),
            lambda layer, x, ids, mask, **mode: layer(ids),
        ),
    }


def their_layers(width):
    """KerasHub's, likewise; the attention is Keras's, which KerasHub's blocks are made of."""
    import keras
    import keras_hub

    heads, ffn_dim = width // HEAD_DIM, 4 * width
    return {
        "encoder block": (
            keras_hub.layers.TransformerEncoder(ffn_dim, heads, dropout=DROPOUT),
            lambda layer, x, ids, mask, **mode: layer(x, padding_mask=mask, **mode),
        ),
        "decoder block": (
            keras_hub.layers.TransformerDecoder(ffn_dim, heads, dropout=DROPOUT),
            lambda layer, x, ids, mask, **mode: layer(
                x, x, decoder_padding_mask=mask, encoder_padding_mask=mask, **mode
            ),
        ),
        "self-attention": (
            keras.layers.MultiHeadAttention(heads, HEAD_DIM, dropout=DROPOUT),
            lambda layer, x, ids, mask, **mode: layer(x, x, attention_mask=mask[:, None], **mode),
        ),
        "embedding": (
            keras_hub.layers.TokenAndPositionEmbedding(VOCAB_SIZE, 256, width, mask_zero=True),
            lambda layer, x, ids, mask, **mode: layer(ids),
        ),
    }


def draw(out, widths, results):
    """Microseconds a token, ours and theirs."""
    figure, panels = pyplot().subplots(
        len(BLOCKS), len(MODES), figsize=(10, 2.3 * len(BLOCKS)), squeeze=False
    )
    cells = [(width, *shape) for width in widths for shape in SHAPES]
    places = np.arange(len(cells))
    for row, block in zip(panels, BLOCKS, strict=True):
        for panel, mode in zip(row, MODES, strict=True):
            for who, color, shift in ((US, OURS, -0.2), (THEM, PEERS, 0.2)):
                per_token = [
                    1e6
                    * spread(results[" / ".join(map(str, (block, mode, *cell)))][who])["median"]
                    / (cell[1] * cell[2])
                    for cell in cells
                ]
                panel.bar(places + shift, per_token, 0.4, color=color, label=who)
            panel.set_title(f"{block}, {mode}", fontsize=9, loc="left")
            panel.set_xticks(places, [f"{w}\n{b}x{n}" for w, b, n in cells], fontsize=5)
            panel.tick_params(axis="y", labelsize=7)
            panel.spines[["top", "right"]].set_visible(False)
    panels[0, 0].legend(fontsize=7, frameon=False)
    panels[0, 0].set_ylabel("µs a token", fontsize=7)
    figure.suptitle("One layer: width, batch x length", fontsize=10)
    save(figure, out, "layer_speed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="build/bench", help="folder for JSON and pictures")
    main(**vars(parser.parse_args()))
