"""Language models from the command line: from plain text to a model that writes."""

import csv
import math
import re

import numpy as np
import pytest
from small_language import QUICK, write_text
from tfds_on_disk import make_data_set

from keras_transformer.tasks import RunFolder, generate, train_language
from keras_transformer.tasks.language_settings import LanguageSettings
from keras_transformer.tasks.text_corpus import load_texts


def rows_of(run):
    with (run / "metrics.csv").open() as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def test_it_learns_to_write_such_lines(language):
    first, *_, last = rows_of(language)
    assert last["val_loss"] < 0.6 * first["val_loss"]
    (texts,) = generate(language, ["\n4 cats"], temperature=None, max_tokens=13, stop=["\n"])
    assert re.fullmatch(r" see \d dogs", texts[0])
    log = (language / "train.log").read_text()
    assert "| 4 cats" in log
    bits = (
        last["val_loss"] / math.log(2) * RunFolder(language).config["data"]["tokens_per_character"]
    )
    assert f"{bits:.3f} bits per character" in log


def test_the_command_writes_as_it_goes(language, command):
    code, shown, _ = command(
        "generate", language, "--prompt", "\n5 owls", "--greedy", "--stop", "\n"
    )
    assert code == 0
    assert re.fullmatch(r"\n5 owls see \d dogs\n", shown)
    options = ("--samples", "2", "--max-tokens", "4", "--prompt", "a", "--prompt", "c")
    code, shown, _ = command("generate", language, *options)
    assert code == 0
    heads = [line for line in shown.splitlines() if line.startswith("---")]
    assert heads == ["--- 1.1", "--- 1.2", "--- 2.1", "--- 2.2"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--temperature", "0"), "`temperature` must be positive. Received: temperature=0"),
        (("--top-p", "1.5"), "`top_p` must be above 0 and at most 1"),
        (("--samples", "0"), "`samples` must be at least 1"),
        (("--prompt", "Hé!"), "and not these: '!' (U+0021), 'H' (U+0048), 'é' (U+00E9)"),
    ],
)
def test_what_cannot_be_written_is_one_line(language, command, given, message):
    code, shown, err = command("generate", language, *given)
    assert (code, shown) == (2, "")
    assert message in err.splitlines()[-1]


def test_a_run_guesses_ahead_for_another(language, tmp_path, command):
    draft = train_language(
        tmp_path / "draft",
        text=language.with_name("lines.txt"),
        **{**QUICK, "max_length": 24},
    )
    options = ("--prompt", "4 cats", "--greedy", "--max-tokens", "30")
    _, plain, _ = command("generate", language, *options)
    code, shown, err = command("generate", language, *options, "--draft", draft.path)
    assert (code, shown) == (0, plain)
    assert "of the draft's guesses were right" in err
    (tmp_path / "other").write_text("to be or not to be\n" * 50)
    other = train_language(tmp_path / "stranger", text=tmp_path / "other", **QUICK)
    code, shown, err = command("generate", language, *options, "--draft", other.path)
    assert (code, shown) == (2, "")
    assert "A draft must have the vocabulary of the model" in err


def test_an_empty_prompt_begins_anew_and_a_long_one_is_cut(language, command):
    code, shown, err = command("generate", language, "--max-tokens", "5")
    assert (code, len(shown)) == (0, 6)
    code, _, err = command("generate", language, "--max-tokens", "5", "--prompt", "cats " * 20)
    assert code == 0
    assert "A prompt is longer than 24 tokens: only its end is read" in err


def test_likely_texts_have_a_lower_perplexity(language, command):
    code, shown, _ = command("score", language, "7 owls see 3 dogs", "7 dogs ees 3 slwo")
    assert code == 0
    head, *rows = (line.split("\t") for line in shown.splitlines())
    assert head == ["log-probability", "perplexity", "bits/character", "text"]
    assert [row[-1] for row in rows] == ["7 owls see 3 dogs", "7 dogs ees 3 slwo"]
    assert float(rows[0][1]) < 0.5 * float(rows[1][1])
    assert float(rows[0][0]) > float(rows[1][0])
    _, after, _ = command("score", language, " see 3 dogs", "--prompt", "7 owls")
    assert float(after.splitlines()[1].split("\t")[0]) > float(rows[0][0])


