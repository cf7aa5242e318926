"""What a written token costs: with a cache and without, by length; and with a draft that guesses.

    python -m benchmarks.write_speed
    python -m benchmarks.write_speed --model runs/shakespeare --draft runs/draft

Length: a Llama of 6 layers, 256 wide, with a context of 2,048 tokens (new weights: what it writes
does not matter) goes on with one token, greedily, alone. With a cache every token is read once;
without one, the text so far is read anew for every token, at best by one call of a traced function
for each length. Cached tokens are timed eight at a time, as `generate` shows them.

Guessing: a trained model goes on with prompts from its own vocabulary, greedily, token by token and
with a smaller one guessing ahead. The texts must be the same.
"""

import argparse
import time

import numpy as np

from benchmarks.contest import KEEP_MEMORY, Contestant, compete
from benchmarks.report import OURS, PEERS, print_table, pyplot, ratio, save, spread, write_json
from benchmarks.scaling import exponents

LENGTHS = (64, 128, 256, 512, 1024, 2048)
MODEL = {"num_layers": 6, "dim": 256, "num_heads": 4, "num_kv_heads": 2, "ffn_dim": 688}
PROMPTS = (
    "ROMEO:",
    "\n",
    "First Citizen:\nWe",
    "KING RICHARD",
    "Now is the",
    "My lord,",
    "What",
    "O",
)
TOKENS = 200
CACHED, UNCACHED = "cached", "uncached"
PLAIN = "token by token"


def cached():
    """Seconds a token, by how many there are already."""
    from keras_transformer import Gpt
    from keras_transformer.tasks.threads import share_cores
    from keras_transformer.tasks.token_by_token import TokenByToken

    share_cores()  # as `generate` does for models of this width
    model = Gpt.from_size("llama-small", vocab_size=65, max_length=LENGTHS[-1], **MODEL)
    way = TokenByToken(model, None, None, None, 1.0, at_once=8)

    def work():
        rows, state, times = [[1]], way.read(np.ones((1, 32), "int32")), {}
        while len(rows[0]) < LENGTHS[-1]:
            began = time.perf_counter()
            new, state = way.go_on(rows, [len(rows[0]) - 1], 8, 0, 0, state)
            rows[0].extend(new[0])
            times[len(rows[0])] = (time.perf_counter() - began) / 8
        # The median of the eight calls before a length is reached.
        return {
            str(length): float(np.median([times[n] for n in times if length - 64 < n <= length]))
            for length in LENGTHS
        }

    return work


def uncached():
    """The same by reading the whole text for every token."""
    import tensorflow as tf

    from keras_transformer import Gpt

    model = Gpt.from_size("llama-small", vocab_size=65, max_length=LENGTHS[-1], **MODEL)
    forward = {
        length: tf.function(
            lambda ids: tf.argmax(model({"token_ids": ids})[:, -1], axis=-1),
            input_signature=[tf.TensorSpec((1, length), tf.int32)],
        )
        for length in LENGTHS
    }

    def work():
        found = {}
        for length in LENGTHS:
            ids, times = tf.ones((1, length), tf.int32), []
            for _ in range(5):
                began = time.perf_counter()
                forward[length](ids).numpy()
                times.append(time.perf_counter() - began)
            found[str(length)] = float(np.median(times[1:]))
        return found

    return work


def writing(run, draft=None, guesses=4):
    """Tokens a second, one prompt after the other; what was written; how guessing went."""
    from keras_transformer.tasks.generate import load_writer

    writer = load_writer(run, draft=draft, guesses=guesses)

    def work():
        began = time.perf_counter()
        texts = [
            writer.write([prompt], max_tokens=TOKENS, temperature=None)[0] for prompt in PROMPTS
        ]
        seconds = time.perf_counter() - began
        found = {"tokens/s": len(PROMPTS) * TOKENS / seconds, "texts": texts}
        if draft is not None:
            way = writer.way(None, None, None, 1.0)
            found["right"] = way.right
            found["tokens a step"] = way.written / way.looks
        return found

    return work


