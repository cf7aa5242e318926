"""Draws what the model of `examples/reverse_digits.py` looks at while it reverses a string.

python docs/pictures/draw_reversal.py [runs/reverse_digits/model.keras]
"""

import sys
from pathlib import Path

import keras
import matplotlib.pyplot as plt
import numpy as np

from keras_transformer import attention_model

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from reverse_digits import to_ids

STRING = "31415926"


def main(path="runs/reverse_digits/model.keras"):
    """Writes `reversal.png` beside this file."""
    model = keras.models.load_model(path)
    ids = {
        "source": to_ids([STRING], end=True),
        "target": to_ids([STRING[::-1]], start=True),
    }
    scores = attention_model(model)(ids)
    cross = [name for name in scores if name.endswith("cross_attention")]

    figure, axes = plt.subplots(1, len(cross), figsize=(9, 4.4), layout="constrained")
    source, target = [*STRING, "end"], [*STRING[::-1], "end"]
    for axis, name in zip(axes, cross, strict=True):
        weights = np.array(scores[name])[0].mean(axis=0)  # over the heads
        axis.imshow(weights[: len(target), : len(source)], cmap="Blues", vmin=0, vmax=1)
        axis.set_xticks(range(len(source)), source)
        axis.set_yticks(range(len(target)), target)
        axis.set_xlabel("looks at this digit of the source")
        axis.set_title(name, fontsize=10)
    axes[0].set_ylabel("to write this digit")
    figure.savefig(Path(__file__).with_name("reversal.png"), dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
