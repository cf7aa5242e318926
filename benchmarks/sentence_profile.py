"""Where the time of sentences goes, one or 64 at a time: the way in and out, the steps.

    python -m benchmarks.sentence_profile      # with the model that `decode_speed` has trained
    python -m benchmarks.sentence_profile --run runs/ende --data DATA

Sentences of 16 tokens are translated with compiled code (`Translator.load(run, compiled=True)`) and
by CTranslate2 with the same weights, one thread each, and made to stop after 1, 2, 4 ... tokens: a
line through these times has the price of a step for its slope, and all else where it begins. The
same is done with nothing but the matrix products of a step, one after the other.

DATA is a folder with Multi30k's tokenised files: then it is also counted how many rows steps have
for its test sentences, since some sentences of a batch end before others.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.contest import KEEP_MEMORY, Contestant, compete
from benchmarks.report import pyplot, save, spread, write_json

LENGTH = 16
STOPS = (1, 2, 4, 8, 12, 16, 24)
BATCHES = (1, 64)
REPEATS = 40
OURS, THEIRS = "ours, XLA", "CTranslate2 float32"
COLORS = {OURS: "#1f5fa8", THEIRS: "#b0b7bf"}


def main(run, data, rounds, out):
    """Measures and reports."""
    from benchmarks.peers.ctranslate2_model import convert
    from keras_transformer.tasks import RunFolder

    with tempfile.TemporaryDirectory() as folder:
        model = RunFolder(run).load_model()
        convert(model, Path(folder) / "float32")
        threads = {"OMP_NUM_THREADS": "1", **KEEP_MEMORY}
        rows = compete(
            [
                Contestant(OURS, ours, {"run": str(run)}, "1", threads),
                Contestant(THEIRS, theirs, {"folder": f"{folder}/float32"}, "1", threads),
            ],
            rounds,
        )
    parts = {
        batch: {name: parts_of([f[batch] for f in of_rounds]) for name, of_rounds in rows.items()}
        for batch in BATCHES
    }
    for batch, of_batch in parts.items():
        print(f"\nMilliseconds, {batch} at a time")
        for name, of_name in of_batch.items():
            for part, s in of_name.items():
                figures = f"{s['median']:.3f} ({s['low']:.3f} to {s['high']:.3f})"
                print(f"  {name:22} {part:34} {figures}")
    read = megabytes_of_a_step(model)
    print(f"  A step reads {read:.1f} MB of weights")
    rows_of_test = rows_computed(run, data) if data else None
    if data:
        print("Rows computed for the test sentences, batches of 64 sorted by length")
        for name, count in rows_of_test.items():
            print(f"  {name:22} {count:,}")
    write_json(
        out,
        "sentence_profile",
        question="where the milliseconds of sentences go",
        command=f"python -m benchmarks.sentence_profile --run RUN --data DATA --rounds {rounds}",
        milliseconds=parts,
        megabytes_of_weights_a_step=read,
        rows_of_test=rows_of_test,
        times=rows,
    )
    draw(out, rows)


def parts_of(of_rounds):
    """Of the times of each round: a step, the products of a step, and all else."""

    def slope_and_start(name):
        lines = [np.polyfit(STOPS, [f[name][n] for n in STOPS], 1) for f in of_rounds]
        return zip(*lines, strict=True)

    steps, starts = slope_and_start("stops")
    parts = {"a step": steps}
    if "products" in of_rounds[0]:
        parts["of that, matrix products"], _ = slope_and_start("products")
    parts["all else"] = starts
    if "a call of nothing" in of_rounds[0]:
        parts["of that, a call of nothing"] = [f["a call of nothing"] for f in of_rounds]
    return {part: spread([float(value) for value in values]) for part, values in parts.items()}


def megabytes_of_a_step(model):
    """Of weights that a step reads: the output's, and the decoder's but those for the memory."""
    of_memory = {w.path for block in model.decoder for w in block.memory_attention.kv.weights}
    weights = [w for block in model.decoder for w in block.weights if w.path not in of_memory]
    weights.append(model.projection.tokens.embeddings)
    return 4 * sum(int(np.prod(w.shape)) for w in weights) / 1e6


def rows_computed(run, data):
    """How many rows steps have, for the test sentences in batches of 64 sorted by length."""
    from benchmarks.multi30k_data import multi30k_files
    from keras_transformer.data import read_pairs
    from keras_transformer.tasks import Translator

    sources = [source for source, _ in read_pairs(*multi30k_files(data, "test_2016_flickr"))[0]]
    translator = Translator.load(run)
    of_source, of_target = translator.tokenizers
    order = np.argsort([len(ids) for ids in of_source.encode(sources)], kind="stable")
    # One more: the end token is written, too.
    lengths = np.array([len(ids) + 1 for ids in of_target.encode(translator(sources))])[order]
    return rows_of_steps(lengths)


def rows_of_steps(lengths):
    """How many rows all steps have together, for translations of these lengths, 64 at a time."""
    from keras_transformer.export.compiled import SIZES, next_smaller

    rows = dict.fromkeys(("tokens", "ours", "nobody leaves"), 0)
    for first in range(0, len(lengths), SIZES[-1]):
        batch, size = lengths[first : first + SIZES[-1]], SIZES[-1]
        for step in range(batch.max()):
            running = np.count_nonzero(batch > step)
            while next_smaller(size) and running <= next_smaller(size):
                size = next_smaller(size)
            rows["tokens"] += running
            rows["ours"] += size
            rows["nobody leaves"] += SIZES[-1]
    return {name: int(count) for name, count in rows.items()}


def median_ms(call):
    """Of a function without arguments, called many times."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return 1e3 * float(np.median(seconds))


