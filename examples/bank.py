"""What does *bank* mean? A vector for each word cannot say; a vector for each use can.

    python examples/bank.py

    talking about credit the fisher slept on the muddy bank near the reeds      a river's edge
    dreaming of otters the clerk opened an account at the bank in town          a house for money

A small grammar writes sentences in which *bank* and *apple* have two meanings each, and begins them
with a word that may belong to either. Three ways to give them vectors, all learned from the same
sentences:

- word2vec: skip-gram, one vector a word, whatever stands around it;
- un-learned self-attention: each word's vector becomes a mean of its sentence's vectors, weighted
  by a softmax of their dot products, `attention(v, v, v, scale=1)`; nothing is trained for it;
- a small BERT, pre-trained to guess hidden words: one vector a use.

A straight line through the vectors then has to part the two meanings, on sentences it has not seen.
About four minutes on two cores; word2vec is at chance, BERT at 95 % or more, and the pictures are
in `runs/bank/bank.png` (with matplotlib: `pip install 'keras-transformer-layers[plots]'`).
"""

import argparse
import random
from pathlib import Path

import keras
import numpy as np

from keras_transformer import attention
from keras_transformer.tasks import FeatureReader, features, pretrain

PEOPLE = ("fisher", "clerk", "farmer", "teacher", "doctor", "sailor", "lawyer", "baker", "girl")
# For each meaning: what happens before the word, and where, after it.
MEANINGS = {
    ("bank", "money"): (
        ("opened an account at the", "paid the loan to the", "got some cash from the",
         "asked for credit at the", "lost all savings at the", "signed a mortgage with the"),
        ("in town", "with high interest", "on the market square", "that owns the vault",
         "where tellers count coins", "before the rates went up"),
    ),
    ("bank", "river"): (
        ("slept on the muddy", "tied the boat to the", "caught a trout from the",
         "walked along the grassy", "watched ducks on the", "fell down the steep"),
        ("near the reeds", "of the river", "by the cold stream", "under the willows",
         "where otters swim", "before the flood came"),
    ),
    ("apple", "fruit"): (
        ("peeled a sweet", "picked the ripe", "baked a pie with an", "ate a juicy",
         "washed the green", "dropped a rotten"),
        ("from the orchard", "with cinnamon", "off the tree", "after lunch",
         "full of seeds", "in the basket"),
    ),
    ("apple", "company"): (
        ("bought shares of", "wrote software for", "read news about", "works as engineer at",
         "sold a patent to", "met the managers of"),
        ("on the stock exchange", "for new phones", "in the computer industry",
         "after the quarterly report", "with better laptops", "before the product launch"),
    ),
}  # fmt: skip
OPENINGS = ("talking about", "dreaming of", "after a book on", "tired of")
# What a sentence may begin with, whatever it is about.
TOPICS = {
    "bank": ("interest", "credit", "savings", "cash", "reeds", "otters", "trout", "willows"),
    "apple": ("cinnamon", "seeds", "orchards", "pie", "software", "phones", "shares", "laptops"),
}
WINDOW, NEGATIVE, DIM = 4, 5, 48


def make_sentences(count, seed=0):
    """Sentences of all four meanings in turn: words, where the word in question is, its meaning."""
    draw, found = random.Random(seed), []
    for i in range(count):
        (word, meaning), (before, after) = list(MEANINGS.items())[i % len(MEANINGS)]
        opening = [*draw.choice(OPENINGS).split(), draw.choice(TOPICS[word])]
        start = [*opening, "the", draw.choice(PEOPLE), *draw.choice(before).split()]
        found.append(([*start, word, *draw.choice(after).split()], len(start), meaning))
    return found


def skip_gram(sentences, steps=3000, batch=512, seed=0):
    """Mikolov et al. 2013: a word's vector is near those of words it stands beside.

    Returns:
        A dict from words to vectors.
    """
    keras.utils.set_random_seed(seed)
    vocabulary = sorted({word for words, _, _ in sentences for word in words})
    number = {word: i for i, word in enumerate(vocabulary)}
    rows = [[number[word] for word in words] for words, _, _ in sentences]
    pairs = np.array(
        [
            (row[i], row[j])
            for row in rows
            for i in range(len(row))
            for j in range(max(0, i - WINDOW), min(len(row), i + WINDOW + 1))
            if i != j
        ]
    )
    center, other = (keras.Input((), dtype="int32") for _ in range(2))
    vectors = keras.layers.Embedding(len(vocabulary), DIM)
    beside = keras.layers.Embedding(len(vocabulary), DIM)
    score = keras.layers.Dot(axes=1)([vectors(center), beside(other)])
    model = keras.Model([center, other], score)
    model.compile(keras.optimizers.Adam(0.01), keras.losses.BinaryCrossentropy(from_logits=True))

    draw = np.random.default_rng(seed)
    counts = np.bincount(np.concatenate(rows), minlength=len(vocabulary)) ** 0.75
    for _ in range(steps):
        real = pairs[draw.integers(len(pairs), size=batch)]
        centers = np.repeat(real[:, 0], 1 + NEGATIVE)
        noise = draw.choice(len(vocabulary), (batch, NEGATIVE), p=counts / counts.sum())
        others = np.concatenate([real[:, 1:], noise], axis=1).reshape(-1)
        labels = np.tile([1.0] + [0.0] * NEGATIVE, batch)
        model.train_on_batch([centers, others], labels)
    return dict(zip(vocabulary, keras.ops.convert_to_numpy(vectors.embeddings), strict=True))


