"""Fine-tuning: labels of texts, tags of words, places of answers."""

import json
import shutil

import numpy as np
import pytest
from minilm import MINILM
from small_bert import write_labelled, write_questions, write_tagged

from keras_transformer.tasks import RunFolder, answer, classify, finetune, tag
from keras_transformer.tasks.finetune import FinetuningTask
from keras_transformer.tasks.finetune_kinds import KINDS
from keras_transformer.tasks.finetune_settings import FinetuneSettings
from keras_transformer.tasks.labelled_corpus import load_labelled, split_off
from keras_transformer.tasks.reader import Reader

QUICK = {"epochs": 2, "batch_tokens": 256, "learning_rate": 0.01}


def results_of(run):
    return json.loads((run / "results.json").read_text())


def test_it_learns_to_tell_praise_from_blame(classifier):
    results = results_of(classifier)
    assert results["accuracy"] > 0.95
    assert results["examples"] == sum(map(sum, results["confusion"]))
    log = (classifier / "train.log").read_text()
    assert "examples held out" in log
    assert "precision" in log
    good, bad, empty = classify(
        classifier, ["eve saw a great cow in lima", "max saw a nasty pig in rome", " "]
    )
    assert (good.label, bad.label, empty.label) == ("good", "bad", "")
    assert list(good.probabilities) == ["good", "bad"]
    assert sum(good.probabilities.values()) == pytest.approx(1)
    assert empty.probabilities == {}


def test_each_text_is_read_as_if_it_were_alone(classifier):
    texts = ["ada saw a poor dog in oslo", "a nice cat", "word " * 40, "nice"]
    together = classify(classifier, texts)
    reader = Reader.load(classifier)
    for text, found in zip(texts, together, strict=True):
        (alone,) = reader.classify([text])
        assert alone.label == found.label
        for label, share in alone.probabilities.items():
            assert found.probabilities[label] == pytest.approx(share, abs=1e-5)
    assert reader.cut == 1


def test_the_command_line_prints_labels(classifier, command, monkeypatch, tmp_path):
    code, printed, _ = command("classify", classifier, "bob saw a lovely dog in cork", "")
    assert code == 0
    first, second = printed.splitlines()
    assert first.startswith("good ")
    assert ", bad " in first
    assert second == ""
    lines = tmp_path / "lines"
    lines.write_text("ada saw a nasty cow in oslo\n\nmax saw a great pig in lima\n")
    with lines.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        code, printed, _ = command("classify", classifier)
    labels = [line.split("\t")[0] for line in printed.split("\n")]
    assert labels == ["bad", "", "good", ""]


def test_words_are_tagged(pretrained, tmp_path):
    data = write_tagged(tmp_path / "tagged")
    run = finetune(pretrained, tmp_path / "run", "tag", data=data, **{**QUICK, "epochs": 6}).path
    assert results_of(run)["f1"] > 0.95
    assert results_of(run)["entities"].keys() == {"LOC", "PER"}
    found = tag(run, ["eve saw a nice cow in lima", ""])
    tags = ["B-PER", "O", "O", "O", "O", "O", "B-LOC"]
    assert found == [list(zip("eve saw a nice cow in lima".split(), tags, strict=True)), []]
    # What there is no room for has no tag.
    (long,) = tag(run, ["ada " * 30])
    assert [of for _, of in long[22:]] == ["O"] * 8


def test_answers_are_found(pretrained, tmp_path, command):
    data = write_questions(tmp_path / "questions.tsv")
    options = {**QUICK, "epochs": 50, "patience": 50, "train_embeddings": True}
    run = finetune(pretrained, tmp_path / "run", "span", data=data, **options).path
    assert results_of(run)["exact_match"] > 0.9
    text = "max saw a poor pig in oslo"
    assert answer(run, ["saw", "in"], [text, text]) == ["max", "oslo"]
    code, printed, _ = command("answer", run, "saw", text)
    assert (code, printed) == (0, "max\n")


def test_with_lora_only_small_matrices_and_the_head_are_trained(pretrained, tmp_path):
    data = write_labelled(tmp_path / "data")
    run = finetune(
        pretrained,
        tmp_path / "run",
        data=data,
        lora=2,
        epochs=20,
        batch_tokens=128,
        learning_rate=0.05,
    )
    assert results_of(run.path)["accuracy"] > 0.8
    before, after = RunFolder(pretrained).load_model().bert, run.load_model().bert
    np.testing.assert_array_equal(
        before.embedding.tokens.embeddings, after.embedding.tokens.embeddings
    )
    kernels = [model.blocks[0].feed_forward.widen.kernel for model in (before, after)]
    change = np.array(kernels[1]) - np.array(kernels[0])
    assert np.linalg.matrix_rank(change, tol=1e-4) == 2
    with pytest.raises(ValueError, match="`lora` must be positive"):
        FinetuneSettings(model="a", data="b", lora=0)


def test_embeddings_are_trained_only_if_wanted(pretrained, classifier, tmp_path):
    def embeddings(run):
        return np.array(RunFolder(run).load_model().bert.embedding.tokens.embeddings)

    assert (embeddings(classifier) != embeddings(pretrained)).any()
    data = write_labelled(tmp_path / "data")
    frozen = finetune(pretrained, tmp_path / "run", data=data, **{**QUICK, "epochs": 1})
    np.testing.assert_array_equal(embeddings(frozen.path), embeddings(pretrained))


