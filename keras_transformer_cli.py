"""The command line: each command calls one function of `keras_transformer.tasks`.

A module beside the package, not in it: importing anything from the package imports Keras and
TensorFlow, and `--help` should not take five seconds.
"""

import contextlib
import json as json_format
import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Train a Transformer on pairs of sentences, evaluate it, translate with it.",
)

USER_ERROR, INTERRUPTED = 2, 130
DATA, VOCABULARY, MODEL, TRAINING = "Data", "Vocabulary", "Model", "Training"


def option(help, panel=None):
    """An option with its help and the panel it is shown in."""
    return typer.Option(help=help, rich_help_panel=panel, show_default=False)


def flag(name, help, panel=None):
    """An option that is given or not; by default there would be a --no- for each, too."""
    return typer.Option(name, help=help, rich_help_panel=panel, show_default=False)


Run = Annotated[Path, typer.Argument(help="Folder of a trained run.", show_default=False)]


@app.command()
def train(
    out: Annotated[Path, option("Folder for everything about this run.")],
    data: Annotated[str | None, option('"phrases", or a TSV file of pairs.', DATA)] = None,
    source: Annotated[Path | None, option("Text file, one sentence a line, or .gz.", DATA)] = None,
    target: Annotated[Path | None, option("Its translation, line by line.", DATA)] = None,
    valid_data: Annotated[Path | None, option("TSV file of pairs to validate with.", DATA)] = None,
    valid_source: Annotated[Path | None, option("Text file to validate with.", DATA)] = None,
    valid_target: Annotated[Path | None, option("Its translation.", DATA)] = None,
    skip_bad_lines: Annotated[
        bool | None, flag("--skip-bad-lines", "Leave out lines that are not UTF-8.", DATA)
    ] = None,
    vocab_size: Annotated[int | None, option("Pieces; 8000 unless given.", VOCABULARY)] = None,
    vocab_kind: Annotated[str | None, option("bpe or unigram.", VOCABULARY)] = None,
    normalization: Annotated[str | None, option("none, nfkc or lowercase.", VOCABULARY)] = None,
    separate_vocabularies: Annotated[
        bool | None,
        flag("--separate-vocabularies", "One for the source, one for the target.", VOCABULARY),
    ] = None,
    size: Annotated[str | None, option("tiny, base or big; tiny unless given.", MODEL)] = None,
    dim: Annotated[int | None, option("Width.", MODEL)] = None,
    num_heads: Annotated[int | None, option("Attention heads.", MODEL)] = None,
    ffn_dim: Annotated[
        int | None, option("Inner width of the feed-forward networks.", MODEL)
    ] = None,
    num_layers: Annotated[int | None, option("Of the encoder, and of the decoder.", MODEL)] = None,
    dropout: Annotated[float | None, option("Rate.", MODEL)] = None,
    max_length: Annotated[int | None, option("Longest sentence in tokens; 256.", MODEL)] = None,
    batch_tokens: Annotated[int | None, option("Positions of a batch.", TRAINING)] = None,
    learning_rate: Annotated[float | None, option("The highest.", TRAINING)] = None,
    warmup_steps: Annotated[int | None, option("How long it rises.", TRAINING)] = None,
    label_smoothing: Annotated[float | None, option("0.1 unless given.", TRAINING)] = None,
    clip_norm: Annotated[float | None, option("Largest gradient norm; 1.", TRAINING)] = None,
    epochs: Annotated[int | None, option("At most; 100.", TRAINING)] = None,
    max_steps: Annotated[int | None, option("At most.", TRAINING)] = None,
    max_minutes: Annotated[float | None, option("At most.", TRAINING)] = None,
    patience: Annotated[
        int | None, option("Stop after so many epochs without a better validation; 10.", TRAINING)
    ] = None,
    seed: Annotated[int | None, option("Of everything drawn; 0.", TRAINING)] = None,
    resume: Annotated[bool, flag("--resume", "Go on from the last checkpoint.")] = False,
    overwrite: Annotated[bool, flag("--overwrite", "Replace an earlier run.")] = False,
):
    """Train a Transformer to translate.

    Example:

        keras-transformer train --source train.en --target train.de \\
            --valid-source val.en --valid-target val.de --size tiny --out runs/ende

    or, with nothing at hand, on embedded English-French sentences, in three minutes:

        keras-transformer train --data phrases --out runs/phrases
    """
    settings = {
        name: value
        for name, value in locals().items()
        if value is not None and name not in ("out", "resume", "overwrite")
    }
    import_tasks().train(out, resume, overwrite, **settings)


@app.command()
def evaluate(
    run: Run,
    data: Annotated[str | None, option('"phrases" (its held-out pairs), or a TSV file.')] = None,
    source: Annotated[Path | None, option("Text file, one sentence a line, or .gz.")] = None,
    target: Annotated[Path | None, option("Its translation, line by line.")] = None,
    tokenize: Annotated[str, option('For BLEU; "none" for tokenised text.')] = "13a",
    skip_bad_lines: Annotated[
        bool, flag("--skip-bad-lines", "Leave out lines that are not UTF-8.")
    ] = False,
    json: Annotated[bool, flag("--json", "Print JSON.")] = False,
    examples: Annotated[int, option("Show so many translations beside their references.")] = 0,
):
    """Translate a test set and compare: BLEU and chrF by sacreBLEU, and exact matches.

    Example:

        keras-transformer evaluate runs/ende --source test.en --target test.de
    """
    result = import_tasks().evaluate(
        run, data, source, target, tokenize, skip_bad_lines, show_progress=not json
    )
    if json:
        keys = ("bleu", "chrf", "exact_match", "sentences", "seconds")
        typer.echo(json_format.dumps({key: result[key] for key in keys}))
        return
    for source_text, reference, translation in result["outputs"][:examples]:
        mark = "=" if translation == reference else "≠"
        typer.echo(
            f"  {source_text}\n    reference    {reference}\n  {mark} translation  {translation}"
        )
    typer.echo(f"BLEU         {result['bleu']:.2f}   {result['bleu_signature']}")
    typer.echo(f"chrF         {result['chrf']:.2f}   {result['chrf_signature']}")
    typer.echo(f"Exact match  {result['exact_match']:.1f} %")
    typer.echo(f"{result['sentences']:,} sentences translated in {result['seconds']:.1f} s")


@app.command()
def translate(
    run: Run,
    text: Annotated[
        list[str] | None, typer.Argument(help="Sentences; else lines on the standard input.")
    ] = None,
):
    """Translate sentences, or lines of the standard input to lines of the standard output.

    Example:

        keras-transformer translate runs/ende "a man rides a bicycle"
        keras-transformer translate runs/ende < test.en > test.de
    """
    import_tasks().translate_stream(run, text or sys.stdin.buffer, sys.stdout)


def import_tasks():
    """`keras_transformer.tasks`, without the lines TensorFlow writes when it is imported."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with quiet_standard_error():
        from keras_transformer import tasks
    return tasks


@contextlib.contextmanager
def quiet_standard_error():
    """Keeps back what is written to the standard error, unless an exception comes."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as hidden:
        os.dup2(hidden.fileno(), 2)
        try:
            yield
        except BaseException:
            hidden.seek(0)
            os.write(kept, hidden.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def main():
    """Runs the command; a user's mistake is one line and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # The reader, such as `head`, has gone. Python would complain once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        if os.environ.get("KERAS_TRANSFORMER_TRACEBACK"):
            raise
        typer.echo(f"Error: {' '.join(str(error).split())}", err=True)
        sys.exit(USER_ERROR)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
