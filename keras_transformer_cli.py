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
    help="Train Transformers: to translate, or BERTs to label texts. Use them, export them.",
)

DOES_NOT_FIT, USER_ERROR, INTERRUPTED = 1, 2, 130
DATA, VOCABULARY, MODEL, TRAINING, DEVICES = (
    "Data",
    "Vocabulary",
    "Model",
    "Training",
    "Devices",
)


def option(help, panel=None):
    """An option with its help and the panel it is shown in."""
    return typer.Option(help=help, rich_help_panel=panel, show_default=False)


def flag(name, help, panel=None):
    """An option that is given or not; by default there would be a --no- for each, too."""
    return typer.Option(name, help=help, rich_help_panel=panel, show_default=False)


Beam = Annotated[int, option("Translations followed side by side; 1, greedy, unless given.")]
Alpha = Annotated[float, option("How much a beam favours long translations; 1 unless given.")]
Weights = Annotated[
    str | None, option("best, last or averaged; averaged if there is one, unless given.")
]
Run = Annotated[Path, typer.Argument(help="Folder of a trained run.", show_default=False)]
Strategy = Annotated[
    str, option("auto (unless given), one, mirrored, multiworker or tpu.", DEVICES)
]
Replicas = Annotated[
    int | None, option("For mirrored: so many GPUs, or parts of the CPU.", DEVICES)
]
Tpu = Annotated[str | None, option("Name or address of a TPU; local unless given.", DEVICES)]
Resume = Annotated[bool, flag("--resume", "Go on from the last checkpoint.")]
ResumeOrBegin = Annotated[
    bool, flag("--resume-or-begin", "Go on if there is a run, else begin one.")
]
Overwrite = Annotated[bool, flag("--overwrite", "Replace an earlier run.")]
OtherVersions = Annotated[
    bool, flag("--other-versions", "Resume with other versions of the libraries.")
]


