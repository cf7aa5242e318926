"""Draws the learning curve of a run.

python docs/pictures/draw_learning_curve.py runs/ende docs/pictures/multi30k.png
python docs/pictures/draw_learning_curve.py runs/shakespeare docs/pictures/shakespeare.png loss
"""

import csv
import sys
from pathlib import Path

import matplotlib.pyplot as plt


def main(run, out, first="perplexity"):
    """Writes the picture of the run's `metrics.csv`."""
    with (Path(run) / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    minutes = [float(row["seconds"]) / 60 for row in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, metric in ((left, first), (right, "accuracy")):
        for name, label in ((metric, "training, with dropout"), (f"val_{metric}", "validation")):
            axis.plot(minutes, [float(row[name]) for row in rows], marker=".", label=label)
        axis.set_xlabel("minutes")
        axis.set_title(metric)
        axis.grid(alpha=0.3)
    if first == "perplexity":
        left.set_yscale("log")
    left.legend()
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