def vectors_of_uses(sentences, word_vectors, reader):
    """For each way, the vector of the word in question in every sentence, (sentences, D)."""
    fixed, looked_around = [], []
    for words, place, _ in sentences:
        v = np.stack([word_vectors[word] for word in words])
        fixed.append(v[place])
        looked_around.append(keras.ops.convert_to_numpy(attention(v, v, v, scale=1.0))[place])
    contextual = features(reader, [" ".join(words) for words, _, _ in sentences], combine="last")
    return {
        "word2vec": np.stack(fixed),
        "un-learned attention": np.stack(looked_around),
        "BERT": np.stack(
            [v[place] for v, (_, place, _) in zip(contextual, sentences, strict=True)]
        ),
    }


def probe(vectors, is_first):
    """How often a straight line, fitted to one half of the uses, parts the other half rightly."""
    x = np.concatenate([vectors, np.ones((len(vectors), 1))], axis=1)
    y = np.where(is_first, 1.0, -1.0)
    half = len(x) // 2
    a, b = x[:half], y[:half]
    line = np.linalg.solve(a.T @ a + 1e-3 * np.eye(a.shape[1]), a.T @ b)
    return float(np.mean((x[half:] @ line > 0) == (y[half:] > 0)))


def words_around(sentences, word, meaning):
    """The words of all sentences in which a word has this meaning, the openings aside."""
    found = set()
    for words, place, its_meaning in sentences:
        if its_meaning == meaning:
            found.update(words[place - 3 : place] + words[place + 1 :])
    return found - {word}


def flat(vectors):
    """The two directions in which vectors differ most, (N, 2)."""
    centered = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centered, full_matrices=False)
    return centered @ directions[:2].T


def draw(uses, sentences, word_vectors, scores, path):
    """A scatter plot for each way and each word; colours are meanings.

    Of word2vec, the word is one point, drawn as a star among the words that stand around it.
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
    words = [words[place] for words, place, _ in sentences]
    meanings = np.array([meaning for _, _, meaning in sentences])
    for row, word in zip(axes, ("bank", "apple"), strict=True):
        chosen = np.array([w == word for w in words])
        senses = sorted(set(meanings[chosen]))
        around = [words_around(sentences, word, meaning) for meaning in senses]
        for plot, (way, vectors) in zip(row, uses.items(), strict=True):
            if way == "word2vec":
                names = [word, *sorted(around[0] - around[1]), *sorted(around[1] - around[0])]
                points = flat(np.stack([word_vectors[name] for name in names]))
                group = np.array([name in around[1] for name in names[1:]]).astype(int)
                plot.scatter(*points[:1].T, s=220, marker="*", color="black", zorder=3)
                plot.annotate(word, points[0], xytext=(8, 6), textcoords="offset points")
                points = points[1:]
            else:
                points = flat(vectors[chosen])
                group = np.array([senses.index(meaning) for meaning in meanings[chosen]])
            for i, meaning in enumerate(senses):
                plot.scatter(*points[group == i].T, s=14, alpha=0.6, label=f"{word}: {meaning}")
            plot.set_title(f"{way}: {scores[word, way]:.0%}")
            plot.set_xticks([])
            plot.set_yticks([])
        row[0].legend(loc="upper left")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main(steps=None, out="runs/bank"):
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    sentences = make_sentences(4_000)
    text = out / "sentences.txt"
    text.write_text("\n\n".join(" ".join(words) for words, _, _ in sentences) + "\n")
    word_vectors = skip_gram(sentences, steps or 3_000)
    pretrain(
        out / "bert",
        text=text,
        next_sentence=False,
        overwrite=True,
        size="tiny",
        vocab_size=400,
        max_length=32,
        batch_tokens=2048,
        max_steps=steps or 1_200,
        cool_down=0.3,
        patience=100,
    )
    # Not those that the models have learned from.
    test = make_sentences(800, seed=1)
    uses = vectors_of_uses(test, word_vectors, FeatureReader.load(out / "bert"))
    scores = {}
    print(f"{'':22}{'bank':>8}{'apple':>8}   meanings told apart, chance being 50 %")
    for way, vectors in uses.items():
        for word, first in (("bank", "money"), ("apple", "fruit")):
            chosen = [words[place] == word for words, place, _ in test]
            is_first = np.array([meaning == first for _, _, meaning in test])[chosen]
            scores[word, way] = probe(vectors[chosen], is_first)
        print(f"{way:22}{scores['bank', way]:8.1%}{scores['apple', way]:8.1%}")
    try:
        draw(uses, test, word_vectors, scores, out / "bank.png")
    except ImportError:
        print("For the pictures: pip install 'keras-transformer-layers[plots]'")
    else:
        print(f"Drawn to {out / 'bank.png'}")
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, help="of both trainings, to try it out")
    parser.add_argument("--out", default="runs/bank", help="folder for everything")
    main(**vars(parser.parse_args()))
