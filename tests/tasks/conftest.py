"""A small run, trained once for all tests, which must leave it as it is; and the command line."""

import sys

import pytest

import keras_transformer_cli
from keras_transformer.data import phrases
from keras_transformer.tasks import train

EPOCHS = 12  # enough for translations that differ and are not empty
SMALL = {
    "dim": 16,
    "num_heads": 2,
    "ffn_dim": 32,
    "num_layers": 1,
    "batch_tokens": 256,
    "vocab_size": 320,
    "warmup_steps": 10,
}


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    pairs, _ = phrases(count=200, held_out=0)
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return path


@pytest.fixture(scope="session")
def trained(pairs_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "trained"
    train(out, data=str(pairs_file), epochs=EPOCHS, **{**SMALL, "learning_rate": 0.01})
    return out


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs the command line here and returns exit code, standard output and standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["keras-transformer", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            keras_transformer_cli.main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run
