"""BERT: pre-train it, fine-tune it, look into it."""

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
def pretrain(
    out: options.Out,
    text: Annotated[
        Path | None,
        option("Text file, or .gz: a sentence a line, blank lines between documents.", DATA),
    ] = None,
    data: Annotated[
        str | None, option('Instead: a data set with a text feature, "tfds:name".', DATA)
    ] = None,
    feature: Annotated[str | None, option("Which feature that is.", DATA)] = None,
    valid_text: Annotated[Path | None, option("Text file to validate with.", DATA)] = None,
    skip_bad_lines: options.SkipBadLines = None,
    vocab_size: options.VocabSize = None,
    vocab_kind: Annotated[
        str | None, option("wordpiece (unless given), bpe or unigram.", VOCABULARY)
    ] = None,
    cased: Annotated[
        bool | None, flag("--cased", "Keep capital letters and accents.", VOCABULARY)
    ] = None,
    size: Annotated[
        str | None, option("tiny, mini (unless given), small, medium, base or large.", MODEL)
    ] = None,
    dim: options.Dim = None,
    num_heads: options.NumHeads = None,
    ffn_dim: options.FfnDim = None,
    num_layers: Annotated[int | None, option("How many blocks.", MODEL)] = None,
    dropout: Annotated[float | None, option("Rate; 0.1.", MODEL)] = None,
    max_length: Annotated[int | None, option("Of a row, in tokens; 128.", MODEL)] = None,
    no_next_sentence: Annotated[
        bool, flag("--no-next-sentence", "Guess hidden words only.", TRAINING)
    ] = False,
    whole_words: Annotated[
        bool | None, flag("--whole-words", "Hide all pieces of a word together.", TRAINING)
    ] = None,
    mask_rate: Annotated[float | None, option("Share of tokens to hide; 0.15.", TRAINING)] = None,
    batch_tokens: options.BatchTokens = None,
    scale_batch: options.ScaleBatch = None,
    accumulate: options.Accumulate = None,
    mixed_precision: options.MixedPrecision = None,
    learning_rate: options.LearningRate = None,
    warmup_steps: options.WarmupSteps = None,
    cool_down: options.CoolDown = None,
    weight_decay: options.WeightDecay = None,
    clip_norm: options.ClipNorm = None,
    epochs: options.Epochs = None,
    max_steps: options.AtMost = None,
    max_minutes: options.Minutes = None,
    patience: options.Patience = None,
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
    """Teach a BERT a language from plain text: to guess hidden words, and what follows what.

    Example:

        keras-transformer pretrain --text corpus.txt --size mini --out runs/bert
        keras-transformer pretrain --data tfds:imdb_reviews --size small --out runs/reviews
    """
    settings = {name: value for name, value in locals().items() if value is not None}
    settings["next_sentence"] = not settings.pop("no_next_sentence")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    import_tasks().pretrain(**settings)


@app.command()
def guess(
    model: Annotated[
        Path,
        typer.Argument(help="Folder of a run of pretrain, or of a published model with its head."),
    ],
    text: Annotated[list[str], typer.Argument(help="Texts with [MASK] in them.")],
    count: Annotated[int, option("How many guesses for each [MASK]; 5 unless given.")] = 5,
):
    """Guess the words behind [MASK] with a pre-trained BERT.

    Example:

        keras-transformer guess runs/bert "the [MASK] sat on the mat"
    """
    for one, masks in zip(text, import_tasks().guess(model, text, count), strict=True):
        typer.echo(one)
        for guesses in masks:
            typer.echo("  " + ", ".join(f"{piece} {share:.3f}" for piece, share in guesses))


@app.command()
def finetune(
    model: Annotated[
        Path,
        typer.Argument(
            help="Folder of a run of pretrain, or of a published model: config.json, "
            "model.safetensors, vocab.txt.",
            show_default=False,
        ),
    ],
    out: options.Out,
    data: Annotated[
        str | None,
        option('TSV file, "tfds:glue/sst2", words and tags in columns, or questions.', DATA),
    ] = None,
    task: Annotated[
        str, option("classify (unless given), tag (words) or span (answers).", DATA)
    ] = "classify",
    valid_data: Annotated[
        str | None, option("To validate with; else some are kept back.", DATA)
    ] = None,
    test_data: Annotated[
        str | None, option("To evaluate with at the end; else some are held out.", DATA)
    ] = None,
    columns: Annotated[
        str | None, option("Of the TSV file: label,text unless given; also second, and -.", DATA)
    ] = None,
    hold_out: Annotated[
        float | None, option("Share of the examples to evaluate with; 0.2.", DATA)
    ] = None,
    keep_back: Annotated[
        float | None, option("Share of the others to validate with; 0.1.", DATA)
    ] = None,
    max_length: Annotated[
        int | None, option("Longest text in tokens; the model's, at most 256.", MODEL)
    ] = None,
    pooling: Annotated[
        str | None, option("What a label is read from: mean (unless given) or first.", MODEL)
    ] = None,
    lora: Annotated[
        int | None, option("Train only matrices of this rank beside the others.", MODEL)
    ] = None,
    fresh: Annotated[
        bool | None, flag("--fresh", "Begin with new weights, for comparison.", MODEL)
    ] = None,
    train_embeddings: Annotated[
        bool | None, flag("--train-embeddings", "Those of the tokens, too.", MODEL)
    ] = None,
    dropout: Annotated[float | None, option("Rate; the model's own.", MODEL)] = None,
    label_smoothing: options.LabelSmoothing = None,
    class_weights: Annotated[
        str | None, option("balanced: rare labels count as much as others.", TRAINING)
    ] = None,
    batch_tokens: Annotated[int | None, option("Positions of a batch; 1024.", TRAINING)] = None,
    accumulate: options.Accumulate = None,
    mixed_precision: options.MixedPrecision = None,
    learning_rate: Annotated[
        float | None, option("The highest; what suits the model's width.", TRAINING)
    ] = None,
    warmup_steps: options.WarmupSteps = None,
    weight_decay: options.WeightDecay = None,
    clip_norm: options.ClipNorm = None,
    epochs: options.AtMost = None,
    max_steps: options.AtMost = None,
    max_minutes: options.Minutes = None,
    patience: Annotated[
        int | None, option("Stop after so many epochs without a better validation.", TRAINING)
    ] = None,
    seed: options.Seed = None,
    strategy: options.Strategy = "auto",
    replicas: options.Replicas = None,
    resume: options.Resume = False,
    resume_or_begin: options.ResumeOrBegin = False,
    overwrite: options.Overwrite = False,
    other_versions: options.OtherVersions = False,
):
    """Teach a trained BERT one task from labelled examples, and see how good it is at it.

    Example:

        keras-transformer finetune runs/bert --data spam.tsv --task classify --out runs/spam
        keras-transformer finetune minilm --data train.conll --task tag --out runs/names
        keras-transformer finetune minilm --data questions.tsv --task span --out runs/answers
    """
    settings = {name: value for name, value in locals().items() if value is not None}
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    import_tasks().finetune(**settings)


@app.command()
def classify(
    run: options.Run,
    text: Annotated[
        list[str] | None, typer.Argument(help="Texts; else lines on the standard input.")
    ] = None,
):
    """Label texts with a fine-tuned run, or tag their words, whatever it has learned.

    Example:

        keras-transformer classify runs/spam "Win cash prizes"
        keras-transformer classify runs/spam < messages.txt > labels.tsv
        keras-transformer classify runs/names "Ada Lovelace was born in London"
    """
    import_tasks().read_stream(run, text or sys.stdin.buffer, sys.stdout)


@app.command()
def answer(
    run: options.Run,
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    text: Annotated[str, typer.Argument(help="The text it is about.", show_default=False)],
):
    """Find the answer to a question in a text, with a run of finetune --task span.

    Example:

        keras-transformer answer runs/answers "Who wrote it?" "The book was written by Ada."
    """
    found = import_tasks().answer(run, [question], [text])[0]
    typer.echo(found or "(the text does not say)")


@app.command()
def features(
    model: Annotated[
        Path,
        typer.Argument(
            help="Folder of a run of pretrain or finetune, or of a published model.",
            show_default=False,
        ),
    ],
    text: Annotated[
        list[str] | None, typer.Argument(help="Texts; else lines on the standard input.")
    ] = None,
    combine: Annotated[
        str,
        option(
            "first, second_to_last, last (unless given), sum_last_four, concat_last_four or "
            "sum_all."
        ),
    ] = "last",
    out: Annotated[
        Path | None, option("Write words and vectors to this .npz file; else print them.")
    ] = None,
    compare: Annotated[
        bool, flag("--compare", "Which layers? Train a tagger on each choice, print a table.")
    ] = False,
    data: Annotated[
        Path | None, option("With --compare: words and tags in columns to train with.")
    ] = None,
    test_data: Annotated[
        Path | None, option("With --compare: to test with; else some are held out.")
    ] = None,
    sentences: Annotated[int, option("With --compare: to train with, at most; 5000.")] = 5_000,
    picture: Annotated[Path | None, option("With --compare: draw the table, too.")] = None,
    seed: Annotated[int, option("With --compare: of everything drawn; 0.")] = 0,
    json: Annotated[bool, flag("--json", "With --compare: print JSON.")] = False,
):
    """Vectors of words in their context, from any layers of a BERT; or, which layers are best?

    Example:

        keras-transformer features minilm "she sat on the river bank" --combine sum_last_four
        keras-transformer features minilm --compare --data train.conll --test-data test.conll
    """
    tasks = import_tasks()
    if not compare:
        tasks.write_features(model, text or sys.stdin.buffer, combine, out, sys.stdout)
        return
    if data is None:
        raise ValueError("--compare needs --data: one word a line, its tag in the last column")
    from keras_transformer.tasks import compare_features as comparing

    results = comparing.compare_features(model, data, test_data, sentences, seed)
    if picture is not None:
        comparing.draw_comparison(results, picture)
    typer.echo(
        json_format.dumps(results) if json else "\n".join(comparing.comparison_lines(results))
    )