def test_resumed_it_ends_with_the_same_weights(tmp_path):
    text = write_text(tmp_path / "text")
    options = {"text": text, **QUICK, "dropout": 0.1}
    through = train_language(tmp_path / "through", **options)
    with pytest.raises(ValueError, match="goes on as it began"):
        train_language(tmp_path / "through", resume=True, beta_2=0.9)
    train_language(tmp_path / "stopped", **options, max_minutes=1e-6)
    assert rows_of(tmp_path / "stopped")[-1]["step"] < 12
    resumed = train_language(tmp_path / "stopped", resume=True, max_minutes=10.0)
    assert rows_of(tmp_path / "stopped")[-1]["step"] == 12
    for one, other in zip(
        through.load_model("last").get_weights(),
        resumed.load_model("last").get_weights(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_in_half_precision_it_learns_nearly_the_same(tmp_path):
    text = write_text(tmp_path / "text")
    plain, half = (
        train_language(tmp_path / str(mixed), text=text, mixed_precision=mixed, **QUICK)
        for mixed in (False, True)
    )
    losses = [rows_of(run.path)[-1]["val_loss"] for run in (plain, half)]
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert half.load_model().blocks[0].compute_dtype == "float32"  # any machine can use that


@pytest.mark.parametrize("kind", ["bytes", "bpe", "unigram"])
def test_other_vocabularies(kind, tmp_path):
    text = write_text(tmp_path / "text")
    size = {"vocab_size": 300} if kind == "bpe" else {}
    folder = train_language(tmp_path / "run", text=text, vocab_kind=kind, **QUICK, **size)
    tokenizer = folder.tokenizers()[0]
    content = text.read_text()
    assert tokenizer.decode(tokenizer.encode(content)) == content
    assert tokenizer.vocab_size == folder.load_model().arguments["vocab_size"]
    ((found,),) = generate(tmp_path / "run", ["4 cats"], max_tokens=3)
    assert isinstance(found, str)


@pytest.mark.parametrize("kind", ["characters", "bpe"])
def test_texts_that_do_not_see_each_other(kind, tmp_path):
    text = write_text(tmp_path / "text", between="\n\n")
    folder = train_language(
        tmp_path / "run", text=text, documents=True, vocab_kind=kind, size="llama-mini", **QUICK
    )
    tokenizer = folder.tokenizers()[0]
    assert tokenizer.end is not None
    assert folder.config["model"]["positions"] == "rotary"
    characters = folder.config["data"]
    total = characters["train_characters"] + characters["valid_characters"]
    assert total == len(text.read_text()) - 2 * 299 - 1


def test_a_data_set_of_tfds(tmp_path, monkeypatch):
    make_data_set(tmp_path, line="the {i} dogs.\nso it is!", features=("text",))
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    folder = train_language(tmp_path / "run", data="tfds:small_pairs/en_to_pt", **QUICK)
    tokenizer = folder.tokenizers()[0]
    assert "\n" in tokenizer.characters
    assert tokenizer.end is not None


def test_the_end_is_kept_back_to_the_letter(tmp_path):
    path = tmp_path / "text"
    content = "".join(chr(97 + i % 26) for i in range(999)) + "\n"
    path.write_text(content)
    corpus = load_texts(LanguageSettings(text=path))
    assert "".join(corpus.train) == content[:900]
    assert "".join(corpus.valid) == content[900:]
    corpus = load_texts(LanguageSettings(text=path, valid_text=path))
    assert "".join(corpus.train) == "".join(corpus.valid) == content


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "Give either --text, a file, or --data"),
        (["--data", "corpus.txt"], '`data` is a data set of TFDS, "tfds:name"'),
        (["--text", "nowhere.txt"], "nowhere.txt does not exist"),
        (["--text", "SHORT"], "The text is shorter than a block: it needs 65 tokens at least"),
        (["--text", "LATIN"], "line 2 is not UTF-8"),
        (["--text", "TEXT", "--size", "huge"], "`size` must be one of mini"),
        (["--text", "TEXT", "--vocab-kind", "words"], "`vocab_kind` must be one of characters"),
        (["--text", "TEXT", "--valid-share", "2"], "`valid_share` must be between 0 and 1"),
        (["--text", "TEXT", "--batch-tokens", "8"], "must have room for a block"),
        (["--text", "SHORT", "--documents"], "Two texts are needed at least"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing(given, message, tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_text(tmp_path / "TEXT")
    (tmp_path / "SHORT").write_text("to be or not\n")
    (tmp_path / "LATIN").write_bytes(b"to be\nh\xe9\n")
    code, _, shown = command("train-lm", *given, "--out", tmp_path / "run")
    assert code == 2
    assert message in shown.splitlines()[-1]
    assert not (tmp_path / "run").exists()


def test_settings_say_what_suits_a_size():
    assert LanguageSettings(text="a").vocab_kind == "characters"
    assert LanguageSettings(text="a", size="gpt2").vocab_kind == "bpe"
    assert LanguageSettings(text="a", size="llama-mini").positions == "rotary"
    assert LanguageSettings(text="a", size="gpt3-1.3b").max_length == 2048
