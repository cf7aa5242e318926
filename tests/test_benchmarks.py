"""What benchmarks say about their measurements is true; nothing is timed here."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks import decode_speed, layer_speed, sentence_profile, spam
from benchmarks.contest import Contestant, compete
from benchmarks.report import ratio, spread, verdict, write_json
from benchmarks.scaling import bend, exponents
from benchmarks.train_speed import step_flops
from keras_transformer import Transformer


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
    np.testing.assert_allclose(exponents(lengths, [0.3 * n**1.5 for n in lengths]), 1.5)


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


def test_quick_work_is_timed_several_times_and_long_work_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(decode_speed.time, "perf_counter", lambda: now[0])

    def work_of(seconds):
        calls = []

        def translate(batches):
            calls.append(list(batches))
            now[0] += seconds * len(batches)
            return batches

        return calls, decode_speed.timed(translate, list(range(10)))

    calls, (found, seconds) = work_of(0.01)
    assert found == list(range(10))
    assert seconds == pytest.approx(0.1)
    assert [len(batches) for batches in calls] == [2, 10] + [10] * decode_speed.REPEATS
    calls, (_, seconds) = work_of(1.0)
    assert seconds == pytest.approx(10.0)
    assert [len(batches) for batches in calls] == [2, 10]  # a fifth to get warm, and once


def test_ratios_of_all_shapes_are_averaged_geometrically():
    cells = {
        "block / forward / 128 / 8 / 16": {"ratio": {"median": 0.5}},
        "block / forward / 128 / 8 / 64": {"ratio": {"median": 2.0}},
        "block / forward / 256 / 8 / 16": {"ratio": {"median": 3.0}},
    }
    means = layer_speed.mean_ratios(cells)
    assert means == pytest.approx({"block, forward, 128 wide": 1, "block, forward, 256 wide": 3})


def test_every_matrix_of_a_step_is_multiplied_with_once():
    model = Transformer.from_size("tiny", 50)
    blocks, output = sentence_profile.kernels_of_a_step(model)
    kernels = [kernel for block in blocks for kernel in block]
    # Whatever else a step reads has one dimension: biases, and scales of normalisation.
    of_memory = {block.memory_attention.kv.kernel.path for block in model.decoder}
    weights = {w.path: w for block in model.decoder for w in block.weights if len(w.shape) == 2}
    expected = [tuple(w.shape) for path, w in weights.items() if path not in of_memory]
    assert sorted(kernel.shape for kernel in kernels) == sorted(expected)
    assert output.shape == (128, 50)


def test_rows_of_steps_are_those_of_the_batch_that_goes_on():
    # 64 rows for two steps, then 32 with 32 left, then 8 with one left.
    lengths = np.array([2] * 32 + [3] * 31 + [5])
    assert sentence_profile.rows_of_steps(lengths) == {
        "tokens": 64 + 64 + 32 + 1 + 1,
        "ours": 64 + 64 + 32 + 8 + 8,
        "nobody leaves": 5 * 64,
    }


def test_a_benchmark_of_spam_writes_code_that_calls_what_it_should():
    called = []
    code = spam.call("finetune", Path("a b"), "o'ut", data="x{}.tsv", seed=3, fresh=False)
    eval(code, {"finetune": lambda *paths, **options: called.append((paths, options))})
    assert called == [(("a b", "o'ut"), {"data": "x{}.tsv", "seed": 3, "fresh": False})]