def ours(run):
    """Compiled code that never sees the end token, so that it stops only where it is told to."""
    import tensorflow as tf

    from keras_transformer.export import compiled
    from keras_transformer.tasks import Translator

    translator = Translator.load(run, compiled=True)
    compiled.END = -1
    greedy = translator.compiled
    products = products_of_a_step(translator.model)
    vocab_size, dim = translator.model.projection.tokens.embeddings.shape

    @tf.function(jit_compile=True)
    def nothing(source, limits):
        return limits + 1, source

    def times(batch):
        source = tf.constant(some_ids(batch, vocab_size))
        code = greedy._begin(batch, LENGTH, greedy.room(LENGTH))

        def stop_after(tokens):
            limits = tf.fill([batch], tokens)
            return median_ms(lambda: code(source, limits)[4].numpy())

        def only_products(steps):
            count, x = tf.constant(steps), tf.ones((batch, dim))
            return median_ms(lambda: products(count, x).numpy())

        limits = tf.fill([batch], 1)
        return {
            "stops": {tokens: stop_after(tokens) for tokens in STOPS},
            "products": {tokens: only_products(tokens) for tokens in STOPS},
            "a call of nothing": median_ms(lambda: nothing(source, limits)[0].numpy()),
        }

    return lambda: {batch: times(batch) for batch in BATCHES}


def kernels_of_a_step(model):
    """What a step multiplies with: the matrices of each decoder block, and the output's."""

    def of_block(block):
        mine, memory, wide = block.self_attention, block.memory_attention, block.feed_forward
        layers = (mine.qkv, mine.heads.merge, memory.query, memory.heads.merge)
        return [np.array(layer.kernel) for layer in (*layers, wide.widen, wide.narrow)]

    output = np.transpose(model.projection.tokens.embeddings)
    return [of_block(block) for block in model.decoder], output


def products_of_a_step(model):
    """Code that does the matrix products of so many steps, and little else."""
    import tensorflow as tf

    blocks, output = tf.nest.map_structure(tf.constant, kernels_of_a_step(model))

    def step(x):
        for qkv, *others in blocks:
            x = tf.reduce_sum(tf.reshape(x @ qkv, (len(x), 3, -1)), axis=1)
            for kernel in others:
                x = x @ kernel
        return x + tf.reduce_max(x @ output, axis=1, keepdims=True)

    @tf.function(jit_compile=True)
    def products(steps, x):
        return tf.while_loop(lambda i, x: i < steps, lambda i, x: (i + 1, step(x)), (0, x))[1]

    return products


def theirs(folder):
    """CTranslate2, told how many tokens to write."""
    from benchmarks.peers.ctranslate2_model import translator

    model = translator(folder, "float32", 1, 1)

    def times(batch):
        tokens = [[str(i) for i in ids] for ids in some_ids(batch, 1000)]

        def stop_after(count):
            return median_ms(
                lambda: model.translate_batch(
                    tokens, beam_size=1, min_decoding_length=count, max_decoding_length=count
                )
            )

        return {"stops": {count: stop_after(count) for count in STOPS}}

    return lambda: {batch: times(batch) for batch in BATCHES}


def some_ids(batch, vocab_size):
    """Sentences of random words."""
    ids = np.random.default_rng(0).integers(4, vocab_size, (batch, LENGTH))
    return ids.astype("int32")


def draw(out, rows):
    """Milliseconds against tokens."""
    figure, panels = pyplot().subplots(1, len(BATCHES), figsize=(9, 3.2))
    for batch, panel in zip(BATCHES, panels, strict=True):
        for name, of_rounds in rows.items():
            medians = [spread([f[batch]["stops"][n] for f in of_rounds])["median"] for n in STOPS]
            panel.plot(STOPS, medians, marker="o", color=COLORS[name], label=name)
        products = [spread([f[batch]["products"][n] for f in rows[OURS]])["median"] for n in STOPS]
        label = "ours, matrix products of the steps"
        panel.plot(STOPS, products, linestyle=":", color=COLORS[OURS], label=label)
        panel.set(xlim=0, ylim=0, xlabel="tokens written", ylabel="ms")
        panel.set_title(f"{batch} of {LENGTH} tokens at a time", fontsize=10, loc="left")
        panel.legend(fontsize=8, frameon=False)
        panel.spines[["top", "right"]].set_visible(False)
    save(figure, out, "sentence_profile")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", default="build/bench/run", help="folder of a trained run")
    parser.add_argument("--data", help="folder of Multi30k's files")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="build/bench", help="folder for JSON and pictures")
    main(**vars(parser.parse_args()))
