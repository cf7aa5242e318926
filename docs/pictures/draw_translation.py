"""Draws what the model of `make demo` looks at while it translates a sentence.

python docs/pictures/draw_translation.py [runs/phrases]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from keras_transformer import attention_model
from keras_transformer.tasks import RunFolder, Translator
from keras_transformer.text import END, START

SENTENCE = "the young princess will not eat these green apples"


def main(run="runs/phrases"):
    """Writes `translation.png` beside this file."""
    translator = Translator.load(run)
    tokenizer, _ = RunFolder(run).tokenizers()
    translation = translator([SENTENCE])[0]
    source, target = tokenizer.encode(SENTENCE), tokenizer.encode(translation)
    scores = attention_model(translator.model)(
        {"source": np.array([[*source, END]]), "target": np.array([[START, *target]])}
    )
    last = [name for name in scores if name.endswith("cross_attention")][-1]
    weights = np.array(scores[last])[0].mean(axis=0)  # over the heads

    figure, axis = plt.subplots(figsize=(5.2, 5.6), layout="constrained")
    axis.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    axis.set_xticks(range(len(source) + 1), [*pieces(tokenizer, source), "end"], rotation=45)
    axis.set_yticks(range(len(target) + 1), [*pieces(tokenizer, target), "end"])
    axis.set_xlabel("looks at this piece of the source")
    axis.set_ylabel("to write this piece")
    axis.set_title(last, fontsize=10)
    figure.savefig(Path(__file__).with_name("translation.png"), dpi=110)


def pieces(tokenizer, ids):
    """The text of each token."""
    return [tokenizer.decode([token]) for token in ids]


if __name__ == "__main__":
    main(*sys.argv[1:])
