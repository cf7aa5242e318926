"""Few-shot classification: a language model learns a task from its prompt, and `score` asks it.

    python examples/learn_from_prompt.py

    cow: yes              fork: no              A list of two kinds of things, each kind with a
    plate: no             sun: yes              label. Which kinds, and which of them has which
    goat: yes             spoon: no             label, is drawn anew for every list.
    cup: ?                rain: ?

A small GPT reads such lists. What a label means stands in none of its weights: it can only be found
in the list itself. So the model has to learn to learn from examples. Then it gets lists of pairs of
kinds that it has never seen together, and is asked for the next label: the two are compared by how
likely each is after the prompt (`score`), which is how GPT-3 was asked (Brown et al. 2020).

Without an example it must guess, with two it may not have seen the other kind yet; with eight it
knows. About three minutes on two cores.
"""

import argparse
import itertools
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
LABELS = ("yes", "no")
LINES = 12
SHOTS = (0, 1, 2, 4, 8)
UNSEEN = (("animal", "weather"), ("kitchen", "body"), ("clothes", "colour"))


def write_list(kinds, draw, lines=LINES):
    """Words of two kinds in any order, each with the label that its kind has here."""
    labels = dict(zip(draw.sample(kinds, 2), LABELS, strict=True))
    words = [(word, labels[kind]) for kind in kinds for word in KINDS[kind].split()]
    return draw.sample(words, lines)


def as_prompt(examples, word):
    """What the model reads before it says a label."""
    return "".join(f"{word}: {label}\n" for word, label in examples) + f"{word}:"


def write_corpus(path, count, seed=0):
    """Lists of all pairs of kinds but those that are kept for later, blank lines between them."""
    draw = random.Random(seed)
    pairs = [pair for pair in itertools.combinations(KINDS, 2) if pair not in UNSEEN]
    lists = [write_list(draw.choice(pairs), draw) for _ in range(count)]
    texts = ["\n".join(f"{word}: {label}" for word, label in of_list) for of_list in lists]
    path.write_text("\n\n".join(texts) + "\n")


def accuracy(scorer, shots, count, seed=1):
    """How often the likelier label is the right one, after so many examples."""
    draw, prompts, right = random.Random(seed), [], []
    for _ in range(count):
        *examples, (word, label) = write_list(draw.choice(UNSEEN), draw, shots + 1)
        prompts.append(as_prompt(examples, word))
        right.append(label)
    yes, no = (scorer([f" {label}"] * count, prompts) for label in LABELS)
    found = [LABELS[one.total < other.total] for one, other in zip(yes, no, strict=True)]
    return sum(f == r for f, r in zip(found, right, strict=True)) / count


def main(steps=None, out="runs/learn_from_prompt", count=500):
    """Trains, asks, prints; returns the accuracy for each number of examples."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    write_corpus(out / "lists.txt", 20_000 if steps is None else 200)
    train_language(
        out / "run",
        text=out / "lists.txt",
        documents=True,
        vocab_kind="bpe",
        size="llama-mini",
        max_length=64,
        batch_tokens=2048,
        max_steps=steps or 2_000,
        valid_share=0.02,
        prompt="cow: yes\nplate: no\ngoat:",
        overwrite=True,
    )
    scorer, found = Scorer.load(out / "run"), {}
    print("\nexamples in the prompt   labels right, chance being 50 %")
    for shots in SHOTS:
        found[shots] = accuracy(scorer, shots, count)
        print(f"{shots:22}{found[shots]:10.1%}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, help="of the training, to try it out")
    parser.add_argument("--out", default="runs/learn_from_prompt", help="folder for everything")
    main(**vars(parser.parse_args()))
