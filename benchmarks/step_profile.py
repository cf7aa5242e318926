"""Where the time of a training step goes, operation by operation: ours and KerasHub's layers.

    python -m benchmarks.step_profile

TensorFlow's profiler says how long each operation took. Here they are summed up by kind, in
milliseconds of one core; what is left of the cores' time is waiting, Python, and finding out what
comes next. Sizes are those of `train_speed`: 4 + 4 layers, 128 wide, 8,000 pieces, 112 pairs of 18
tokens.
"""

import argparse
import glob
import os
import tempfile
import time
from collections import Counter

from benchmarks.contest import Contestant, compete
from benchmarks.report import OURS, PEERS, pyplot, save, spread, write_json
from benchmarks.train_speed import ENVIRONMENT, NUM_LAYERS, VOCAB_SIZE, WIDTHS

ROWS, LENGTH, STEPS = 112, 18, 5
KINDS = {
    "matrix products": ("MatMul", "_MklMatMul", "_FusedMatMul", "_MklFusedMatMul"),
    "attention": ("BatchMatMul", "_MklBatchMatMul", "Einsum", "Softmax", "_MklSoftmax"),
    "random numbers": ("StatelessRandom", "Bitcast"),
    "optimizer": ("ResourceApply", "Assign"),
    "moving data": (
        "Transpose",
        "_MklTranspose",
        "Concat",
        "Split",
        "Gather",
        "Reshape",
        "Pack",
        "StridedSlice",
        "Slice",
        "UnsortedSegment",
        "Tile",
        "Scatter",
    ),
    "sums and maxima": ("Sum", "Mean", "Max", "ArgMax", "BiasAddGrad", "AddN", "L2Loss"),
    "exponentials and logarithms": ("Exp", "Log", "SparseSoftmax", "LogSoftmax"),
}
OTHER = "element by element"
NOT_WORK = ("Process", "Run")  # what contains others
US, THEM = "ours", "KerasHub's layers, Keras's loss"


def main(rounds, out):
    """Measures and reports."""
    rows = compete(
        [
            Contestant(US, profile, {"ours": True}, environment=ENVIRONMENT),
            Contestant(THEM, profile, {"ours": False}, environment=ENVIRONMENT),
        ],
        rounds,
    )
    cores = len(os.sched_getaffinity(0))
    kinds = [*KINDS, OTHER]
    found = {}
    print(f"\nMilliseconds of a step of {ROWS} pairs of {LENGTH} tokens: {', '.join(rows)}")
    for name, of_rounds in rows.items():
        found[name] = {kind: spread([f["ms"][kind] for f in of_rounds]) for kind in kinds}
        wall = spread([f["wall"] for f in of_rounds])
        found[name]["idle or between operations"] = spread(
            [max(0.0, cores * f["wall"] - sum(f["ms"].values())) for f in of_rounds]
        )
        found[name]["all cores' time"] = {key: cores * value for key, value in wall.items()}
        found[name]["operations"] = of_rounds[0]["operations"]
    for kind in [*kinds, "idle or between operations", "all cores' time"]:
        cells = [found[name][kind] for name in rows]
        print(
            f"  {kind:28}"
            + "".join(f"{c['median']:9.1f} ({c['low']:.1f} to {c['high']:.1f})" for c in cells)
        )
    print(f"  {'operations':28}" + "".join(f"{found[name]['operations']:9,.0f}" for name in rows))
    write_json(
        out,
        "step_profile",
        question="where the time of a training step goes",
        command=f"python -m benchmarks.step_profile --rounds {rounds}",
        milliseconds=found,
    )
    draw(out, found, [*kinds, "idle or between operations"])


def profile(ours):
    """Training steps under TensorFlow's profiler."""
    import numpy as np

    from benchmarks.train_speed import adam
    from keras_transformer.tasks.memory import keep_memory
    from keras_transformer.tasks.threads import share_cores

    keep_memory()
    parts = share_cores()  # a thread for each operation: its time is that of a core
    import keras
    import tensorflow as tf

    size = {**WIDTHS[128], "num_layers": NUM_LAYERS, "dropout": 0.3}
    ids = np.random.default_rng(0).integers(4, VOCAB_SIZE, (ROWS, LENGTH)).astype("int32")
    inputs, weights = {"source": ids, "target": ids}, np.full(ids.shape, 1 / ids.size, "float32")
    if ours:
        from keras_transformer import Transformer
        from keras_transformer.tasks.preparation import make_network
        from keras_transformer.tasks.settings import Settings

        network = make_network(Transformer(VOCAB_SIZE, **size), Settings(data="phrases"), parts)
        inputs["labels"] = ids
    else:
        from benchmarks.peers.keras_hub_model import keras_hub_transformer

        network = keras_hub_transformer(VOCAB_SIZE, max_length=256, **size)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
        accuracy = keras.metrics.SparseCategoricalAccuracy()
        network.compile(adam(), loss, weighted_metrics=[accuracy], jit_compile=False)
    batch = tf.data.Dataset.from_tensors((inputs, ids, weights)).repeat()

    def work():
        network.fit(batch, steps_per_epoch=2, verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            tf.profiler.experimental.start(folder)
            began = time.perf_counter()
            network.fit(batch, steps_per_epoch=STEPS, verbose=0)
            wall = time.perf_counter() - began
            tf.profiler.experimental.stop()
            milliseconds, operations = sum_up(folder)
        return {
            "wall": 1e3 * wall / STEPS,
            "ms": {kind: milliseconds[kind] / STEPS for kind in [*KINDS, OTHER]},
            "operations": operations / STEPS,
        }

    return work


def sum_up(folder):
    """Milliseconds by kind, and how many operations there were, from the profiler's file."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    with open(glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)[0], "rb") as file:
        space.ParseFromString(file.read())
    milliseconds, operations = Counter(), 0
    for plane in space.planes:
        if "CPU" not in plane.name:
            continue
        names = {key: value.name for key, value in plane.event_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                node, _, op = names[event.metadata_id].rpartition(":")
                if node and not node.startswith("Eager") and op not in NOT_WORK:
                    milliseconds[kind_of(op)] += event.duration_ps / 1e9
                    operations += 1
    return milliseconds, operations


def kind_of(op):
    """The kind that an operation belongs to.

    >>> kind_of("_MklBatchMatMulV2"), kind_of("BiasAdd")
    ('attention', 'element by element')
    """
    for kind, beginnings in KINDS.items():
        if op.startswith(beginnings):
            return kind
    return OTHER


def draw(out, found, kinds):
    """Bars by kind."""
    figure, panel = pyplot().subplots(figsize=(8, 3.6))
    places = range(len(kinds))
    for (name, of_name), color, shift in zip(
        found.items(), (OURS, PEERS), (-0.2, 0.2), strict=True
    ):
        values = [of_name[kind]["median"] for kind in kinds]
        panel.barh([place + shift for place in places], values, 0.4, color=color, label=name)
    panel.set_yticks(places, kinds, fontsize=8)
    panel.invert_yaxis()
    panel.set_xlabel("milliseconds of one core, a step")
    panel.legend(fontsize=8, frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    save(figure, out, "step_profile")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", default="build/bench", help="folder for JSON and pictures")
    main(**vars(parser.parse_args()))
