"""Training on Multi30k: real target tokens a second, ours and others'.

    python -m benchmarks.train_speed DATA
    python -m benchmarks.train_speed DATA --widths 128 --rounds 3 --steps 15

DATA is a folder with `{train,val}.lc.norm.tok.{en,de}.gz`. All train an encoder-decoder of 4 + 4
layers with 8,000 pieces, Adam, dropout 0.3 and gradients of a norm of 1 at most. Steps are timed,
from the end of the first to the end of the last of a round; what counts are labels that are not
padding. Those with buckets get the very same batches.

TensorFlow runs with oneDNN's operations for everybody (`TF_ENABLE_ONEDNN_OPTS=1`), which is faster
for everybody, and every process keeps memory that it has freed, as `keras-transformer train` does.

Share of the peak: FLOPs of a step over what the machine does in a plain float32 matrix product, the
most that anybody's library has reached just before its steps, on all cores. FLOPs of a step are 3
(forward, and backward twice) times 2 for each weight that a real token meets, and for each score
and its use in attention:

    6 (S (4 D² + 2 D F) n + S D 2 S n + T (6 D² + 2 D F) n + S 2 D² n + 2 T D (T + S) n + T D V)

with S and T real tokens of source and target, n layers on each side, D wide, F inner width and V
pieces.
"""

import argparse
import itertools
import pickle
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.contest import KEEP_MEMORY_TOGETHER, Contestant, compete
from benchmarks.multi30k_data import fixed_batches, multi30k_batches, multi30k_settings
from benchmarks.report import draw_bars, print_table, ratio, spread, verdict, write_json

WIDTHS = {  # num_heads, ffn_dim
    128: {"dim": 128, "num_heads": 4, "ffn_dim": 256},
    256: {"dim": 256, "num_heads": 8, "ffn_dim": 1024},
    512: {"dim": 512, "num_heads": 8, "ffn_dim": 2048},
}
NUM_LAYERS, VOCAB_SIZE, DROPOUT, MAX_LENGTH = 4, 8000, 0.3, 256
BATCH_TOKENS = 2048
TUTORIAL_ROWS, TUTORIAL_LENGTH = 64, 40
STEPS = {128: 21, 256: 15, 512: 8}  # of a round
OURS = "ours"
ENVIRONMENT = {"TF_ENABLE_ONEDNN_OPTS": "1", **KEEP_MEMORY_TOGETHER}


def main(data, widths, rounds, steps, out):
    """Measures and reports all widths."""
    results, groups = {}, {}
    for width in widths:
        print(f"{width} wide")
        of_round = steps or STEPS[width]
        size = {**WIDTHS[width], "num_layers": NUM_LAYERS, "dropout": DROPOUT}
        with tempfile.TemporaryDirectory() as folder:
            files = write_batches(Path(folder), data, of_round)
            takes_part = contestants(data, size, of_round, files, all_of_them=width == 128)
            rows = compete(takes_part, rounds)
        speeds = {
            name: [figures["tokens"] / figures["seconds"] for figures in of_rounds]
            for name, of_rounds in rows.items()
        }
        groups[f"{width} wide"] = speeds
        print_table(f"Training, {width} wide", speeds, "real target tokens/s", OURS)
        results[width] = {
            "size": size,
            "steps": of_round,
            "figures": rows,
            "share of peak": report_peak(rows),
            "ratio of ours": {
                name: {**ratio(speeds[OURS], values), "verdict": verdict(speeds[OURS], values)}
                for name, values in speeds.items()
            },
        }
    write_json(
        out,
        "train_speed",
        question="real target tokens a second of training on Multi30k, English to German",
        command=f"python -m benchmarks.train_speed DATA --rounds {rounds}"
        + (f" --steps {steps}" if steps else ""),
        vocab_size=VOCAB_SIZE,
        batch_tokens=BATCH_TOKENS,
        threads={c.name: c.threads for c in contestants(data, {}, 1, {}, True)},
        environment=ENVIRONMENT,
        widths=results,
    )
    title = "Training on Multi30k, two cores, float32"
    draw_bars(out, "train_speed", title, groups, "real target tokens/s", is_ours)


def is_ours(name):
    """Whether a contestant is made of our layers."""
    return name.startswith(OURS)


def write_batches(folder, data, steps):
    """Files with the batches of a round, for those who do not use our pipeline."""
    _, batches = multi30k_batches(settings(data))
    files = {}
    bucketed = [batch for _, batch in zip(range(steps), batches.stream(), strict=False)]
    fixed = list(fixed_batches(batches, TUTORIAL_ROWS, TUTORIAL_LENGTH, steps))
    for name, made in {"buckets": bucketed, "fixed": fixed}.items():
        files[name] = str(folder / name)
        Path(files[name]).write_bytes(pickle.dumps(made))
    return files


