"""What came before the Transformer, on the same data for the same minutes: is it worth it?

    python -m benchmarks.ladder DATA
    python -m benchmarks.ladder DATA --minutes 15

DATA is a folder with Multi30k's tokenised files. An LSTM encoder-decoder, a GRU with attention
(both in `examples/before_transformers/`) and a Transformer learn German to English, one after the
other: same batches, loss, optimizer and decoders, about as many parameters each.

Then how long a training step takes: batches of 2,048 tokens a side, in many short sentences or in
few long ones. A recurrent network goes through a sentence token by token, a Transformer takes all
of it at once.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.contest import Contestant, compete, in_own_process
from benchmarks.multi30k_data import multi30k_files, multi30k_settings
from benchmarks.report import OURS, pyplot, save, spread, write_json

LANGUAGES = ("de", "en")
VOCAB_SIZE, TOKENS = 4000, 2048
LENGTHS = (8, 16, 32, 64, 128)
DROPOUT = 0.2
LSTM, GRU, TRANSFORMER = "LSTM encoder-decoder", "GRU with attention", "Transformer"
# Recurrent networks want smaller steps: with the Transformer's 0.003 they learn nothing.
LEARNING_RATES = {LSTM: 0.002, GRU: 0.002, TRANSFORMER: 0.003}
PERPLEXITIES, SECONDS = (5, 10, 20, 40, 80), (0.15, 0.2, 0.3, 0.4, 0.6)  # marks of the pictures
COLORS = {LSTM: "#b0b7bf", GRU: "#d08a3c", TRANSFORMER: OURS}


def main(data, minutes, rounds, out):
    """Trains all, times all, reports."""
    rungs = {}
    for name in LEARNING_RATES:
        arguments = {"name": name, "data": data, "minutes": minutes}
        with in_own_process(Contestant(name, learn, arguments)) as work:
            rungs[name] = work()
        print(
            f"{name}: {rungs[name]['parameters']:,} parameters, {rungs[name]['epochs']} epochs of "
            f"{rungs[name]['seconds an epoch']:.0f} s, BLEU {rungs[name]['bleu']:.2f} greedy, "
            f"{rungs[name]['bleu, beam 5']:.2f} with a beam of 5"
        )
    times = compete([Contestant(name, steps, {"name": name}) for name in LEARNING_RATES], rounds)
    seconds = {
        name: {length: [figures[length] for figures in of_rounds] for length in LENGTHS}
        for name, of_rounds in times.items()
    }
    print(f"\nSeconds a training step of {TOKENS:,} tokens a side, by length of the sentences")
    for name, of_lengths in seconds.items():
        medians = {length: spread(values)["median"] for length, values in of_lengths.items()}
        print(f"  {name:22}" + "".join(f"  {n}: {s:.3f}" for n, s in medians.items()))
    write_json(
        out,
        "ladder",
        question="what recurrent networks and a Transformer learn in the same minutes",
        command=f"python -m benchmarks.ladder DATA --minutes {minutes:g} --rounds {rounds}",
        languages=LANGUAGES,
        vocab_size=VOCAB_SIZE,
        minutes=minutes,
        rungs=rungs,
        seconds_a_step=seconds,
    )
    draw(out, rungs, seconds)


def make(name, vocab_size):
    """A model by its name."""
    from examples.before_transformers.gru_with_attention import GruWithAttention
    from examples.before_transformers.lstm_encoder_decoder import LstmEncoderDecoder
    from keras_transformer import Transformer

    if name == TRANSFORMER:
        return Transformer.from_size("tiny", vocab_size, dropout=DROPOUT)
    width = {LSTM: 256, GRU: 256}[name]
    kind = {LSTM: LstmEncoderDecoder, GRU: GruWithAttention}[name]
    return kind(vocab_size, width, dropout=DROPOUT)


def learn(name, data, minutes):
    """Training and evaluation, once."""

    def work():
        from examples.before_transformers.training import train_for
        from keras_transformer.data import read_pairs
        from keras_transformer.tasks import Translator
        from keras_transformer.tasks.evaluate import score

        settings = multi30k_settings(
            data,
            LANGUAGES,
            vocab_size=VOCAB_SIZE,
            batch_tokens=TOKENS,
            learning_rate=LEARNING_RATES[name],
        )
        with tempfile.TemporaryDirectory() as folder:
            model, tokenizers, progress = train_for(
                lambda vocab_size: make(name, vocab_size), settings, minutes, Path(folder)
            )
        pairs, _ = read_pairs(*multi30k_files(data, "test_2016_flickr", LANGUAGES))
        sources, references = map(list, zip(*pairs, strict=True))
        bleu = {
            beam: score(Translator(model, tokenizers, beam)(sources), references, "none")["bleu"]
            for beam in (1, 5)
        }
        ends = [row["seconds"] for row in progress.rows]
        return {
            "parameters": model.count_params(),
            "steps": progress.step,
            "epochs": len(progress.rows),
            # the first one traces, the last one may have been cut short
            "seconds an epoch": float(np.median(np.diff(ends)[:-1])) if len(ends) > 2 else ends[0],
            "bleu": bleu[1],
            "bleu, beam 5": bleu[5],
            "curve": progress.rows,
        }

    return work


def steps(name):
    """Training steps on sentences of each length."""
    from keras_transformer.tasks.memory import keep_memory
    from keras_transformer.tasks.threads import share_cores

    keep_memory()
    parts = share_cores()
    from keras_transformer.tasks.preparation import make_network
    from keras_transformer.tasks.settings import Settings

    network = make_network(make(name, VOCAB_SIZE), Settings(data="phrases"), parts)
    random = np.random.default_rng(0)

    def batch(length):
        ids = random.integers(4, VOCAB_SIZE, (3, TOKENS // length, length)).astype("int32")
        inputs = dict(zip(("source", "target", "labels"), ids, strict=True))
        return inputs, ids[2], np.full(ids[2].shape, 1 / TOKENS, "float32")

    batches = {length: batch(length) for length in LENGTHS}

    def work():
        figures = {}
        for length, of_length in batches.items():
            seconds = []
            for _ in range(4):
                began = time.perf_counter()
                network.train_on_batch(*of_length)
                seconds.append(time.perf_counter() - began)
            figures[length] = float(np.median(seconds[1:]))
        return figures

    return work


def draw(out, rungs, seconds):
    """Learning curves, and step times against length."""
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(10, 4))
    for name, rung in rungs.items():
        minutes = [row["seconds"] / 60 for row in rung["curve"]]
        perplexity = [row["val_perplexity"] for row in rung["curve"]]
        label = f"{name}: BLEU {rung['bleu, beam 5']:.1f}"
        left.plot(minutes, perplexity, marker=".", color=COLORS[name], label=label)
        medians = [spread(values)["median"] for values in seconds[name].values()]
        right.plot(LENGTHS, medians, marker="o", color=COLORS[name], label=name)
    left.set(xlabel="minutes of training", ylabel="validation perplexity", yscale="log")
    left.set_title("Multi30k, German to English", fontsize=10, loc="left")
    right.set(xlabel="tokens a sentence", ylabel="seconds a step", xscale="log", yscale="log")
    right.set_xticks(LENGTHS, LENGTHS)
    left.set_yticks(PERPLEXITIES, PERPLEXITIES)
    right.set_yticks(SECONDS, SECONDS)
    for panel in (left, right):
        panel.minorticks_off()
    right.set_title(f"A training step of {TOKENS:,} tokens a side", fontsize=10, loc="left")
    for panel in (left, right):
        panel.legend(fontsize=8, frameon=False)
        panel.spines[["top", "right"]].set_visible(False)
    save(figure, out, "ladder")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder of Multi30k's files")
    parser.add_argument("--minutes", type=float, default=15, help="of training, each")
    parser.add_argument("--rounds", type=int, default=5, help="of timing steps")
    parser.add_argument("--out", default="build/bench", help="folder for JSON and pictures")
    main(**vars(parser.parse_args()))
