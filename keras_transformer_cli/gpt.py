"""GPT: teach it a language, let it write."""

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
def train_lm(
    out: options.Out,
    text: Annotated[Path | None, option("Text file, or .gz, read to the letter.", DATA)] = None,
    data: Annotated[
        str | None, option('Instead: a data set with a text feature, "tfds:name".', DATA)
    ] = None,
    feature: Annotated[str | None, option("Which feature that is.", DATA)] = None,
    valid_text: Annotated[Path | None, option("Text file to validate with.", DATA)] = None,
    valid_share: Annotated[
        float | None, option("Else, how much of the end is kept back for it; 0.1.", DATA)
    ] = None,
    documents: Annotated[
        bool | None,
        flag("--documents", "Blank lines part texts that are not to see each other.", DATA),
    ] = None,
    vocab_kind: Annotated[
        str | None, option("characters, bytes, bpe or unigram.", VOCABULARY)
    ] = None,
    vocab_size: options.VocabSize = None,
    size: Annotated[
        str | None,
        option("mini (unless given), llama-mini, llama-small, gpt2, gpt3-125m, ...", MODEL),
    ] = None,
    dim: options.Dim = None,
    num_heads: options.NumHeads = None,
    ffn_dim: options.FfnDim = None,
    num_layers: Annotated[int | None, option("How many blocks.", MODEL)] = None,
    max_length: Annotated[int | None, option("Tokens that it sees at once.", MODEL)] = None,
    dropout: Annotated[float | None, option("Rate.", MODEL)] = None,
    positions: Annotated[
        str | None, option("learned, sine, rotary, alibi or relative.", MODEL)
    ] = None,
    num_kv_heads: Annotated[int | None, option("Heads of keys and values.", MODEL)] = None,
    batch_tokens: options.BatchTokens = None,
    scale_batch: options.ScaleBatch = None,
    accumulate: options.Accumulate = None,
    mixed_precision: options.MixedPrecision = None,
    learning_rate: options.LearningRate = None,
    lowest_rate: Annotated[
        float | None, option("That at the end, as a share of it; 0.1.", TRAINING)
    ] = None,
    warmup_steps: options.WarmupSteps = None,
    beta_2: Annotated[float | None, option("Of Adam; 0.99.", TRAINING)] = None,
    weight_decay: Annotated[float | None, option("Of matrices; 0.1.", TRAINING)] = None,
    clip_norm: options.ClipNorm = None,
    epochs: options.Epochs = None,
    max_steps: options.AtMost = None,
    max_minutes: options.Minutes = None,
    patience: options.Patience = None,
    ema: Annotated[
        float | None, option("Keep a moving average of the weights; 0.999, say.", TRAINING)
    ] = None,
    steps_per_execution: options.StepsPerExecution = None,
    prompt: Annotated[
        str | None, option("What a text after every epoch begins with.", TRAINING)
    ] = None,
    seed: options.Seed = None,
    strategy: options.Strategy = "auto",
    replicas: options.Replicas = None,
    tpu: options.Tpu = None,
    resume: options.Resume = False,
    resume_or_begin: options.ResumeOrBegin = False,
    overwrite: options.Overwrite = False,
    other_versions: options.OtherVersions = False,
):
    """Teach a GPT a language from plain text: to say what comes next.

    Example:

        keras-transformer train-lm --text input.txt --size mini --out runs/shakespeare
    """
    settings = {name: value for name, value in locals().items() if value is not None}
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    import_tasks().train_language(**settings)


@app.command()
def generate(
    run: options.Run,
    prompt: Annotated[
        list[str] | None, option("What to go on with; may be given repeatedly.")
    ] = None,
    max_tokens: Annotated[int, option("How many to write at most; 500 unless given.")] = 500,
    greedy: Annotated[bool, flag("--greedy", "Always the likeliest token.")] = False,
    temperature: Annotated[
        float, option("Below 1 for safer, above 1 for wilder text; 0.8 unless given.")
    ] = 0.8,
    top_k: Annotated[int | None, option("Draw from so many likeliest tokens only.")] = None,
    top_p: Annotated[
        float | None, option("Draw from the likeliest that have this probability together.")
    ] = None,
    repetition_penalty: Annotated[
        float, option("Above 1 to avoid what was there; 1 unless given.")
    ] = 1.0,
    stop: Annotated[
        list[str] | None, option("Text before which to stop; may be given repeatedly.")
    ] = None,
    samples: Annotated[int, option("How many texts for each prompt; 1.")] = 1,
    seed: Annotated[int, option("Of what is drawn; the same gives the same; 0.")] = 0,
    draft: Annotated[
        Path | None,
        option("Run of a smaller model that guesses ahead, for --greedy: the same text, sooner."),
    ] = None,
    guesses: Annotated[int, option("How many tokens it guesses at a time; 4.")] = 4,
    weights: options.Weights = None,
):
    """Write, going on from a prompt, with a run of train-lm.

    Example:

        keras-transformer generate runs/shakespeare --prompt "ROMEO:"
        keras-transformer generate runs/shakespeare --prompt "ROMEO:" --samples 3 --stop JULIET
        keras-transformer generate runs/large --draft runs/small --greedy --prompt "ROMEO:"
    """
    import_tasks().generate_stream(
        run,
        prompt or [""],
        sys.stdout,
        samples=samples,
        weights=weights,
        draft=draft,
        guesses=guesses,
        max_tokens=max_tokens,
        temperature=None if greedy else temperature,
        top_k=top_k,
        top_p=top_p,
        repetition_penalty=repetition_penalty,
        stop=tuple(stop or ()),
        seed=seed,
        say=lambda text: typer.echo(text, err=True),
    )


@app.command()
def score(
    run: options.Run,
    text: Annotated[
        list[str] | None, typer.Argument(help="Texts; else lines on the standard input.")
    ] = None,
    prompt: Annotated[
        str, option("What stands before each of them, and does not count; nothing.")
    ] = "",
    weights: options.Weights = None,
):
    """How likely texts are: log-probability, perplexity, bits per character.

    Example:

        keras-transformer score runs/shakespeare "To be, or not to be" "To bee or two be"
    """
    import_tasks().score_stream(run, text or sys.stdin.buffer, sys.stdout, prompt, weights)