def settings(data, **size):
    """Of a training with our command line."""
    return multi30k_settings(data, vocab_size=VOCAB_SIZE, batch_tokens=BATCH_TOKENS, **size)


def contestants(data, size, steps, files, all_of_them):
    """All who take part; at the larger widths only those with buckets."""
    common, with_data = {"size": size, "steps": steps}, {"size": size, "steps": steps, "data": data}
    fixed = {"file": files.get("fixed")}
    one_each, both = "1 thread an op, 2 at a time", "2 threads an op"
    found = [
        (OURS, ours, with_data, one_each),
        ("PyTorch, buckets", pytorch, {**common, "file": files.get("buckets")}, both),
        ("KerasHub's layers, our pipeline", keras_hub, with_data, both),
    ]
    if all_of_them:
        keras_loss = {**with_data, "loss_of_keras": True}
        found += [
            ("KerasHub's layers, our pipeline, Keras's loss", keras_hub, keras_loss, both),
            ("KerasHub's tutorial", tutorial, {**with_data, **fixed}, both),
            ("ours, dropout also inside", ours, {**with_data, "dropout_inside": True}, one_each),
            ("ours, fixed padding", ours, {**with_data, **fixed}, one_each),
        ]
    return [Contestant(*described, environment=ENVIRONMENT) for described in found]


def ours(data, size, steps, dropout_inside=False, file=None):
    """Our model as `keras-transformer train` trains it."""
    from keras_transformer.tasks.memory import keep_memory
    from keras_transformer.tasks.threads import share_cores

    keep_memory()
    parts = share_cores()
    import keras

    from keras_transformer.tasks.preparation import make_model, make_network

    keras.utils.set_random_seed(0)
    configured = settings(data, **size)
    tokenizers, batches = multi30k_batches(configured)
    model = make_model(configured, tokenizers)
    if dropout_inside:
        model = type(model).from_config({**model.get_config(), "inner_dropout": DROPOUT})
    network = make_network(model, configured, parts)
    return time_fit(network, steps, size, batches=batches, file=file, labels_too=True)


def keras_hub(data, size, steps, loss_of_keras=False):
    """KerasHub's layers with our batches."""
    from keras_transformer.tasks.memory import keep_memory

    keep_memory()
    import keras

    from benchmarks.peers.keras_hub_model import keras_hub_transformer
    from keras_transformer.training import Perplexity, SmoothedCrossentropy, TokenAccuracy

    keras.utils.set_random_seed(0)
    _, batches = multi30k_batches(settings(data, **size))
    model = keras_hub_transformer(VOCAB_SIZE, max_length=MAX_LENGTH, **size)
    if loss_of_keras:
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
        metrics = [keras.metrics.SparseCategoricalAccuracy()]
    else:
        loss, metrics = SmoothedCrossentropy(0.1), [TokenAccuracy(), Perplexity()]
    model.compile(adam(), loss, weighted_metrics=metrics, jit_compile=False)
    return time_fit(model, steps, size, batches=batches)