def test_resumed_it_ends_with_the_same_weights(pretrained, tmp_path):
    options = {"data": write_labelled(tmp_path / "data"), **QUICK, "patience": 5}
    through = finetune(pretrained, tmp_path / "through", **options)
    stopped = tmp_path / "stopped"
    shutil.copytree(tmp_path / "through", stopped)
    for path in sorted((stopped / "checkpoints").iterdir())[1:]:
        path.unlink()  # back to the end of the first epoch
    resumed = finetune(pretrained, stopped, resume=True)
    assert results_of(stopped) == results_of(through.path)
    for one, other in zip(
        through.load_model().get_weights(), resumed.load_model().get_weights(), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def corpus_of(path, **options):
    settings = FinetuneSettings(model="a", data=path, **options)
    return load_labelled(KINDS["classify"], settings)


def test_examples_are_split_by_label_and_seed(tmp_path):
    path = write_labelled(tmp_path / "data", count=300)
    one, same, other = (corpus_of(path, seed=seed) for seed in (0, 0, 1))
    assert one == same
    assert one.test != other.test
    parts = [set(part) for part in (one.train, one.valid, one.test)]
    total = len(set.union(*parts))
    assert total == sum(map(len, parts))
    assert len(one.test) == pytest.approx(0.2 * total, abs=1)
    assert len(one.valid) == pytest.approx(0.1 * (total - len(one.test)), abs=1)
    shares = [np.mean([e.label == "good" for e in part]) for part in (one.train, one.test)]
    assert shares[0] == pytest.approx(shares[1], abs=0.02)


def test_rare_labels_count_as_much_if_wanted(tmp_path, pretrained):
    path = tmp_path / "data"
    path.write_text(
        "".join(f"{'rare' if i % 10 == 0 else 'often'}\ttext {i}\n" for i in range(100))
    )
    settings = FinetuneSettings(model=str(pretrained), data=path, class_weights="balanced")
    task = FinetuningTask(KINDS["classify"])
    corpus = task.load_corpus(settings)
    tokenizers = RunFolder(pretrained).tokenizers()[:1]
    train, valid = task.make_batches(corpus, tokenizers, settings)
    np.testing.assert_allclose(train.label_weights * [65, 7], [36, 36])
    assert valid.label_weights is None
    _, labels, weights = next(train.epoch(0))
    assert weights.sum() == pytest.approx(1)
    rare, often = (weights[(labels == label) & (weights > 0)] for label in (1, 0))
    assert rare[0] / often[0] == pytest.approx(65 / 7)


@pytest.mark.parametrize(
    ("content", "given", "message"),
    [
        ("a\tone\na\ttwo\nb\tthree\n", [], "Seen once: b"),
        ("a\tone\nb two\n", [], "line 2 has 1 columns, not 2"),
        ("a\t\nb\t \n", [], "has no labelled text to read"),
        ("a\tone\n", ["--task", "sing"], "`task` must be one of classify, tag, span"),
        ("a\tone\n", ["--columns", "text"], "`columns` must have a label and a text"),
        ("a\tone\n", ["--hold-out", "2"], "`hold_out` must be between 0 and 1"),
        ("a\tone\na\ttwo\na\tthree\n", ["--max-length", "99"], "`max_length` must be at least 4"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(
    content, given, message, pretrained, tmp_path, command
):
    data = tmp_path / "data"
    data.write_text(content)
    out = tmp_path / "run"
    code, _, shown = command("finetune", pretrained, "--data", data, "--out", out, *given)
    assert code == 2
    assert message in shown.splitlines()[-1]
    assert not out.exists()


def test_folders_that_hold_no_model_are_refused(tmp_path, trained, command):
    data = write_labelled(tmp_path / "data")
    for model, message in (
        (tmp_path / "nowhere", "is not a folder"),
        (tmp_path, "has no config.json"),
        (trained, "has learned another task: translation"),
    ):
        code, _, shown = command("finetune", model, "--data", data, "--out", tmp_path / "run")
        assert code == 2
        assert message in shown.splitlines()[-1]
    code, _, shown = command("translate", trained.parent / "nowhere", "hi")
    assert code == 2


def test_what_has_learned_one_task_is_not_asked_another(classifier, command):
    code, _, shown = command("translate", classifier, "hi")
    assert code == 2
    assert "has learned another task: classify, not translation" in shown
    code, _, shown = command("answer", classifier, "who?", "me")
    assert code == 2
    assert "not span" in shown


def test_long_texts_are_cut_and_counted(pretrained, tmp_path, command):
    data = tmp_path / "data"
    data.write_text("".join(f"{'ab'[i % 2]}\t{'nice dog ' * (i % 30)} {i}\n" for i in range(60)))
    code, _, shown = command(
        "finetune", pretrained, "--data", data, "--out", tmp_path / "run", "--epochs", "1",
    )  # fmt: skip
    assert code == 0
    assert "ends of texts longer than 24 tokens" in shown
    assert "were longer than 24 tokens, and cut" in shown


def test_too_few_examples_are_refused():
    with pytest.raises(ValueError, match="Two examples are needed at least"):
        split_off(["a"], 0.5, seed=0)


@pytest.mark.slow
def test_real_weights_can_be_fine_tuned(tmp_path):
    data = write_labelled(tmp_path / "data", count=40)
    run = finetune(MINILM, tmp_path / "run", data=data, epochs=1, max_steps=2)
    assert 0 <= results_of(run.path)["accuracy"] <= 1
    assert run.load_model().bert.pooler is None
