"""Few-shot classification: the examples in the prompt say what is asked, and `score` answers.

    python examples/learn_from_prompt.py

    cow animal            cow c                 cow 3
    plate kitchen         plate p               plate 5
    thunder ...           thunder ...           thunder ...

A small GPT reads lists of words: beside each word stands its kind, or its first letter, or how many
letters it has, the same in all lines of a list. Then it gets new lists, and the last label is
missing. All 32 labels that there are, of whatever sort, are compared by how likely each is after
the prompt (`score`), which is how GPT-3 was asked (Brown et al. 2020). Nothing is trained for that.

Without an example it cannot know which of the three is wanted; one example is enough. About
a minute on two cores.
"""

import argparse
import random
from pathlib import Path

from keras_transformer.tasks import Scorer, train_language

KINDS = {
    "animal": "cow goat hen pig duck horse sheep cat dog mouse lion bear",
    "kitchen": "fork plate cup spoon pan pot knife bowl glass kettle oven jar",
    "weather": "sun rain snow wind fog storm hail frost cloud thunder heat ice",
    "clothes": "hat coat sock shirt scarf glove shoe belt dress skirt boot cap",
    "colour": "red blue green black white brown pink grey purple yellow orange gold",
    "body": "hand foot arm leg nose ear knee neck chin toe thumb elbow",
}
KIND_OF = {word: kind for kind, words in KINDS.items() for word in words.split()}
QUESTIONS = {
    "kind": KIND_OF.get,
    "first letter": lambda word: word[0],
    "letters": lambda word: str(len(word)),
}
LABELS = sorted({label(word) for label in QUESTIONS.values() for word in KIND_OF})
LINES = 8
SHOTS = (0, 1, 2, 4)


def write_list(question, draw, lines=LINES):
    """Different words, each with its label."""
    return [(word, QUESTIONS[question](word)) for word in draw.sample(sorted(KIND_OF), lines)]


def as_prompt(examples, word):
    """What the model reads before it says a label."""
    return "".join(f"{word} {label}\n" for word, label in examples) + word


def write_corpus(path, count, seed=0):
    """A text file of lists, blank lines between them."""
    draw = random.Random(seed)
    lists = [write_list(draw.choice(list(QUESTIONS)), draw) for _ in range(count)]
    texts = ["\n".join(f"{word} {label}" for word, label in of_list) for of_list in lists]
    path.write_text("\n\n".join(texts) + "\n")


def accuracy(scorer, shots, count, seed=1):
    """How often the likeliest label is the right one, after so many examples."""
    draw, prompts, right = random.Random(seed), [], []
    for _ in range(count):
        *examples, (word, label) = write_list(draw.choice(list(QUESTIONS)), draw, shots + 1)
        prompts.append(as_prompt(examples, word))
        right.append(label)
    totals = [[score.total for score in scorer([f" {label}"] * count, prompts)] for label in LABELS]
    found = [LABELS[of_prompt.index(max(of_prompt))] for of_prompt in zip(*totals, strict=True)]
    return sum(f == r for f, r in zip(found, right, strict=True)) / count


def main(steps=None, out="runs/learn_from_prompt", count=200):
    """Trains, asks, prints; returns the accuracy for each number of examples."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    write_corpus(out / "lists.txt", 10_000 if steps is None else 200)
    train_language(
        out / "run",
        text=out / "lists.txt",
        documents=True,
        vocab_kind="bpe",
        size="llama-mini",
        max_length=64,
        batch_tokens=2048,
        max_steps=steps or 800,
        valid_share=0.02,
        prompt="cow 3\nplate 5\nthunder",
        overwrite=True,
    )
    scorer, found = Scorer.load(out / "run"), {}
    print(f"\nexamples in the prompt   right labels, of {len(LABELS)}")
    for shots in SHOTS:
        found[shots] = accuracy(scorer, shots, count)
        print(f"{shots:22}{found[shots]:10.1%}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, help="of the training, to try it out")
    parser.add_argument("--out", default="runs/learn_from_prompt", help="folder for everything")
    main(**vars(parser.parse_args()))
