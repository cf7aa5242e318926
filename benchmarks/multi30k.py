"""What a training on Multi30k has given: greedy and beam, last, best and averaged, and how fast.

    python benchmarks/multi30k.py DATA runs/ende
    python benchmarks/multi30k.py DATA runs/ende --test

DATA is a folder with `{train,val,test_2016_flickr}.lc.norm.tok.{en,de}.gz`, and for `--raw` the
same names without `.lc.norm.tok`. The commands that train are in `docs/results.md`. The validation
set is translated unless `--test` is given: what is chosen by looking at the test set is not a
result.
"""

import argparse
import csv
import json
import time
from pathlib import Path

import tensorflow as tf

from keras_transformer.data import read_pairs
from keras_transformer.tasks import RunFolder, Translator
from keras_transformer.tasks.evaluate import score

PASSES = 3
BEAM, ALPHA = 5, 1.0


def main(data, run, languages, raw, test, speed):
    """Prints all figures of `docs/results.md` that depend on the run."""
    form, tokenize = ("", "13a") if raw else (".lc.norm.tok", "none")

    def pairs(part):
        files = [Path(data) / f"{part}{form}.{language}.gz" for language in languages.split("-")]
        return read_pairs(*files)[0]

    folder = RunFolder(run)
    check_tokenizer(folder.tokenizers()[0], pairs("train")[:5_000])
    report_training(folder)
    part = "test_2016_flickr" if test else "val"
    sources, references = map(list, zip(*pairs(part), strict=True))
    compare_models(folder, sources, references, part, tokenize)
    if speed:
        translator = Translator.load(run)
        translate_again_and_again(translator, sources)
        check_company(translator, sources)


def check_tokenizer(tokenizer, pairs):
    """Graph and host must agree on 10,000 lines, and the way back must be the normalised text."""
    lines = [text for pair in pairs for text in pair]
    on_host = tokenizer.encode(lines)
    in_graph = tokenizer.tokenize(tf.constant(lines)).to_list()
    assert in_graph == on_host, "graph and host disagree"
    assert tokenizer.decode(on_host) == [tokenizer.normalize(line) for line in lines]
    back = tokenizer.detokenize(tf.ragged.constant(on_host, dtype=tf.int32)).numpy()
    assert [text.decode() for text in back] == tokenizer.decode(on_host)
    print(f"Tokenizer: graph and host agree on {len(lines):,} lines, there and back")


def report_training(folder):
    """Padding, speed and length of the training."""
    data = json.loads((folder.path / "config.json").read_text())["data"]
    with (folder.path / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    speeds = sorted(int(row["tokens_per_second"]) for row in rows)
    best = min(rows, key=lambda row: float(row["val_perplexity"]))
    print(
        f"Training: {len(data['shapes'])} shapes, {data['padding']:.1%} padding, "
        f"{len(rows)} epochs, {rows[-1]['step']} steps, "
        f"{float(rows[-1]['seconds']) / 60:.1f} minutes, "
        f"{speeds[len(speeds) // 2]:,} tokens/s (median of epochs; {speeds[0]:,} to {speeds[-1]:,})"
    )
    print(f"Best epoch: {best['epoch']}, validation perplexity {float(best['val_perplexity']):.2f}")


def compare_models(folder, sources, references, part, tokenize):
    """Scores of each model of the run, decoded greedily and with a beam."""
    for weights in ("last", "best", "averaged"):
        for beam_size in (1, BEAM):
            translator = Translator.load(folder.path, weights, beam_size=beam_size, alpha=ALPHA)
            result = score(translator(sources), references, tokenize)
            print(
                f"{part}, {weights}, {f'beam {beam_size}' if beam_size > 1 else 'greedy'}: "
                f"BLEU {result['bleu']:.2f}, chrF {result['chrf']:.2f}",
                flush=True,
            )
    print(f"BLEU: {result['bleu_signature']}, chrF: {result['chrf_signature']}")


def translate_again_and_again(translator, sources):
    """How long translating takes when the decoder is warm, and whether it stays so."""
    translations = translator(sources)
    traces = translator.decode.experimental_get_tracing_count()
    seconds = []
    for _ in range(PASSES):
        began = time.monotonic()
        assert translator(sources) == translations
        seconds.append(time.monotonic() - began)
    assert translator.decode.experimental_get_tracing_count() == traces, "decoding was traced again"
    print(
        f"{len(sources):,} sentences, greedy, in {min(seconds):.1f} to {max(seconds):.1f} s, "
        f"{traces} trace"
    )


def check_company(translator, sources, count=100):
    """A sentence alone must come out as in the company of others."""
    together = translator(sources)
    alone = [translator([source])[0] for source in sources[:count]]
    same = sum(a == b for a, b in zip(alone, together, strict=False))
    print(f"Alone as in company: {same} of {count} sentences")
    assert same == count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="folder of Multi30k's files")
    parser.add_argument("run", help="folder of a run trained with --average")
    parser.add_argument("--languages", default="en-de", help="from which to which; en-de")
    parser.add_argument("--raw", action="store_true", help="the files that are not tokenised")
    parser.add_argument("--test", action="store_true", help="test_2016_flickr instead of val")
    parser.add_argument("--speed", action="store_true", help="also time it, warm")
    main(**vars(parser.parse_args()))
