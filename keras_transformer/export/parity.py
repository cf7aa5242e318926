"""How an exported model compares with the one it was made from."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from keras_transformer.text import END, START

BATCH = 32


@dataclass
class Tolerance:
    """How far from the original an export may be.

    Attributes:
        equal: share of answers that must be the same.
        logits: how far apart logits may be.
        score: how many points of BLEU, or percent of accuracy, may be lost, if right answers are
            known.
    """

    equal: float
    logits: float
    score: float


TOLERANCES = {
    "SavedModel": Tolerance(equal=1.0, logits=1e-3, score=0.0),
    "TFLite none": Tolerance(equal=0.995, logits=1e-2, score=0.1),
    "TFLite float16": Tolerance(equal=0.995, logits=5e-2, score=0.1),
    # Rounded weights turn close decisions round; what counts is that as many are good as before.
    "TFLite int8": Tolerance(equal=0.5, logits=3.0, score=0.5),
}


@dataclass
class Row:
    """One line of the report.

    Attributes:
        name: which model.
        sentences: how many were answered.
        equal: how many answers are the original's.
        logits: the largest difference between its logits and the original's.
        score_name: what is counted if right answers are known, "BLEU" or "accuracy".
        score: how much that is.
        score_difference: to the original.
        size: in bytes.
        milliseconds_one: the median time for a sentence alone.
        milliseconds_batch: the median time for 32 sentences together.
        problems: in which respects it is beyond its tolerance.
    """

    name: str
    sentences: int
    equal: int
    logits: float
    score_name: str
    score: float | None
    score_difference: float | None
    size: int
    milliseconds_one: float
    milliseconds_batch: float
    problems: list

    as_dict = asdict


def compare(
    original, exported, lines, score=None, advance=lambda: None, forced=None, score_name="BLEU"
):
    """Asks all models the same, and compares the answers.

    Args:
        original: the model that the others were made from; a `runtimes.KerasModel`.
        exported: a list of those. Each has a `name`, a `size` in bytes, and methods
            `answer(lines)`, to as many lines, and `logits(...)`, of ids.
        lines: what to answer, such as sentences to translate.
        score: a function of answers to points, if the right ones are known.
        advance: called whenever one model has been compared.
        forced: a function of the original, some lines and their answers to the arguments of
            `logits` and which of the logits matter; `teacher_forced` unless given.
        score_name: what the points are.

    Returns:
        A list of `Row`s, the original's first.
    """
    expected = original.answer(lines)
    inputs, real = (forced or teacher_forced)(original, lines[:BATCH], expected[:BATCH])
    logits, rows = original.logits(*inputs), []
    for model in [original, *exported]:
        answers = expected if model is original else model.answer(lines)
        # Logits after padding mean nothing, and need not be equal.
        difference = np.abs(model.logits(*inputs) - logits)[real].max()
        rows.append(
            Row(
                name=model.name,
                sentences=len(lines),
                equal=sum(a == e for a, e in zip(answers, expected, strict=True)),
                logits=float(difference),
                score_name=score_name,
                score=score and score(answers),
                score_difference=score and score(answers) - score(expected),
                size=model.size,
                milliseconds_one=median_milliseconds(model, lines[:1]),
                milliseconds_batch=median_milliseconds(model, (lines * BATCH)[:BATCH]),
                problems=[],
            )
        )
        rows[-1].problems = problems_of(rows[-1])
        advance()
    return rows


def problems_of(row):
    """In which respects a row is beyond its tolerance."""
    tolerance = TOLERANCES.get(row.name)
    if tolerance is None:
        return []
    problems = []
    if row.equal < tolerance.equal * row.sentences:
        problems.append(
            f"{row.sentences - row.equal} of {row.sentences} answers differ, "
            f"{1 - tolerance.equal:.1%} may"
        )
    if not row.logits <= tolerance.logits:
        problems.append(f"logits differ by {row.logits:.2g}, at most {tolerance.logits:.2g} may")
    if row.score_difference is not None and row.score_difference < -tolerance.score:
        problems.append(
            f"it loses {-row.score_difference:.2f} {row.score_name}, at most "
            f"{tolerance.score:.2f} may be lost"
        )
    return problems


def teacher_forced(model, lines, translations):
    """Ids of the lines, and of their translations as the decoder reads them; where these are."""
    room = model.longest - 1
    source = [[*ids[:room], END] for ids in model.tokenizers[0].encode(lines)]
    target = [[START, *ids[:room]] for ids in model.tokenizers[1].encode(translations)]
    target = fill_up(target)
    return (fill_up(source), target), target != 0


def fill_up(rows):
    """Lists of ids as one array, with padding."""
    filled = np.zeros((len(rows), max(map(len, rows))), "int32")
    for row, ids in zip(filled, rows, strict=True):
        row[: len(ids)] = ids
    return filled


def median_milliseconds(model, lines, times=5):
    """How long it takes to answer these lines, the first time aside."""
    model.answer(lines)
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        model.answer(lines)
        seconds.append(time.perf_counter() - began)
    return 1000 * float(np.median(seconds))


def size_of(path):
    """Bytes of a file, or of all files in a folder."""
    path = Path(path)
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def format_report(rows):
    """The report as a table, in lines of text."""
    score_name = rows[0].score_name
    titles = ["model", "equal", "logits", score_name, "size", "1 sentence", "32 sentences"]
    table = [titles]
    for row in rows:
        score = "-" if row.score is None else f"{row.score:.2f} ({row.score_difference:+.2f})"
        table.append(
            [
                row.name,
                f"{row.equal:,} of {row.sentences:,}",
                f"{row.logits:.1e}",
                score,
                f"{row.size / 1e6:.2f} MB",
                f"{row.milliseconds_one:.1f} ms",
                f"{row.milliseconds_batch:.0f} ms",
            ]
        )
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        cells = [text.ljust(width) for text, width in zip(line, widths, strict=True)]
        yield "  ".join(cells).rstrip()
