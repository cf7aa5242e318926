"""Text and labels from a grammar so small that a tiny BERT learns it in seconds."""

import random

ANIMALS = ("dog", "cat", "cow", "pig")
NAMES = ("ada", "bob", "eve", "max")
PLACES = ("rome", "oslo", "lima", "cork")
GOOD, BAD = ("great", "lovely", "nice"), ("awful", "nasty", "poor")
SIZE = {"dim": 16, "num_heads": 2, "ffn_dim": 32, "num_layers": 1, "max_length": 24}


def sentence(draw):
    """Words, their tags, and whether it is praise."""
    name, place, animal = draw.choice(NAMES), draw.choice(PLACES), draw.choice(ANIMALS)
    praise = draw.random() < 0.5
    word = draw.choice(GOOD if praise else BAD)
    words = [name, "saw", "a", word, animal, "in", place]
    return words, ["B-PER", "O", "O", "O", "O", "O", "B-LOC"], praise


def write_documents(path, count=60, seed=0):
    """A text file of documents of three sentences."""
    draw = random.Random(seed)
    documents = ["\n".join(" ".join(sentence(draw)[0]) for _ in range(3)) for _ in range(count)]
    path.write_text("\n\n".join(documents) + "\n")
    return path


def write_labelled(path, count=120, seed=1):
    """A TSV file: good or bad, and the sentence."""
    draw = random.Random(seed)
    rows = [sentence(draw) for _ in range(count)]
    rows = dict.fromkeys((" ".join(words), praise) for words, _, praise in rows)
    path.write_text("".join(f"{'good' if p else 'bad'}\t{text}\n" for text, p in rows))
    return path


def write_tagged(path, count=120, seed=2):
    """Words and tags in columns."""
    draw = random.Random(seed)
    with path.open("w") as file:
        for _ in range(count):
            words, tags, _ = sentence(draw)
            file.writelines(f"{w}\t{t}\n" for w, t in zip(words, tags, strict=True))
            file.write("\n")
    return path


def write_questions(path, count=150, seed=3):
    """Questions about who saw, and in what place."""
    draw = random.Random(seed)
    with path.open("w") as file:
        for _ in range(count):
            words, _, _ = sentence(draw)
            who = draw.random() < 0.5
            question, answer = ("saw", words[0]) if who else ("in", words[-1])
            file.write(f"{question}\t{' '.join(words)}\t{answer}\n")
    return path
