"""Options that several commands have, and how options are made."""

from pathlib import Path
from typing import Annotated

import typer

DATA, VOCABULARY, MODEL, TRAINING, DEVICES = (
    "Data",
    "Vocabulary",
    "Model",
    "Training",
    "Devices",
)


def option(help, panel=None):
    """An option with its help and the panel it is shown in."""
    return typer.Option(help=help, rich_help_panel=panel, show_default=False)


def flag(name, help, panel=None):
    """An option that is given or not; by default there would be a --no- for each, too."""
    return typer.Option(name, help=help, rich_help_panel=panel, show_default=False)


Beam = Annotated[int, option("Translations followed side by side; 1, greedy, unless given.")]
Alpha = Annotated[float, option("How much a beam favours long translations; 1 unless given.")]
Weights = Annotated[
    str | None, option("best, last or averaged; averaged if there is one, unless given.")
]
Run = Annotated[Path, typer.Argument(help="Folder of a trained run.", show_default=False)]
Strategy = Annotated[
    str, option("auto (unless given), one, mirrored, multiworker or tpu.", DEVICES)
]
Replicas = Annotated[
    int | None, option("For mirrored: so many GPUs, or parts of the CPU.", DEVICES)
]
Tpu = Annotated[str | None, option("Name or address of a TPU; local unless given.", DEVICES)]
Resume = Annotated[bool, flag("--resume", "Go on from the last checkpoint.")]
ResumeOrBegin = Annotated[
    bool, flag("--resume-or-begin", "Go on if there is a run, else begin one.")
]
Overwrite = Annotated[bool, flag("--overwrite", "Replace an earlier run.")]
OtherVersions = Annotated[
    bool, flag("--other-versions", "Resume with other versions of the libraries.")
]
Out = Annotated[Path, option("Folder for everything about this run.")]
SkipBadLines = Annotated[
    bool | None, flag("--skip-bad-lines", "Leave out lines that are not UTF-8.", DATA)
]
VocabSize = Annotated[int | None, option("Pieces; 8000 unless given.", VOCABULARY)]
Dim = Annotated[int | None, option("Width.", MODEL)]
NumHeads = Annotated[int | None, option("Attention heads.", MODEL)]
FfnDim = Annotated[int | None, option("Inner width of the feed-forward networks.", MODEL)]
BatchTokens = Annotated[
    int | None, option("Positions of a batch, that of all devices together.", TRAINING)
]
ScaleBatch = Annotated[
    bool | None,
    flag("--scale-batch", "Batches as many times larger as there are devices.", TRAINING),
]
Accumulate = Annotated[int | None, option("Batches to average the gradient over; 1.", TRAINING)]
MixedPrecision = Annotated[bool | None, flag("--mixed-precision", "Compute in bfloat16.", TRAINING)]
LearningRate = Annotated[float | None, option("The highest.", TRAINING)]
WarmupSteps = Annotated[int | None, option("How long it rises.", TRAINING)]
CoolDown = Annotated[
    float | None, option("Share of --max-steps in which it falls to zero; 0.", TRAINING)
]
LabelSmoothing = Annotated[float | None, option("0.1 unless given.", TRAINING)]
WeightDecay = Annotated[float | None, option("Of matrices; 0.01.", TRAINING)]
ClipNorm = Annotated[float | None, option("Largest gradient norm; 1.", TRAINING)]
Epochs = Annotated[int | None, option("At most; 100.", TRAINING)]
AtMost = Annotated[int | None, option("At most.", TRAINING)]
Minutes = Annotated[float | None, option("At most.", TRAINING)]
Patience = Annotated[
    int | None, option("Stop after so many epochs without a better validation; 10.", TRAINING)
]
StepsPerExecution = Annotated[
    int | None, option("Steps between looks at limits and signals; 1.", TRAINING)
]
Seed = Annotated[int | None, option("Of everything drawn; 0.", TRAINING)]
