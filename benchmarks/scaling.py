"""How time and memory grow: with length, width, batch, vocabulary and layers.

    python -m benchmarks.scaling
    python -m benchmarks.scaling --only length decoding

One thing is made larger at a time, everything else stays as it is: 4 + 4 layers, 128 wide, 8,000
pieces, 32 pairs of 32 tokens. Every point is measured in a process of its own, so that its peak of
memory is its own: what the process has gained since model and graph were made. The points of a
curve take turns. Between two neighbours, `log(time ratio) / log(size ratio)` is the exponent of
growth; the curve bends where the exponent is half-way between its first and its last value.

Decoding is measured with steps that no sentence ends: what a step costs after so many tokens, the
first eight aside, which have the encoder before them; how much of that the bare attention to so
many more tokens costs, with nothing around it; and what 39 steps cost in models that could write 64
or 512 tokens.
"""

import argparse
import ctypes
import gc
import itertools
import math
import time

import numpy as np

from benchmarks.contest import Contestant, compete
from benchmarks.report import OURS, pyplot, save, spread, write_json

BASE = {"length": 32, "width": 128, "batch": 32, "vocabulary": 8000, "layers": 4}
AXES = {
    "length": (8, 16, 32, 64, 128, 256, 512),
    "width": (64, 128, 256, 512),
    "batch": (4, 8, 16, 32, 64, 128),
    "vocabulary": (1000, 2000, 4000, 8000, 16000, 32000),
    "layers": (1, 2, 4, 8, 16),
}
LONGEST, STEPS = 512, 39
DECODED = (8, 32, 64, 128, 256, 512)
DECODING_BATCHES = (1, 8)
REPEATS = 5
DECODING, ATTENTION = "decoding", "attention"


def main(only, rounds, out):
    """Measures and reports."""
    chosen = only or [*AXES, DECODING]
    training = {axis: measure_axis(axis, rounds) for axis in AXES if axis in chosen}
    decoding = measure_decoding(rounds) if DECODING in chosen else None
    write_json(
        out,
        "scaling",
        question="seconds and bytes of a training step and of a decoding step, by size",
        command=f"python -m benchmarks.scaling --rounds {rounds}",
        base=BASE,
        training=training,
        decoding=decoding,
    )
    draw(out, training, decoding)


def measure_axis(axis, rounds):
    """Points along one axis, with exponents."""
    names = {f"{axis} {value}": value for value in AXES[axis]}
    rows = compete(
        [Contestant(name, training_step, {**BASE, axis: value}) for name, value in names.items()],
        rounds,
    )
    points = [
        {
            "value": names[name],
            "seconds": spread([f["seconds"] for f in figures]),
            "peak MB": figures[-1]["peak MB"],
        }
        for name, figures in rows.items()
    ]
    seconds = exponents(AXES[axis], [point["seconds"]["median"] for point in points])
    memory = exponents(AXES[axis], [point["peak MB"] for point in points])
    print(f"\n{axis}: seconds a training step, and megabytes")
    for point, *local in zip(points, [None, *seconds], [None, *memory], strict=True):
        s = point["seconds"]
        line = f"  {point['value']:6,}  {s['median']:.3f} s ({s['low']:.3f} to {s['high']:.3f})"
        line += f"  {point['peak MB']:7,.0f} MB"
        if local[0] is not None:
            line += f"   exponents {local[0]:.2f} and {local[1]:.2f}"
        print(line)
    fitted = {
        "time": fit(axis, [point["seconds"]["median"] for point in points]),
        "memory": fit(axis, [point["peak MB"] for point in points]),
    }
    bends = bend(AXES[axis], seconds)
    print(f"  fitted over all: time {fitted['time']:.2f}, memory {fitted['memory']:.2f}; {bends}")
    return {
        "points": points,
        "exponents of time": seconds,
        "exponents of memory": memory,
        "fitted exponents": fitted,
        "bends": bends,
    }


def exponents(sizes, values):
    """The exponent of growth between each two neighbours."""
    return [
        math.log(b / a) / math.log(y / x)
        for (x, y), (a, b) in zip(
            itertools.pairwise(sizes), itertools.pairwise(values), strict=True
        )
    ]


def fit(axis, values):
    """The exponent of a power law through all points."""
    return float(np.polyfit(np.log(AXES[axis]), np.log(values), 1)[0])