def by_length(rounds):
    """Seconds a token, with a cache and without; prints and returns them."""
    rows = compete(
        [
            Contestant(CACHED, cached, environment=KEEP_MEMORY),
            Contestant(UNCACHED, uncached, environment=KEEP_MEMORY),
        ],
        rounds,
    )
    found = {
        name: {length: spread([row[str(length)] for row in of_name]) for length in LENGTHS}
        for name, of_name in rows.items()
    }
    print(f"\nMilliseconds for a token, by the tokens before it\n{'':10}", end="")
    print("".join(f"{length:>22,}" for length in LENGTHS))
    for name, points in found.items():
        cells = [
            f"{1000 * p['median']:.2f} ({1000 * p['low']:.2f} to {1000 * p['high']:.2f})"
            for p in points.values()
        ]
        print(f"{name:10}" + "".join(f"{cell:>22}" for cell in cells))
    growth = {
        name: exponents(LENGTHS, [point["median"] for point in points.values()])
        for name, points in found.items()
    }
    for name, exponents_of in growth.items():
        print(f"{name:10} exponents of growth: " + ", ".join(f"{e:.2f}" for e in exponents_of))
    return {"seconds": found, "exponents": growth}


def by_guessing(model, drafts, guesses, rounds):
    """Tokens a second without a draft and with each of them; prints and returns them."""
    contestants = [Contestant(PLAIN, writing, {"run": model})]
    for draft in drafts:
        for count in guesses:
            name = f"{draft}, {count} guesses"
            arguments = {"run": model, "draft": draft, "guesses": count}
            contestants.append(Contestant(name, writing, arguments))
    rows = compete(contestants, rounds)
    print_table(
        f"{len(PROMPTS)} texts of {TOKENS} tokens, one after the other",
        {name: [row["tokens/s"] for row in of_name] for name, of_name in rows.items()},
        "tokens a second, more is better",
    )
    found, plain = {}, rows[PLAIN]
    for name, of_name in rows.items():
        same = all(row["texts"] == plain[0]["texts"] for row in of_name)
        times = ratio([r["tokens/s"] for r in of_name], [r["tokens/s"] for r in plain])
        found[name] = {"tokens/s": spread([r["tokens/s"] for r in of_name]), "same texts": same}
        found[name] |= {"times plain": times}
        if name != PLAIN:
            last = of_name[-1]
            found[name] |= {key: last[key] for key in ("right", "tokens a step")}
            print(
                f"  {name}: {times['median']:.2f} x ({times['low']:.2f} to {times['high']:.2f}), "
                f"{last['right']:.0%} of the guesses right, {last['tokens a step']:.2f} tokens a "
                f"step of the model; texts {'the same' if same else 'DIFFER'}"
            )
    return found


def draw(out, found):
    """Milliseconds over length, both axes logarithmic."""
    figure, panel = pyplot().subplots(figsize=(6, 3.6))
    for name, color in ((CACHED, OURS), (UNCACHED, PEERS)):
        points = found["seconds"][name]
        middle = [1000 * p["median"] for p in points.values()]
        beyond = [
            [1000 * (p["median"] - p["low"]) for p in points.values()],
            [1000 * (p["high"] - p["median"]) for p in points.values()],
        ]
        panel.errorbar(LENGTHS, middle, yerr=beyond, color=color, marker="o", label=name)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xticks(LENGTHS, [f"{length:,}" for length in LENGTHS])
    panel.set(xlabel="tokens so far", ylabel="milliseconds for the next one")
    panel.legend(fontsize=8, frameon=False)
    panel.spines[["top", "right"]].set_visible(False)
    save(figure, out, "write_speed")


def main(model, draft, guesses, rounds, out):
    """Measures and reports."""
    guessing = by_guessing(model, draft, guesses, rounds) if model else None
    lengths = by_length(rounds)
    write_json(out, "write_speed", lengths=lengths, guessing=guessing)
    draw(out, lengths)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a run of train-lm")
    parser.add_argument("--draft", action="append", default=[], help="runs of smaller ones")
    parser.add_argument("--guesses", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="docs/performance", help="folder for JSON and picture")
    main(**vars(parser.parse_args()))