def tutorial(data, size, steps, file):
    """KerasHub's tutorial: all sentences 40 long, probabilities, Keras's loss and metric."""
    import keras

    from benchmarks.peers.keras_hub_model import keras_hub_tutorial

    keras.utils.set_random_seed(0)
    model = keras_hub_tutorial(VOCAB_SIZE, max_length=TUTORIAL_LENGTH, **size)
    model.compile(adam(), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return time_fit(model, steps, size, file=file, weights=False)


def adam():
    """The optimizer of all."""
    import keras

    return keras.optimizers.Adam(0.001, beta_2=0.98, epsilon=1e-9, global_clipnorm=1.0)


def time_fit(model, steps, size, batches=None, file=None, weights=True, labels_too=False):
    """Trains with `model.fit`, always on the same batches; times the steps after the first."""
    import keras
    import tensorflow as tf

    made = pickle.loads(Path(file).read_bytes()) if file else None

    class Ends(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.times = []

        def on_train_batch_end(self, batch, logs=None):
            self.times.append(time.perf_counter())

    def dataset():
        if made is None:
            return batches.dataset(labels_too=labels_too)
        wanted = made if weights else [batch[:2] for batch in made]
        if labels_too:
            wanted = [({**x, "labels": y}, y, weight) for x, y, weight in made]
        ids = tf.TensorSpec((None, None), tf.int32)
        inputs = dict.fromkeys(wanted[0][0], ids)
        kinds = (inputs, ids, tf.TensorSpec((None, None), tf.float32))
        return tf.data.Dataset.from_generator(
            lambda: iter(wanted), output_signature=kinds if weights else kinds[:2]
        ).prefetch(4)

    stream = made or [batch for _, batch in zip(range(steps), batches.stream(), strict=False)]
    counts = count_tokens(stream[1:])

    def work():
        ends = Ends()
        peak = matmul_peak(np_or_tf=tf)
        model.fit(
            dataset(), steps_per_epoch=steps, epochs=1, verbose=0, callbacks=[ends], shuffle=False
        )
        return figures(ends.times, counts, size, peak)

    return work


def pytorch(size, steps, file):
    """PyTorch's `nn.Transformer` with our batches, which it gets for nothing."""
    import torch

    from benchmarks.peers.torch_model import TorchTransformer

    torch.manual_seed(0)
    torch.set_num_threads(2)
    made = pickle.loads(Path(file).read_bytes())
    counts = count_tokens(made[1:])
    model = TorchTransformer(VOCAB_SIZE, max_length=MAX_LENGTH, **size).train()
    optimizer = torch.optim.Adam(model.parameters(), 0.001, betas=(0.9, 0.98), eps=1e-9, fused=True)
    loss = torch.nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)

    def work():
        peak, times = matmul_peak(torch=torch), []
        for inputs, labels, _ in made:
            source, target, labels = (
                torch.from_numpy(ids).long() for ids in (inputs["source"], inputs["target"], labels)
            )
            optimizer.zero_grad()
            logits = model(source, target)
            loss(logits.reshape(-1, VOCAB_SIZE), labels.reshape(-1)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            times.append(time.perf_counter())
        return figures(times, counts, size, peak)

    return work


def count_tokens(batches):
    """Real tokens of each sentence of the batches: (pairs, 2)."""
    return np.concatenate(
        [
            np.stack([(inputs["source"] != 0).sum(1), (labels != 0).sum(1)], axis=1)
            for inputs, labels, *_ in batches
        ]
    )


def figures(times, counts, size, peak):
    """What a round has given; the first step, which the clock starts with, aside."""
    return {
        "tokens": int(counts[:, 1].sum()),
        "seconds": times[-1] - times[0],
        "longest step": max(b - a for a, b in itertools.pairwise(times)),
        "flops": step_flops(counts, **size),
        "peak flops": peak,
    }


def step_flops(counts, dim, num_heads, ffn_dim, num_layers, dropout):
    """FLOPs of training steps on sentences with (S, T) real tokens; the formula above."""
    s, t = counts.astype("float64").T
    d, f, n = dim, ffn_dim, num_layers
    encoder = s * (4 * d * d + 2 * d * f) + 2 * s * s * d
    decoder = t * (6 * d * d + 2 * d * f) + s * 2 * d * d + 2 * t * d * (t + s)
    return float(6 * (n * (encoder + decoder) + t * d * VOCAB_SIZE).sum())


def matmul_peak(np_or_tf=None, torch=None, size=1536, times=5):
    """FLOP/s of a plain matrix product in the same library, at its best of several."""
    if torch is not None:
        matrix = torch.ones((size, size))
        product = lambda: (matrix @ matrix).sum().item()  # noqa: E731
    else:
        matrix = np_or_tf.ones((size, size))
        product = lambda: np_or_tf.matmul(matrix, matrix).numpy()  # noqa: E731
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        product()
        seconds.append(time.perf_counter() - began)
    return 2 * size**3 / min(seconds)


def report_peak(rows):
    """Shares of the peak, by contestant; the peak is what the fastest library reaches."""
    peaks = [spread([f["peak flops"] for f in of_rounds])["median"] for of_rounds in rows.values()]
    peak = max(peaks)
    print(f"\nShare of {peak / 1e9:.0f} GFLOP/s, the peak of a matrix product")
    shares = {}
    for name, of_rounds in rows.items():
        shares[name] = spread([f["flops"] / f["seconds"] / peak for f in of_rounds])
        longest = max(f["longest step"] for f in of_rounds)
        print(f"  {name}: {shares[name]['median']:.1%}, longest step {longest:.2f} s")
    return {"peak flops": peak, **shares}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder of Multi30k's files")
    parser.add_argument("--widths", type=int, nargs="+", default=list(WIDTHS), choices=WIDTHS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, help="of a round; fewer for wider models unless given")
    parser.add_argument("--out", default="build/bench", help="folder for JSON and pictures")
    main(**vars(parser.parse_args()))