@app.command()
def train(
    out: Annotated[Path, option("Folder for everything about this run.")],
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
    norm_first: Annotated[
        bool | None, flag("--norm-first", "Normalise before sublayers, not after.", MODEL)
    ] = None,
    positions: Annotated[
        str | None, option("sine (unless given), learned, rotary, alibi or relative.", MODEL)
    ] = None,
    dropout: Annotated[float | None, option("Rate.", MODEL)] = None,
    max_length: Annotated[int | None, option("Longest sentence in tokens; 256.", MODEL)] = None,
    batch_tokens: Annotated[
        int | None, option("Positions of a batch, that of all devices together.", TRAINING)
    ] = None,
    scale_batch: Annotated[
        bool | None,
        flag("--scale-batch", "Batches as many times larger as there are devices.", TRAINING),
    ] = None,
    pack: Annotated[bool | None, flag("--pack", "Several pairs in one row.", TRAINING)] = None,
    accumulate: Annotated[
        int | None, option("Batches to average the gradient over; 1.", TRAINING)
    ] = None,
    mixed_precision: Annotated[
        bool | None, flag("--mixed-precision", "Compute in bfloat16.", TRAINING)
    ] = None,
    learning_rate: Annotated[float | None, option("The highest.", TRAINING)] = None,
    warmup_steps: Annotated[int | None, option("How long it rises.", TRAINING)] = None,
    cool_down: Annotated[
        float | None, option("Share of --max-steps in which it falls to zero; 0.", TRAINING)
    ] = None,
    label_smoothing: Annotated[float | None, option("0.1 unless given.", TRAINING)] = None,
    clip_norm: Annotated[float | None, option("Largest gradient norm; 1.", TRAINING)] = None,
    epochs: Annotated[int | None, option("At most; 100.", TRAINING)] = None,
    max_steps: Annotated[int | None, option("At most.", TRAINING)] = None,
    max_minutes: Annotated[float | None, option("At most.", TRAINING)] = None,
    watch: Annotated[
        str | None, option("What is best: perplexity (unless given) or bleu.", TRAINING)
    ] = None,
    tokenize: Annotated[
        str | None, option('For --watch bleu; "none" for tokenised text.', TRAINING)
    ] = None,
    patience: Annotated[
        int | None, option("Stop after so many epochs without a better validation; 10.", TRAINING)
    ] = None,
    average: Annotated[
        int | None, option("Average the weights of so many last epochs.", TRAINING)
    ] = None,
    ema: Annotated[
        float | None, option("Keep a moving average of the weights; 0.999, say.", TRAINING)
    ] = None,
    keep_epochs: Annotated[
        int | None, option("Keep the weights of so many last epochs; 10.", TRAINING)
    ] = None,
    steps_per_execution: Annotated[
        int | None, option("Steps between looks at limits and signals; 1.", TRAINING)
    ] = None,
    seed: Annotated[int | None, option("Of everything drawn; 0.", TRAINING)] = None,
    strategy: Strategy = "auto",
    replicas: Replicas = None,
    tpu: Tpu = None,
    resume: Resume = False,
    resume_or_begin: ResumeOrBegin = False,
    overwrite: Overwrite = False,
    other_versions: OtherVersions = False,
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
def pretrain(
    out: Annotated[Path, option("Folder for everything about this run.")],
    text: Annotated[
        Path | None,
        option("Text file, or .gz: a sentence a line, blank lines between documents.", DATA),
    ] = None,
    data: Annotated[
        str | None, option('Instead: a data set with a text feature, "tfds:name".', DATA)
    ] = None,
    feature: Annotated[str | None, option("Which feature that is.", DATA)] = None,
    valid_text: Annotated[Path | None, option("Text file to validate with.", DATA)] = None,
    skip_bad_lines: Annotated[
        bool | None, flag("--skip-bad-lines", "Leave out lines that are not UTF-8.", DATA)
    ] = None,
    vocab_size: Annotated[int | None, option("Pieces; 8000 unless given.", VOCABULARY)] = None,
    vocab_kind: Annotated[
        str | None, option("wordpiece (unless given), bpe or unigram.", VOCABULARY)
    ] = None,
    cased: Annotated[
        bool | None, flag("--cased", "Keep capital letters and accents.", VOCABULARY)
    ] = None,
    size: Annotated[
        str | None, option("tiny, mini (unless given), small, medium, base or large.", MODEL)
    ] = None,
    dim: Annotated[int | None, option("Width.", MODEL)] = None,
    num_heads: Annotated[int | None, option("Attention heads.", MODEL)] = None,
    ffn_dim: Annotated[
        int | None, option("Inner width of the feed-forward networks.", MODEL)
    ] = None,
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
    batch_tokens: Annotated[
        int | None, option("Positions of a batch, that of all devices together.", TRAINING)
    ] = None,
    scale_batch: Annotated[
        bool | None,
        flag("--scale-batch", "Batches as many times larger as there are devices.", TRAINING),
    ] = None,
    accumulate: Annotated[
        int | None, option("Batches to average the gradient over; 1.", TRAINING)
    ] = None,
    mixed_precision: Annotated[
        bool | None, flag("--mixed-precision", "Compute in bfloat16.", TRAINING)
    ] = None,
    learning_rate: Annotated[float | None, option("The highest.", TRAINING)] = None,
    warmup_steps: Annotated[int | None, option("How long it rises.", TRAINING)] = None,
    cool_down: Annotated[
        float | None, option("Share of --max-steps in which it falls to zero; 0.", TRAINING)
    ] = None,
    weight_decay: Annotated[float | None, option("Of matrices; 0.01.", TRAINING)] = None,
    clip_norm: Annotated[float | None, option("Largest gradient norm; 1.", TRAINING)] = None,
    epochs: Annotated[int | None, option("At most; 100.", TRAINING)] = None,
    max_steps: Annotated[int | None, option("At most.", TRAINING)] = None,
    max_minutes: Annotated[float | None, option("At most.", TRAINING)] = None,
    patience: Annotated[
        int | None, option("Stop after so many epochs without a better validation; 10.", TRAINING)
    ] = None,
    steps_per_execution: Annotated[
        int | None, option("Steps between looks at limits and signals; 1.", TRAINING)
    ] = None,
    seed: Annotated[int | None, option("Of everything drawn; 0.", TRAINING)] = None,
    strategy: Strategy = "auto",
    replicas: Replicas = None,
    tpu: Tpu = None,
    resume: Resume = False,
    resume_or_begin: ResumeOrBegin = False,
    overwrite: Overwrite = False,
    other_versions: OtherVersions = False,
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
    out: Annotated[Path, option("Folder for everything about this run.")],
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
    label_smoothing: Annotated[float | None, option("0.1 unless given.", TRAINING)] = None,
    class_weights: Annotated[
        str | None, option("balanced: rare labels count as much as others.", TRAINING)
    ] = None,
    batch_tokens: Annotated[int | None, option("Positions of a batch; 1024.", TRAINING)] = None,
    accumulate: Annotated[
        int | None, option("Batches to average the gradient over; 1.", TRAINING)
    ] = None,
    mixed_precision: Annotated[
        bool | None, flag("--mixed-precision", "Compute in bfloat16.", TRAINING)
    ] = None,
    learning_rate: Annotated[
        float | None, option("The highest; what suits the model's width.", TRAINING)
    ] = None,
    warmup_steps: Annotated[int | None, option("How long it rises.", TRAINING)] = None,
    weight_decay: Annotated[float | None, option("Of matrices; 0.01.", TRAINING)] = None,
    clip_norm: Annotated[float | None, option("Largest gradient norm; 1.", TRAINING)] = None,
    epochs: Annotated[int | None, option("At most.", TRAINING)] = None,
    max_steps: Annotated[int | None, option("At most.", TRAINING)] = None,
    max_minutes: Annotated[float | None, option("At most.", TRAINING)] = None,
    patience: Annotated[
        int | None, option("Stop after so many epochs without a better validation.", TRAINING)
    ] = None,
    seed: Annotated[int | None, option("Of everything drawn; 0.", TRAINING)] = None,
    strategy: Strategy = "auto",
    replicas: Replicas = None,
    resume: Resume = False,
    resume_or_begin: ResumeOrBegin = False,
    overwrite: Overwrite = False,
    other_versions: OtherVersions = False,
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
    run: Run,
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


@app.command()
def answer(
    run: Run,
    question: Annotated[str, typer.Argument(help="The question.", show_default=False)],
    text: Annotated[str, typer.Argument(help="The text it is about.", show_default=False)],
):
    """Find the answer to a question in a text, with a run of finetune --task span.

    Example:

        keras-transformer answer runs/answers "Who wrote it?" "The book was written by Ada."
    """
    found = import_tasks().answer(run, [question], [text])[0]
    typer.echo(found or "(the text does not say)")


@app.command(context_settings={"ignore_unknown_options": True})
def launch(
    command: Annotated[
        list[str] | None, typer.Argument(help="What each of them does, after --; or a program.")
    ] = None,
    workers: Annotated[int, option("How many processes; 2 unless given.")] = 2,
    restarts: Annotated[
        int, option("Start all again, and resume, so many times when one has died; 0.")
    ] = 0,
):
    """Train with several worker processes on this machine.

    Example:

        keras-transformer launch --workers 2 --restarts 1 -- train --data phrases --out runs/two

    For several GPUs in one machine there is `train --strategy mirrored`. On several machines, a
    job manager starts the workers: docs/scale.md.
    """
    from keras_transformer_launch import launch

    code = launch(command or [], workers, restarts, say=lambda line: typer.echo(line, err=True))
    if code:
        sys.exit(code)


@app.command()
def tpu_check(
    size: Annotated[str, option("tiny, base or big; base unless given.")] = "base",
    topology: Annotated[
        str, option("Generation, and chips along each axis; v5e:4x4 unless given.")
    ] = "v5e:4x4",
    batch_tokens: Annotated[
        int, option("Positions of a batch, all chips together; 131072 unless given.")
    ] = 131_072,
    length: Annotated[int, option("Of a row of packed sentences; 256 unless given.")] = 256,
    vocab_size: Annotated[int, option("Pieces; 32000 unless given.")] = 32_000,
    model_parallel: Annotated[
        int, option("Split a model over so many chips; 1, every chip has all of it.")
    ] = 1,
    precision: Annotated[
        str, option("mixed_bfloat16 (unless given), bfloat16 or float32.")
    ] = "mixed_bfloat16",
    backend: Annotated[
        str, option("jax (unless given), or tensorflow: what one chip does, without the others.")
    ] = "jax",
    json: Annotated[bool, flag("--json", "Print JSON.")] = False,
):
    """Compile a whole training step with the TPU's compiler, without a TPU: does it fit?

    Needs `pip install 'keras-transformer-layers[tpu-check]'` and a few minutes. The exit code is 1
    if it does not fit.

    Example:

        keras-transformer tpu-check --size base --topology v5e:4x4 --batch-tokens 131072
    """
    if backend not in ("jax", "tensorflow"):
        raise ValueError(f"`backend` must be one of jax, tensorflow. Received: backend={backend!r}")
    os.environ["KERAS_BACKEND"] = backend
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # where the compiler runs
    os.environ.setdefault("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with quiet_standard_error() as screen, waiting(screen, f"Compiling for {topology}: minutes"):
        from keras_transformer.tasks.tpu_check import tpu_check as check

        report = check(size, topology, batch_tokens, length, vocab_size, model_parallel, precision)
    if json:
        typer.echo(json_format.dumps(report.as_dict()))
    else:
        typer.echo("\n".join(report.lines()))
    if not report.fits:
        sys.exit(DOES_NOT_FIT)


@app.command()
def average(
    run: Run,
    last: Annotated[int, option("How many epochs; 10 unless given.")] = 10,
):
    """Average the weights of a run's last epochs; later commands use the result.

    Example:

        keras-transformer average runs/ende --last 10
    """
    typer.echo(f"Averaged to {import_tasks().average(run, last)}")


@app.command()
def evaluate(
    run: Run,
    data: Annotated[
        str | None, option('"phrases" or "stories" (held-out pairs), a TSV file, "tfds:name".')
    ] = None,
    source: Annotated[Path | None, option("Text file, one sentence a line, or .gz.")] = None,
    target: Annotated[Path | None, option("Its translation, line by line.")] = None,
    tokenize: Annotated[str, option('For BLEU; "none" for tokenised text.')] = "13a",
    skip_bad_lines: Annotated[
        bool, flag("--skip-bad-lines", "Leave out lines that are not UTF-8.")
    ] = False,
    beam: Beam = 1,
    alpha: Alpha = 1.0,
    weights: Weights = None,
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
    beam: Beam = 1,
    alpha: Alpha = 1.0,
    n_best: Annotated[
        int | None, option("Show so many translations of a beam, each with its score.")
    ] = None,
    weights: Weights = None,
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


@app.command()
def export(
    run: Run,
    out: Annotated[Path, option("Folder of the served model; a version is added to it.")],
    format: Annotated[
        str, option("saved_model (for a server), tflite (for a device), or huggingface (BERTs).")
    ] = "saved_model",
    quantize: Annotated[
        list[str] | None, option("For tflite: none, float16 or int8; may be given repeatedly.")
    ] = None,
    version: Annotated[int | None, option("Its number; the next one unless given.")] = None,
    sentences: Annotated[
        Path | None, option("Source sentences to compare and warm up with; else the run's own.")
    ] = None,
    data: Annotated[str | None, option('Test set to compare with: "phrases" or a TSV.')] = None,
    source: Annotated[Path | None, option("Test set: text file, one sentence a line.")] = None,
    target: Annotated[Path | None, option("Its translation, line by line.")] = None,
    tokenize: Annotated[str, option('For BLEU; "none" for tokenised text.')] = "13a",
    beam: Beam = 1,
    alpha: Alpha = 1.0,
    weights: Weights = None,
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
    options = (version, sentences, data, source, target, tokenize)
    path, rows = tasks.export(
        run,
        out,
        format,
        tuple(quantize or ("none",)),
        *options,
        show_progress=True,
        beam_size=beam,
        alpha=alpha,
        weights=weights,
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
    options = {"release": release} if release else {}

    def show(finding):
        mark, detail = ("✓", finding.detail) if finding.passed else ("✗", "")
        typer.echo(f"{mark} {finding.name}{': ' if detail else ''}{detail}")
        for problem in finding.problems:
            typer.echo(f"    {problem}")

    findings = import_tasks().check(model, libraries=libraries, show=show, **options)
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


def import_tasks():
    """`keras_transformer.tasks`, without the lines TensorFlow writes when it is imported."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with quiet_standard_error():
        from keras_transformer import tasks
    return tasks


@contextlib.contextmanager
def quiet_standard_error():
    """Keeps back what is written to the standard error, unless an exception comes.

    Not so if that is a user's mistake, which is explained in a line. What must be seen all the same
    can be written to the file that this gives.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as hidden, os.fdopen(kept, "w") as screen:
        os.dup2(hidden.fileno(), 2)
        try:
            yield screen
        except BaseException as error:
            if not isinstance(error, ValueError):
                hidden.seek(0)
                os.write(kept, hidden.read())
            raise
        finally:
            screen.flush()
            os.dup2(kept, 2)


@contextlib.contextmanager
def waiting(screen, text):
    """Says what takes so long, on a screen that is otherwise kept quiet."""
    from rich.console import Console

    console = Console(file=screen, highlight=False)
    if not console.is_terminal:
        console.print(text, markup=False)
        yield
        return
    with console.status(text):
        yield


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
    except RuntimeError as error:
        code = getattr(error, "exit_code", None)
        if code is None:
            raise
        typer.echo(f"Error: {error}", err=True)
        sys.stderr.flush()
        os._exit(code)  # TensorFlow would wait for the others before it lets Python end


if __name__ == "__main__":
    main()