def bend(sizes, local):
    """Where the exponent gets half-way from its first to its last value, in words.

    >>> bend((1, 2, 4, 8), [0.1, 0.2, 0.9])
    'the exponent rises from 0.10 to 0.90, half of it before 8'
    >>> bend((1, 2, 4, 8), [1.0, 0.9, 1.1])
    'no bend'
    """
    first, last = local[0], local[-1]
    if abs(last - first) < 0.3:
        return "no bend"
    half = (first + last) / 2
    at = next(i for i, e in enumerate(local) if (e - half) * (last - first) >= 0)
    verb = "rises" if last > first else "falls"
    return f"the exponent {verb} from {first:.2f} to {last:.2f}, half of it before {sizes[at + 1]}"


def training_step(length, width, batch, vocabulary, layers):
    """Training steps of a model of this size; time of one, and the process's peak of memory."""
    from keras_transformer.tasks.memory import keep_memory
    from keras_transformer.tasks.threads import share_cores

    keep_memory()
    parts = share_cores()
    from keras_transformer import Transformer
    from keras_transformer.tasks.preparation import make_network
    from keras_transformer.tasks.settings import Settings

    model = Transformer(
        vocabulary, width, max(1, width // 32), 2 * width, layers, max_length=LONGEST
    )
    network = make_network(model, Settings(data="phrases"), parts)
    random = np.random.default_rng(0)
    ids = random.integers(4, vocabulary, (3, batch, length)).astype("int32")
    inputs = dict(zip(("source", "target", "labels"), ids, strict=True))
    weights = np.full((batch, length), 1 / (batch * length), "float32")
    # Graphs are made with tiny batches, the second of which has one made for all shapes: their
    # memory is not the step's.
    for rows, columns in ((2, 4), (4, 6)):
        tiny = {name: x[:rows, :columns] for name, x in inputs.items()}
        network.train_on_batch(tiny, ids[2, :rows, :columns], weights[:rows, :columns])
    give_back_memory()
    before = resident_mb()
    watch = PeakMemory()

    def work():
        seconds = []
        for _ in range(3):
            began = time.perf_counter()
            network.train_on_batch(inputs, ids[2], weights)
            seconds.append(time.perf_counter() - began)
        return {"seconds": float(np.median(seconds)), "peak MB": watch.peak() - before}

    return work


def give_back_memory():
    """Gives the system back what was freed: a step that gets it again would seem to need less."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)


def resident_mb():
    """Memory of this process."""
    return _status("VmRSS")


class PeakMemory:
    """The highest memory of this process since this was made."""

    def __init__(self):
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # forget the peak so far

    def peak(self):
        """In megabytes."""
        return _status("VmHWM")


def _status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024


def measure_decoding(rounds):
    """What a step costs after so many tokens, and whether room that is not used costs anything."""
    rows = compete(
        [Contestant(f"room for {room}", decoding, {"max_length": room}) for room in (64, LONGEST)],
        rounds,
    )
    found = {"a step": {}, "attention alone": {}, f"{STEPS} steps": {}}
    for batch in DECODING_BATCHES:
        until = {
            count: [figures[batch, count] for figures in rows[f"room for {LONGEST}"]]
            for count in DECODED
        }
        steps = {}
        for a, b in itertools.pairwise(DECODED):
            steps[b] = [(y - x) / (b - a) for x, y in zip(until[a], until[b], strict=True)]
        found["a step"][batch] = {n: spread(values) for n, values in steps.items()}
        attention = {
            n: spread([f[batch, ATTENTION, n] for f in rows[f"room for {LONGEST}"]])
            for n in DECODED[1:]
        }
        found["attention alone"][batch] = attention
        print(f"\nMilliseconds a decoding step, {batch} at a time, up to so many tokens")
        first, first_attention = (
            x[DECODED[1]]["median"] for x in (found["a step"][batch], attention)
        )
        for n, s in found["a step"][batch].items():
            print(
                f"  {n:4}  {1e3 * s['median']:.2f} ({1e3 * s['low']:.2f} to {1e3 * s['high']:.2f})"
                f"   {s['median'] / first:.2f} x the first: {1e3 * (s['median'] - first):+.2f}, "
                f"of attention alone {1e3 * (attention[n]['median'] - first_attention):+.2f}"
            )
        of_rooms = {name: [f[batch, STEPS] for f in figures] for name, figures in rows.items()}
        found[f"{STEPS} steps"][batch] = of_rooms
        small, large = of_rooms.values()
        times = spread([b / a for a, b in zip(small, large, strict=True)])
        print(
            f"  {STEPS} steps in a model of {LONGEST} positions take {times['median']:.2f} "
            f"({times['low']:.2f} to {times['high']:.2f}) times as long as in one of 64"
        )
    return found


def decoding(max_length):
    """Steps of greedy decoding that nothing ends, as `Translator` makes them."""
    from keras_transformer.tasks.memory import keep_memory
    from keras_transformer.tasks.threads import share_cores

    keep_memory(together=False)
    share_cores()
    import tensorflow as tf

    from keras_transformer import Transformer, attention
    from keras_transformer.decoding import greedy

    model = Transformer.from_size("tiny", BASE["vocabulary"], max_length=max_length)
    config = model.get_config()
    heads, layers = config["num_heads"], config["num_layers"]

    @tf.function(
        input_signature=[tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((), tf.int32)]
    )
    def decode(source, steps):
        start = tf.fill([tf.shape(source)[0]], 1)
        step = model.make_step(overwrite=True)
        state, more = model.start(source), model.enlarge
        return greedy(step, state, start, steps, end_id=-1, shrink=True, enlarge=more)

    random = np.random.default_rng(0)
    sources = {
        batch: tf.constant(random.integers(4, BASE["vocabulary"], (batch, 16)), tf.int32)
        for batch in DECODING_BATCHES
    }

    any_slots = tf.TensorSpec((None, heads, None, config["dim"] // heads))

    @tf.function(input_signature=[any_slots, [any_slots] * 2 * layers])
    def attend(query, slots):
        for keys, values in zip(slots[::2], slots[1::2], strict=True):
            query = attention(query, keys, values)
        return query

    def some_slots(batch, count):
        shape = (batch, heads, count, config["dim"] // heads)
        return tf.constant(random.normal(size=shape), "float32")

    # As many tokens as there are in the cache on average between two counts.
    caches = {
        (batch, ATTENTION, b): [some_slots(batch, (a + b) // 2) for _ in range(2 * layers)]
        for batch in sources
        for a, b in itertools.pairwise(DECODED)
    }

    def seconds(batch, count):
        began = time.perf_counter()
        decode(sources[batch], tf.constant(count))[0].numpy()
        return time.perf_counter() - began

    def seconds_of_attention(query, slots):
        seconds(len(query), 1)  # as in a loop, the weights have been read in between
        began = time.perf_counter()
        attend(query, slots).numpy()
        return time.perf_counter() - began

    def work():
        # The 39 steps by themselves: after 512 others they would find caches cold, which those in
        # the smaller model do not.
        figures = {
            (batch, STEPS): min(seconds(batch, STEPS) for _ in range(4 * REPEATS))
            for batch in sources
        }
        counts = [count for count in DECODED if count <= max_length]
        for _, *which in itertools.product(range(REPEATS), sources, counts):  # in turns
            figures[*which] = min(seconds(*which), figures.get(tuple(which), math.inf))
        for which, slots in caches.items():
            query = some_slots(which[0], 1)
            figures[which] = min(seconds_of_attention(query, slots) for _ in range(4 * REPEATS))
        return figures

    return work


def draw(out, training, decoding):
    """Log-log curves."""
    names = [*training, *([DECODING] if decoding else [])]
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    figure, panels = pyplot().subplots(
        lines, columns, figsize=(3.6 * columns, 3 * lines), squeeze=False
    )
    for panel, name in itertools.zip_longest(panels.flat, names):
        if name is None:
            panel.axis("off")
            continue
        panel.set_title(name, fontsize=10, loc="left")
        panel.tick_params(labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
        if name == DECODING:
            for batch, of_batch in decoding["a step"].items():
                values = [1e3 * s["median"] for s in of_batch.values()]
                panel.plot(list(of_batch), values, marker="o", label=f"{batch} at a time")
            panel.set(ylim=0, xlabel="tokens so far", ylabel="ms a step")
            panel.legend(fontsize=7, frameon=False)
            continue
        points = training[name]["points"]
        values = [point["value"] for point in points]
        panel.plot(values, [p["seconds"]["median"] for p in points], marker="o", color=OURS)
        panel.set(xscale="log", yscale="log", ylabel="s a training step")
        panel.set_xticks(values, values, rotation=45)
        panel.minorticks_off()
        memory = panel.twinx()
        memory.plot(values, [p["peak MB"] for p in points], marker=".", color="#d08a3c")
        memory.set(yscale="log")
        memory.set_ylabel("MB", color="#d08a3c", fontsize=8)
        memory.tick_params(labelsize=7)
        memory.spines[["top"]].set_visible(False)
    save(figure, out, "scaling")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=[*AXES, DECODING], help="what to measure")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="build/bench", help="folder for JSON and pictures")
    main(**vars(parser.parse_args()))
