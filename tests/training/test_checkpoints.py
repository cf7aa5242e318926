"""A training that stops and goes on is the same training."""

import json

import numpy as np
import pytest
from regression import X, Y, make_model

from keras_transformer.files import write_whole
from keras_transformer.training import (
    Checkpoints,
    CountProgress,
    KeepBest,
    MetricsFile,
    Progress,
    StopAfter,
    load_checkpoint,
    load_last_checkpoint,
    save_checkpoint,
)


def fit(model, batches):
    for i in batches:
        model.train_on_batch(X[4 * i : 4 * i + 4], Y[4 * i : 4 * i + 4])


def test_going_on_from_a_checkpoint_equals_never_having_stopped(tmp_path):
    through, stopped, resumed = (make_model(dropout=0.5) for _ in range(3))
    fit(through, range(8))
    fit(stopped, range(4))
    save_checkpoint(tmp_path / "step-4.npz", stopped, Progress(step=4))
    fit(resumed, range(1))  # whatever it did before

    progress = load_checkpoint(tmp_path / "step-4.npz", resumed)
    fit(resumed, range(4, 8))

    assert progress.step == 4
    for a, b in zip(through.variables, resumed.variables, strict=True):  # dropout's state too
        np.testing.assert_array_equal(a, b)
    for a, b in zip(through.optimizer.variables, resumed.optimizer.variables, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    save_checkpoint(tmp_path / "step-1.npz", make_model(width=8), Progress())
    with pytest.raises(ValueError, match=r"another model"):
        load_checkpoint(tmp_path / "step-1.npz", make_model(width=16))


def test_the_newest_checkpoints_stay(tmp_path):
    progress, model = Progress(), make_model()
    checkpoints = Checkpoints(tmp_path, progress, keep=2)
    checkpoints.set_model(model)
    for step in (5, 90, 1000):
        progress.step = step
        checkpoints.save()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["step-000000090.npz", "step-000001000.npz"]
    assert load_last_checkpoint(tmp_path, model).step == 1000
    assert load_last_checkpoint(tmp_path / "nowhere", model) is None


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path):
    model, older, newer = make_model(), tmp_path / "step-1.npz", tmp_path / "step-2.npz"
    save_checkpoint(older, model, Progress(step=1))
    save_checkpoint(newer, model, Progress(step=2))
    newer.write_bytes(newer.read_bytes()[:1000])
    assert load_last_checkpoint(tmp_path, model).step == 1
    assert not newer.exists()
    newer.write_bytes(bytes(1000))
    assert load_last_checkpoint(tmp_path, model).step == 1
    older.write_bytes(b"")
    with pytest.raises(ValueError, match=r"No checkpoint in .* can be read"):
        load_last_checkpoint(tmp_path, model)


def test_checkpoints_come_within_an_epoch_too(tmp_path):
    progress = Progress()
    callbacks = [CountProgress(progress, 16), Checkpoints(tmp_path, progress, every_minutes=0)]
    make_model().fit(X, Y, batch_size=4, epochs=1, verbose=0, callbacks=callbacks)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["step-000000015.npz", "step-000000016.npz"]
    # After the last batch there was none: its epoch had not ended.
    with np.load(tmp_path / names[-1]) as arrays:
        assert json.loads(str(arrays["progress"]))["step_in_epoch"] == 0


def test_what_could_not_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")

    def fail(temporary):
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"file.txt could not be written: No space left on device"):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_progress_counts_steps_and_epochs():
    progress = Progress()
    make_model().fit(
        X, Y, batch_size=4, epochs=2, verbose=0, callbacks=[CountProgress(progress, 16)]
    )
    assert (progress.epoch, progress.step_in_epoch, progress.step) == (2, 0, 32)
    assert progress.seconds > 0


def test_it_stops_after_so_many_steps_with_its_validation_done():
    progress = Progress()
    callbacks = [CountProgress(progress, 16), StopAfter(progress, steps=21)]
    history = make_model().fit(
        X, Y, batch_size=4, epochs=9, verbose=0, validation_data=(X, Y), callbacks=callbacks
    )
    assert (progress.epoch, progress.step_in_epoch, progress.step) == (1, 5, 21)
    assert len(history.history["val_loss"]) == 2


def test_it_stops_after_so_many_minutes():
    progress = Progress(seconds=119.99)
    callbacks = [CountProgress(progress, 16), StopAfter(progress, minutes=2)]
    make_model().fit(X, Y, batch_size=4, epochs=900, verbose=0, callbacks=callbacks)
    assert progress.step < 900


@pytest.mark.parametrize("sign", [1, -1], ids=["lower", "higher"])
def test_the_best_is_saved_and_patience_ends(sign):
    saved, progress, model = [], Progress(), make_model()
    options = {"watch": "val", "lower_is_better": sign > 0, "patience": 2}
    best = KeepBest(progress, lambda: saved.append(progress.best), **options)
    best.set_model(model)
    model.stop_training = False
    for value, stop in (
        (3.0, False),
        (2.0, False),
        (2.5, False),
        (1.0, False),
        (1.0, False),
        (4.0, True),
    ):
        best.on_epoch_end(0, {"val": sign * value})
        assert model.stop_training == stop
    assert saved == [sign * 3.0, sign * 2.0, sign * 1.0]


def test_part_of_an_epoch_may_be_the_best_but_uses_up_no_patience():
    saved, progress = [], Progress(best=2.0, step_in_epoch=3)
    best = KeepBest(progress, lambda: saved.append(progress.best), watch="val", patience=1)
    best.set_model(make_model())
    best.on_epoch_end(0, {"val": 3.0})
    assert progress.epochs_since_best == 0
    best.on_epoch_end(0, {"val": 1.0})
    assert saved == [1.0]


def test_a_training_that_runs_away_is_stopped_whatever_is_watched():
    best = KeepBest(Progress(), lambda: None, watch="val_bleu", lower_is_better=False)
    with pytest.raises(ValueError, match="has run away, loss is nan: begin again with a lower"):
        best.on_epoch_end(0, {"loss": float("nan"), "val_bleu": 0.0})


def test_the_metrics_file_has_each_epoch_once(tmp_path):
    path = tmp_path / "metrics.csv"
    progress = Progress()
    callbacks = [CountProgress(progress, 16), MetricsFile(path, progress, tokens_per_step=10)]
    make_model().fit(X, Y, batch_size=4, epochs=2, verbose=0, callbacks=callbacks)
    # Killed after writing a third epoch that no checkpoint has: it is done again.
    with path.open("a") as file:
        file.write("3,48,0,0,0,0\n")
    make_model().fit(X, Y, batch_size=4, initial_epoch=2, epochs=3, verbose=0, callbacks=callbacks)
    lines = path.read_text().splitlines()
    assert lines[0] == "epoch,step,seconds,tokens_per_second,learning_rate,loss"
    assert [line.split(",")[:2] for line in lines[1:]] == [["1", "16"], ["2", "32"], ["3", "48"]]
