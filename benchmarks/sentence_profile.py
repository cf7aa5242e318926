"""Where the time of one sentence goes: the way in and out, the encoder, the steps.

    python -m benchmarks.sentence_profile      # with the model that `decode_speed` has trained
    python -m benchmarks.sentence_profile --run runs/ende

A sentence of 16 tokens is translated with compiled code (`Translator.load(run, compiled=True)`) and
by CTranslate2 with the same weights, one thread each, and made to stop after 1, 2, 4 ... tokens: a
line through these times has the price of a step for its slope, and all else where it begins.
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
REPEATS = 40
OURS, THEIRS = "ours, XLA", "CTranslate2 float32"
COLORS = {OURS: "#1f5fa8", THEIRS: "#b0b7bf"}


def main(run, rounds, out):
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
    parts = {}
    print("\nMilliseconds, one sentence at a time")
    for name, of_rounds in rows.items():
        lines = [np.polyfit(STOPS, [f["stops"][n] for n in STOPS], 1) for f in of_rounds]
        parts[name] = {
            "a step": spread([float(slope) for slope, _ in lines]),
            "all else": spread([float(start) for _, start in lines]),
            **{
                part: spread([f[part] for f in of_rounds])
                for part in of_rounds[0]
                if part != "stops"
            },
        }
        for part, s in parts[name].items():
            print(f"  {name:22} {part:34} {s['median']:.3f} ({s['low']:.3f} to {s['high']:.3f})")
    read = megabytes_of_a_step(model)
    print(f"  A step reads {read:.1f} MB of weights")
    write_json(
        out,
        "sentence_profile",
        question="where the milliseconds of one sentence go",
        command=f"python -m benchmarks.sentence_profile --run RUN --rounds {rounds}",
        milliseconds=parts,
        megabytes_of_weights_a_step=read,
        stops={name: [f["stops"] for f in of_rounds] for name, of_rounds in rows.items()},
    )
    draw(out, rows)


def megabytes_of_a_step(model):
    """Of weights that a step reads: the output's, and the decoder's but those for the memory."""
    of_memory = {w.path for block in model.decoder for w in block.memory_attention.kv.weights}
    weights = [w for block in model.decoder for w in block.weights if w.path not in of_memory]
    weights.append(model.projection.tokens.embeddings)
    return 4 * sum(int(np.prod(w.shape)) for w in weights) / 1e6


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
    ids = np.random.default_rng(0).integers(4, translator.tokenizers[0].vocab_size, LENGTH).tolist()
    code = greedy._begin(1, LENGTH, greedy.most_room(LENGTH))
    source = tf.constant([ids])

    @tf.function(jit_compile=True)
    def nothing(source, limits):
        return limits + 1, source

    nothing = nothing.get_concrete_function(source, tf.constant([1]))

    def stop_after(tokens):
        limits = tf.constant([tokens])
        return median_ms(lambda: code(source, limits)[4].numpy())

    def work():
        return {
            "stops": {tokens: stop_after(tokens) for tokens in STOPS},
            "no token at all": stop_after(0),
            "a call of nothing": median_ms(lambda: nothing(source, tf.constant([1]))[0].numpy()),
        }

    return work


def theirs(folder):
    """CTranslate2, told how many tokens to write."""
    from benchmarks.peers.ctranslate2_model import translator

    model = translator(folder, "float32", 1, 1)
    tokens = [[str(i) for i in np.random.default_rng(0).integers(4, 1000, LENGTH)]]

    def stop_after(count):
        return median_ms(
            lambda: model.translate_batch(
                tokens, beam_size=1, min_decoding_length=count, max_decoding_length=count
            )
        )

    def work():
        return {"stops": {count: stop_after(count) for count in STOPS}}

    return work


def draw(out, rows):
    """Milliseconds against tokens."""
    figure, panel = pyplot().subplots(figsize=(5, 3.2))
    for name, of_rounds in rows.items():
        medians = [spread([f["stops"][n] for f in of_rounds])["median"] for n in STOPS]
        panel.plot(STOPS, medians, marker="o", color=COLORS[name], label=name)
    panel.set(xlim=0, ylim=0, xlabel="tokens written", ylabel="ms")
    panel.set_title(f"One sentence of {LENGTH} tokens", fontsize=10, loc="left")
    panel.legend(fontsize=8, frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    save(figure, out, "sentence_profile")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", default="build/bench/run", help="folder of a trained run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="build/bench", help="folder for JSON and pictures")
    main(**vars(parser.parse_args()))
