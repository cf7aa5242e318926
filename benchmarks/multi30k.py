"""What an hour of training gives on Multi30k, English to German, and how fast it translates.

    python benchmarks/multi30k.py DATA runs/ende

DATA is a folder with `{train,val,test_2016_flickr}.lc.norm.tok.{en,de}.gz`. Without the run
`runs/ende`, first

    keras-transformer train --size tiny --dropout 0.2 --max-minutes 60 --out runs/ende \
        --source DATA/train.lc.norm.tok.en.gz --target DATA/train.lc.norm.tok.de.gz \
        --valid-source DATA/val.lc.norm.tok.en.gz --valid-target DATA/val.lc.norm.tok.de.gz
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


def main(data, run):
    """Prints all figures of `docs/results.md` that depend on the run."""

    def files(part):
        return [Path(data) / f"{part}.lc.norm.tok.{language}.gz" for language in ("en", "de")]

    folder = RunFolder(run)
    check_tokenizer(folder.tokenizers()[0], read_pairs(*files("train"))[0][:5_000])
    report_training(folder)
    translator = Translator.load(run)
    for part in ("val", "test_2016_flickr"):
        sources, references = map(list, zip(*read_pairs(*files(part))[0], strict=True))
        translate_again_and_again(translator, sources, references, part)
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


def translate_again_and_again(translator, sources, references, part):
    """Scores, and how long it takes when the decoder is warm."""
    translations = translator(sources)
    traces = translator.decode.experimental_get_tracing_count()
    seconds = []
    for _ in range(PASSES):
        began = time.monotonic()
        assert translator(sources) == translations
        seconds.append(time.monotonic() - began)
    assert translator.decode.experimental_get_tracing_count() == traces, "decoding was traced again"
    result = score(translations, references, tokenize="none")
    print(
        f"{part}: BLEU {result['bleu']:.2f} ({result['bleu_signature']}), "
        f"chrF {result['chrf']:.2f}, "
        f"{len(sources):,} sentences in {min(seconds):.1f} to {max(seconds):.1f} s, {traces} trace"
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
    parser.add_argument("run", help="folder of a trained run")
    main(**vars(parser.parse_args()))
