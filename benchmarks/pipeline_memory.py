"""Whether memory grows with the corpus: the same pipeline over a small and a large file.

    python benchmarks/pipeline_memory.py

writes generated sentences to a temporary folder, 20,000 lines and 2,000,000, and takes each from
text to batches in a process of its own: reading, learning the vocabulary, encoding, all batches of
an epoch.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SMALL, LARGE = 20_000, 2_000_000
WORDS = 30_000


def main(lines, pack):
    """Prints the peak memory of both, and the difference."""
    with tempfile.TemporaryDirectory() as folder:
        peaks = []
        for count in (SMALL, lines):
            path = Path(folder) / f"{count}.tsv"
            write_pairs(path, count)
            print(f"{count:,} lines, {path.stat().st_size / 1e6:,.0f} MB", flush=True)
            command = [sys.executable, __file__, "--of", str(path), *(["--pack"] if pack else [])]
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
            answer = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, text=True, env=environment
            )
            print(answer.stdout, end="", flush=True)
            peaks.append(int(answer.stdout.split()[-2].replace(",", "")))
    print(f"{peaks[1] - peaks[0]:,} MB more for {lines // SMALL:,} times as many lines")


def write_pairs(path, count):
    """Sentences of invented words; common ones are common, as in any language."""
    draw = random.Random(0)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(WORDS)]
    weights = [1 / (rank + 3) for rank in range(WORDS)]
    pool = draw.choices(words, weights, k=1_000_000)  # drawing each word anew takes minutes
    with path.open("w") as file:
        for _ in range(count):
            sides = []
            for _ in range(2):
                first, length = draw.randrange(len(pool) - 40), draw.randint(5, 25)
                sides.append(" ".join(pool[first : first + length]))
            file.write("\t".join(sides) + "\n")


def run_pipeline(path, pack):
    """From the file to all batches of an epoch."""
    from keras_transformer.tasks.corpus import load_corpus
    from keras_transformer.tasks.preparation import learn_tokenizers, make_batches
    from keras_transformer.tasks.settings import Settings

    began = time.monotonic()
    settings = Settings(data=path, batch_tokens=4096, pack=pack)
    corpus = load_corpus(settings)
    batches, _ = make_batches(corpus, learn_tokenizers(corpus, settings), settings)
    steps = sum(1 for _ in batches.epoch(0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    print(
        f"  {steps:,} batches, {batches.padding:.1%} padding, in {time.monotonic() - began:.0f} s, "
        f"peak {peak:,} MB"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=LARGE, help="of the large file")
    parser.add_argument("--pack", action="store_true", help="packed batches")
    parser.add_argument("--of", help="run the pipeline over this file in this process")
    options = parser.parse_args()
    if options.of:
        run_pipeline(options.of, options.pack)
    else:
        main(options.lines, options.pack)
