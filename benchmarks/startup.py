"""How long one waits: for the import, the first training step, a new shape, the first translation.

    python -m benchmarks.startup
    python -m benchmarks.startup --run runs/ende

Every measurement is a Python process of its own, from nothing; they take turns. Without a run, one
is trained for a moment first.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.report import draw_bars, spread, write_json

IMPORTS = {
    "import keras": "import keras",
    "import keras, keras_transformer": "import keras, keras_transformer",
    "import keras, keras_hub": "import keras, keras_hub",
}
FIRST_STEP = """
import json, time
began = time.perf_counter()
from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.threads import share_cores
keep_memory()
parts = share_cores()
import keras
from keras_transformer import Transformer
from keras_transformer.data import Batches
from keras_transformer.tasks.preparation import make_network
from keras_transformer.tasks.settings import Settings
imported = time.perf_counter()
network = make_network(Transformer.from_size("tiny", 8000), Settings(data="phrases"), parts)
made = time.perf_counter()
pairs = [([5] * (n - 1),) * 2 for n in (16, 24, 32) for _ in range(2 * (2048 // n))]
batches = Batches(pairs, batch_tokens=2048, max_length=32, shapes=3, shuffle=False)
ends = [imported, made]
network.fit(
    batches.dataset(labels_too=True),
    steps_per_epoch=batches.steps,
    callbacks=[
        keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs: ends.append(time.perf_counter())
        )
    ],
    verbose=0,
)
times = [end - before for before, end in zip([began, *ends], ends)]
print(json.dumps(times))
"""
FIRST_STEP_PARTS = ("imports", "making the model", "the first training step")
FIRST_TRANSLATION = """
import json, sys, time
began = time.perf_counter()
from keras_transformer.tasks import Translator
imported = time.perf_counter()
translator = Translator.load(sys.argv[1], beam_size=int(sys.argv[2]))
loaded = time.perf_counter()
translator(["a man sleeps ."])
translated = time.perf_counter()
translator(["two dogs run through the high grass ."])
again = time.perf_counter()
print(json.dumps([imported - began, loaded - imported, translated - loaded, again - translated]))
"""
FIRST_TRANSLATION_PARTS = ("imports", "loading", "the first translation", "the second")


def main(run, rounds, out):
    """Measures and reports."""
    run = run or train_for_a_moment(Path(out) / "startup_run")
    waits = {}

    def note(name, seconds):
        waits.setdefault(name, []).append(seconds)

    for number in range(rounds):
        for name, code in IMPORTS.items():
            note(name, process(code)[0])
        _, times = process(FIRST_STEP)
        for part, seconds in zip(FIRST_STEP_PARTS, times, strict=False):
            note(f"training: {part}", seconds)
        # The first step of a shape less the second of the same.
        for name, i in (("second", 4), ("third", 6)):
            note(f"training: the {name} shape of batch", max(0.0, times[i] - times[i + 1]))
        for kind, beam in (("greedy", "1"), ("beam 5", "5")):
            whole, times = process(FIRST_TRANSLATION, str(run), beam)
            note(f"translating, {kind}: until the first translation", whole)
            for part, seconds in zip(FIRST_TRANSLATION_PARTS, times, strict=True):
                note(f"translating, {kind}: {part}", seconds)
        print(f"  round {number + 1} of {rounds}")
    alone, ours, hub = (waits[name] for name in IMPORTS)
    added = {
        "keras_transformer": spread([b - a for a, b in zip(alone, ours, strict=True)]),
        "keras_hub": spread([b - a for a, b in zip(alone, hub, strict=True)]),
    }
    print("\nSeconds: median (lowest to highest)")
    for name, values in waits.items():
        s = spread(values)
        print(f"  {name:55} {s['median']:6.2f}  ({s['low']:.2f} to {s['high']:.2f})")
    for name, s in added.items():
        wait = f"{s['median']:.2f} s ({s['low']:.2f} to {s['high']:.2f})"
        print(f"  {name} adds {wait} to the import of keras")
    write_json(
        out,
        "startup",
        question="seconds one waits before the first result",
        command=f"python -m benchmarks.startup --run RUN --rounds {rounds}",
        seconds=waits,
        added_to_import=added,
    )
    groups = {
        "Until": {
            name: values for name, values in waits.items() if ": " not in name or "until" in name
        }
    }
    draw_bars(
        out, "startup", "Waiting", groups, "seconds", lambda name: "hub" not in name, "{:.1f}"
    )


def process(code, *arguments):
    """Seconds of a process with this code, its end aside, and what it printed as JSON."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", code + "\nprint('done', flush=True)", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as running:
        lines = []
        for line in running.stdout:
            if line == "done\n":
                seconds = time.perf_counter() - began
                break
            lines.append(line)
        else:
            raise RuntimeError(f"A process failed:\n{code}")
    return seconds, json.loads(lines[-1]) if lines else None


def train_for_a_moment(out):
    """A small run, if there is none yet."""
    from keras_transformer.tasks import train

    if not (out / "model.keras").exists():
        train(out, overwrite=True, data="phrases", max_steps=20)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", help="folder of a trained run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="build/bench", help="folder for JSON and pictures")
    main(**vars(parser.parse_args()))
