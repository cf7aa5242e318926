"""From a trained run to a served model."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from keras_transformer_cli import options
from keras_transformer_cli.app import app
from keras_transformer_cli.options import option
from keras_transformer_cli.quiet import import_tasks


@app.command()
def export(
    run: options.Run,
    out: Annotated[Path, option("Folder of the served model; a version is added to it.")],
    format: Annotated[
        str, option("saved_model (for a server), tflite (for a device), or huggingface (BERTs).")
    ] = "saved_model",
    quantize: Annotated[
        list[str] | None, option("For tflite: none, float16 or int8; may be given repeatedly.")
    ] = None,
    version: Annotated[int | None, option("Its number; the next one unless given.")] = None,
    sentences: Annotated[
        Path | None,
        option("Sentences, or prompts, to compare and warm up with; else the run's own."),
    ] = None,
    data: Annotated[str | None, option('Test set to compare with: "phrases" or a TSV.')] = None,
    source: Annotated[Path | None, option("Test set: text file, one sentence a line.")] = None,
    target: Annotated[Path | None, option("Its translation, line by line.")] = None,
    tokenize: Annotated[str, option('For BLEU; "none" for tokenised text.')] = "13a",
    beam: options.Beam = 1,
    alpha: options.Alpha = 1.0,
    weights: options.Weights = None,
    max_tokens: Annotated[
        int | None, option("Of a language model: how many it writes at most; 200.")
    ] = None,
):
    """Export a run for a server or a device, and compare the export with the run.

    Example:

        keras-transformer export runs/ende --out saved_models/ende
        keras-transformer export runs/ende --out tflite/ende --format tflite --quantize int8
        keras-transformer export runs/bert --out bert --format huggingface
    """
    tasks = import_tasks()
    if format == "huggingface":
        typer.echo(f"Exported to {tasks.export_huggingface(run, out)}")
        return
    of_export = (version, sentences, data, source, target, tokenize)
    path, rows = tasks.export(
        run,
        out,
        format,
        tuple(quantize or ("none",)),
        *of_export,
        show_progress=True,
        beam_size=beam,
        alpha=alpha,
        weights=weights,
        max_tokens=max_tokens,
    )
    typer.echo("\n".join(tasks.format_report(rows)))
    typer.echo(f"Exported to {path}")


@app.command()
def check(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model, or of a version.")],
    release: Annotated[
        str | None, option("Of TF Serving, which ops it has; 2.20.0 unless given.")
    ] = None,
    libraries: Annotated[
        Path | None, option("Folder with unpacked wheels of another TensorFlow to run it with.")
    ] = None,
):
    """Check whether TF Serving would take an exported model, and run it without Python TensorFlow.

    Example:

        keras-transformer check saved_models/ende
    """
    of_check = {"release": release} if release else {}

    def show(finding):
        mark, detail = ("✓", finding.detail) if finding.passed else ("✗", "")
        typer.echo(f"{mark} {finding.name}{': ' if detail else ''}{detail}")
        for problem in finding.problems:
            typer.echo(f"    {problem}")

    findings = import_tasks().check(model, libraries=libraries, show=show, **of_check)
    if not all(finding.passed for finding in findings):
        raise ValueError(f"TF Serving would not take {model}")


@app.command()
def serve(
    model: Annotated[Path, typer.Argument(help="Folder of an exported model.")],
    host: Annotated[str, option("Address to listen on; only this machine unless given.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, option("Port; 8501 unless given.")] = 8501,
    name: Annotated[str | None, option("Served as; the folder's name unless given.")] = None,
    ask: Annotated[str | None, option("Ask this once, print the answer, and stop.")] = None,
):
    """Try an exported model out over TF Serving's REST interface.

    Example:

        keras-transformer serve saved_models/ende
        curl -d '{"instances": ["a man rides a bicycle"]}' \\
            http://localhost:8501/v1/models/ende:predict
    """
    import_tasks()
    from keras_transformer.server import serve

    answer = serve(model, host, port, name, ask, say=lambda text: typer.echo(text, err=True))
    if ask is not None:
        typer.echo(json_format.dumps(answer, ensure_ascii=False))
