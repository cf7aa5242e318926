"""What benchmarks say about their measurements is true; nothing is timed here."""

import json
import os
import time

import numpy as np
import pytest

from benchmarks.contest import Contestant, compete
from benchmarks.report import ratio, spread, verdict, write_json
from benchmarks.scaling import bend, exponents
from benchmarks.train_speed import step_flops


def test_a_spread_is_median_lowest_and_highest():
    assert spread([3.0, 1.0, 10.0]) == {"median": 3.0, "low": 1.0, "high": 10.0}


def test_ratios_are_of_the_same_round():
    assert ratio([2.0, 9.0], [1.0, 3.0]) == {"median": 2.5, "low": 2.0, "high": 3.0}


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [([5, 6], [3, 4], "ahead"), ([3, 4], [5, 6], "behind"), ([3, 5], [4, 6], "even")],
)
def test_nobody_wins_while_spreads_overlap(ours, theirs, said):
    assert verdict(ours, theirs) == said


def test_the_exponent_of_a_power_law_is_found():
    lengths = (8, 16, 32, 64, 128, 256, 512)
    np.testing.assert_allclose(exponents("length", [0.3 * n**1.5 for n in lengths]), 1.5)


def test_a_curve_that_is_first_flat_then_steep_bends():
    assert bend((1, 2, 4, 8), [0.1, 0.2, 0.9]) == (
        "the exponent rises from 0.10 to 0.90, half of it before 8"
    )
    assert bend((1, 2, 4, 8), [1.0, 0.9, 1.1]) == "no bend"


def test_flops_of_a_step_are_counted_by_hand():
    # One pair of 2 source and 3 target tokens, 1 layer, 4 wide, inner width 8, 8,000 pieces.
    encoder = 2 * (4 * 16 + 2 * 4 * 8) + 2 * 2 * 2 * 4
    decoder = 3 * (6 * 16 + 2 * 4 * 8) + 2 * 2 * 16 + 2 * 3 * 4 * (3 + 2)
    output = 3 * 4 * 8000
    counts = np.array([[2, 3]])
    found = step_flops(counts, dim=4, num_heads=2, ffn_dim=8, num_layers=1, dropout=0.1)
    assert found == 6 * (encoder + decoder + output)


def when():
    """A contestant: it says at what time it has worked."""
    return lambda: {"at": time.monotonic()}


def breaks():
    """A contestant that cannot."""
    raise OSError("no such library")


def test_contestants_take_turns_in_processes_of_their_own(capsys):
    figures = compete([Contestant("a", when), Contestant("b", when)], rounds=3)
    (a1, a2, a3), (b1, b2, b3) = ([f["at"] for f in figures[name]] for name in "ab")
    assert a1 < b1 < b2 < a2 < a3 < b3


def test_a_contestant_that_fails_says_why():
    with pytest.raises(RuntimeError, match=r"(?s)c failed:.*no such library"):
        compete([Contestant("c", breaks)], rounds=1)


def dies():
    """A contestant that takes its process with it."""
    os.write(2, b"illegal instruction")
    os._exit(1)


def test_a_contestant_that_dies_leaves_its_last_words():
    with pytest.raises(RuntimeError, match=r"(?s)d ended without an answer:.*illegal instruction"):
        compete([Contestant("d", dies)], rounds=1)


def test_the_file_says_with_what_it_was_measured(tmp_path, capsys):
    content = json.loads(write_json(tmp_path, "speed", figures=[1]).read_text())
    assert content["figures"] == [1]
    assert content["machine"]["tensorflow"].startswith("2.")
    assert content["machine"]["cores"] >= 1
