"""Text to text: train, evaluate, translate."""

import json as json_format
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from keras_transformer_cli import options
from keras_transformer_cli.app import app
from keras_transformer_cli.options import DATA, MODEL, TRAINING, VOCABULARY, flag, option
from keras_transformer_cli.quiet import import_tasks


@app.command()
def train(
    out: options.Out,
    data: Annotated[
        str | None, option('"phrases", "stories", a TSV file of pairs, or "tfds:name".', DATA)
    ] = None,
    source: Annotated[
        Path | None, option("Text file, one sentence a line, or .gz; with tfds, a feature.", DATA)
    ] = None,
    target: Annotated[Path | None, option("Its translation, line by line.", DATA)] = None,
    valid_data: Annotated[Path | None, option("TSV file of pairs to validate with.", DATA)] = None,
    valid_source: Annotated[Path | None, option("Text file to validate with.", DATA)] = None,
    valid_target: Annotated[Path | None, option("Its translation.", DATA)] = None,
    skip_bad_lines: options.SkipBadLines = None,
    vocab_size: options.VocabSize = None,
    vocab_kind: Annotated[str | None, option("bpe or unigram.", VOCABULARY)] = None,
    normalization: Annotated[str | None, option("none, nfkc or lowercase.", VOCABULARY)] = None,
    separate_vocabularies: Annotated[
        bool | None,
        flag("--separate-vocabularies", "One for the source, one for the target.", VOCABULARY),
    ] = None,
    size: Annotated[str | None, option("tiny, base or big; tiny unless given.", MODEL)] = None,
    dim: options.Dim = None,
    num_heads: options.NumHeads = None,
    ffn_dim: options.FfnDim = None,
    num_layers: Annotated[int | None, option("Of the encoder, and of the decoder.", MODEL)] = None,
    norm_first: Annotated[
        bool | None, flag("--norm-first", "Normalise before sublayers, not after.", MODEL)
    ] = None,
    positions: Annotated[
        str | None, option("sine (unless given), learned, rotary, alibi or relative.", MODEL)
    ] = None,
    dropout: Annotated[float | None, option("Rate.", MODEL)] = None,
    max_length: Annotated[int | None, option("Longest sentence in tokens; 256.", MODEL)] = None,
    batch_tokens: options.BatchTokens = None,
    scale_batch: options.ScaleBatch = None,
    pack: Annotated[bool | None, flag("--pack", "Several pairs in one row.", TRAINING)] = None,
    accumulate: options.Accumulate = None,
    mixed_precision: options.MixedPrecision = None,
    learning_rate: options.LearningRate = None,
    warmup_steps: options.WarmupSteps = None,
    cool_down: options.CoolDown = None,
    label_smoothing: options.LabelSmoothing = None,
    clip_norm: options.ClipNorm = None,
    epochs: options.Epochs = None,
    max_steps: options.AtMost = None,
    max_minutes: options.Minutes = None,
    watch: Annotated[
        str | None, option("What is best: perplexity (unless given) or bleu.", TRAINING)
    ] = None,
    tokenize: Annotated[
        str | None, option('For --watch bleu; "none" for tokenised text.', TRAINING)
    ] = None,
    patience: options.Patience = None,
    average: Annotated[
        int | None, option("Average the weights of so many last epochs.", TRAINING)
    ] = None,
    ema: Annotated[
        float | None, option("Keep a moving average of the weights; 0.999, say.", TRAINING)
    ] = None,
    keep_epochs: Annotated[
        int | None, option("Keep the weights of so many last epochs; 10.", TRAINING)
    ] = None,
    steps_per_execution: options.StepsPerExecution = None,
    seed: options.Seed = None,
    strategy: options.Strategy = "auto",
    replicas: options.Replicas = None,
    tpu: options.Tpu = None,
    resume: options.Resume = False,
    resume_or_begin: options.ResumeOrBegin = False,
    overwrite: options.Overwrite = False,
    other_versions: options.OtherVersions = False,
):
    """Train a Transformer to translate, or for any other task from text to text.

    Example:

        keras-transformer train --source train.en --target train.de \\
            --valid-source val.en --valid-target val.de --size tiny --out runs/ende

    or, with nothing at hand, on embedded English-French sentences, in three minutes:

        keras-transformer train --data phrases --out runs/phrases
    """
    settings = {name: value for name, value in locals().items() if value is not None}
    # Faster in training, slower in decoding; TensorFlow reads it when it is imported.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    import_tasks().train(**settings)


@app.command()
def average(
    run: options.Run,
    last: Annotated[int, option("How many epochs; 10 unless given.")] = 10,
):
    """Average the weights of a run's last epochs; later commands use the result.

    Example:

        keras-transformer average runs/ende --last 10
    """
    typer.echo(f"Averaged to {import_tasks().average(run, last)}")


@app.command()
def evaluate(
    run: options.Run,
    data: Annotated[
        str | None, option('"phrases" or "stories" (held-out pairs), a TSV file, "tfds:name".')
    ] = None,
    source: Annotated[Path | None, option("Text file, one sentence a line, or .gz.")] = None,
    target: Annotated[Path | None, option("Its translation, line by line.")] = None,
    tokenize: Annotated[str, option('For BLEU; "none" for tokenised text.')] = "13a",
    skip_bad_lines: Annotated[
        bool, flag("--skip-bad-lines", "Leave out lines that are not UTF-8.")
    ] = False,
    beam: options.Beam = 1,
    alpha: options.Alpha = 1.0,
    weights: options.Weights = None,
    json: Annotated[bool, flag("--json", "Print JSON.")] = False,
    examples: Annotated[int, option("Show so many translations beside their references.")] = 0,
):
    """Translate a test set and compare: BLEU and chrF by sacreBLEU, and exact matches.

    Example:

        keras-transformer evaluate runs/ende --source test.en --target test.de --beam 5
    """
    result = import_tasks().evaluate(
        run,
        data,
        source,
        target,
        tokenize,
        skip_bad_lines,
        show_progress=not json,
        beam_size=beam,
        alpha=alpha,
        weights=weights,
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
    run: Annotated[str, typer.Argument(help="Folder of a trained run, or URL of a served model.")],
    text: Annotated[
        list[str] | None, typer.Argument(help="Sentences; else lines on the standard input.")
    ] = None,
    beam: options.Beam = 1,
    alpha: options.Alpha = 1.0,
    n_best: Annotated[
        int | None, option("Show so many translations of a beam, each with its score.")
    ] = None,
    weights: options.Weights = None,
):
    """Translate sentences, or lines of the standard input to lines of the standard output.

    Example:

        keras-transformer translate runs/ende "a man rides a bicycle"
        keras-transformer translate runs/ende < test.en > test.de
        keras-transformer translate runs/ende --beam 5 --n-best 3 "a man rides a bicycle"
        keras-transformer translate http://localhost:8501/v1/models/ende "a man rides a bicycle"
    """
    if "://" in run:
        from keras_transformer_client import RestClient

        if (beam, alpha, n_best, weights) != (1, 1.0, None, None):
            raise ValueError("A served model translates as it was exported: export it with --beam")

        RestClient(run).translate_stream(text or sys.stdin.buffer, sys.stdout)
        return
    import_tasks().translate_stream(
        run,
        text or sys.stdin.buffer,
        sys.stdout,
        n_best,
        beam_size=beam,
        alpha=alpha,
        weights=weights,
    )
