"""nanoGPT's training for two cores, by our `train-lm` and by a loop in PyTorch, in turns.

    python -m benchmarks.shakespeare input.txt

Both have 4 layers of 4 heads, 128 wide, blocks of 64 characters, 12 of them an update, 2,000
updates of AdamW with the same rates, decay and clipping; float32, no dropout. The loss is that of
the whole validation text, its last tenth. The weights they begin with are each one's own: nanoGPT's
have a standard deviation of 0.02, Keras's of 0.09 at this width, which is most of the difference
between the losses (`--std 0.09` of the peer shows it).

Seconds of ours are those of the training as it is: tracing, the display, checkpoints, a validation
in between and one at the end, and texts that are written after them. Those of PyTorch are of the
2,000 updates alone. Whole processes, imports included, are timed too.
"""

import argparse
import csv
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.contest import KEEP_MEMORY, environment
from benchmarks.report import OURS, PEERS, print_table, pyplot, save, spread, verdict, write_json

RECIPE = {
    "size": "mini",
    "vocab-kind": "characters",
    "max-length": 64,
    "batch-tokens": 12 * 64,
    "max-steps": 2000,
    "learning-rate": 1e-3,
    "lowest-rate": 0.1,
    "warmup-steps": 100,
    "beta-2": 0.99,
    "weight-decay": 0.1,
    "clip-norm": 1.0,
    "dropout": 0.0,
}
OUR_NAME, TORCH, TORCH_MEMORY = "keras_transformer", "PyTorch", "PyTorch, memory kept"


def ours(text, seed, folder):
    """The command, and what the run folder says after it."""
    out = Path(folder) / f"run-{seed}"
    options = [part for name, value in RECIPE.items() for part in (f"--{name}", str(value))]
    run(["keras_transformer_cli", "train-lm", "--text", text, "--out", out, *options], seed)
    with (out / "metrics.csv").open() as file:
        last = list(csv.DictReader(file))[-1]
    config = json.loads((out / "config.json").read_text())
    if int(last["step"]) != RECIPE["max-steps"]:
        raise RuntimeError(f"It stopped after {last['step']} updates")
    return {
        "seconds": float(last["seconds"]),
        "loss": math.log(float(last["val_perplexity"])),
        "vocabulary": config["model"]["vocab_size"],
    }


def theirs(text, seed):
    """PyTorch's loop, which prints what came out."""
    return json.loads(run(["benchmarks.peers.torch_gpt", text], seed).splitlines()[-1])


def run(module, seed):
    """A module as a program; what it prints."""
    command = [sys.executable, "-m", *map(str, module), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(text, rounds, out):
    """Trains in turns, and reports."""
    ways = {
        OUR_NAME: lambda seed: ours(text, seed, folder),
        TORCH: lambda seed: theirs(text, seed),
        TORCH_MEMORY: lambda seed: with_memory(text, seed),
    }
    results = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            names = list(ways)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                began = time.monotonic()
                found = ways[name](number)
                results[name].append({**found, "process": time.monotonic() - began})
                print(
                    f"round {number + 1}, {name}: {found['seconds']:.1f} s, loss "
                    f"{found['loss']:.4f}",
                    flush=True,
                )
    report(results)
    write_json(out, "shakespeare", recipe=RECIPE, results=results)
    draw(out, results)


def with_memory(text, seed):
    """PyTorch, with the settings of memory that ours makes for itself."""
    with environment(**KEEP_MEMORY):
        return theirs(text, seed)


def report(results):
    """Tables of speeds, and the losses."""
    for what, title in (("seconds", "The training"), ("process", "Imports and everything else")):
        rows = {
            name: [RECIPE["max-steps"] / row[what] for row in rows]
            for name, rows in results.items()
        }
        print_table(title, rows, "updates a second, more is better", OUR_NAME)
    print("\nLoss of the whole validation text")
    for name, rows in results.items():
        s = spread([row["loss"] for row in rows])
        print(f"  {name:22} {s['median']:.4f} ({s['low']:.4f} to {s['high']:.4f})")
    losses = {name: [-row["loss"] for row in rows] for name, rows in results.items()}
    print(f"  ours beside PyTorch's: {verdict(losses[OUR_NAME], losses[TORCH])}")


def draw(out, results):
    """Seconds across, loss up: the lower left corner is best."""
    figure, panel = pyplot().subplots(figsize=(6, 3.6))
    for name, rows in results.items():
        panel.scatter(
            [row["seconds"] for row in rows],
            [row["loss"] for row in rows],
            color=OURS if name == OUR_NAME else PEERS,
            marker="x" if name == TORCH_MEMORY else "o",
            label=name,
        )
    panel.axhline(1.88, color="#888888", linewidth=0.8, linestyle="--")
    panel.annotate("published: 1.88", (0, 1.88), fontsize=8, va="bottom")
    panel.set(xlim=0, xlabel="seconds for 2,000 updates", ylabel="validation loss")
    panel.legend(fontsize=8, frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    save(figure, out, "shakespeare")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", help="tiny Shakespeare, or any text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="docs/performance", help="folder for JSON and picture")
    main(**vars(parser.parse_args()))
