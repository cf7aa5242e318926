"""Going on with prompts, by a trained language model."""

from keras_transformer.tasks.memory import keep_memory
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.tasks.threads import share_cores
from keras_transformer.tasks.writer import Writer

NARROW = 512  # features; what is wider is written sooner by all cores together


def load_writer(run, weights=None, draft=None, guesses=4):
    """A `Writer` of a run of `train_language`.

    The process keeps memory it has freed; and if TensorFlow has not started yet and the model is
    narrow, every operation gets one core: they wait for each other, and are over in microseconds.

    Args:
        run: path of the run.
        weights: see `RunFolder.load_model`.
        draft: path of the run of a smaller model that guesses ahead.
        guesses: how many tokens at a time.
    """
    folder = RunFolder(run, "language")
    keep_memory(together=False)
    if folder.config["model"]["dim"] <= NARROW:
        share_cores()
    tokenizer = folder.tokenizers()[0]
    if draft is None:
        return Writer(folder.load_model(weights), tokenizer)
    of_draft = RunFolder(draft, "language")
    if of_draft.tokenizers()[0].files() != tokenizer.files():
        raise ValueError(
            f"A draft must have the vocabulary of the model whose text it guesses, and {draft} has "
            f"not that of {run}: train it on the same text"
        )
    return Writer(folder.load_model(weights), tokenizer, of_draft.load_model(), guesses)


def generate(run, prompts, samples=1, weights=None, draft=None, guesses=4, **options):
    """The texts that follow some prompts.

    Args:
        run: path of a run of `train_language`.
        prompts: strings.
        samples: how many texts for each.
        weights, draft, guesses: see `load_writer`.
        **options: of `Writer.stream`.

    Returns:
        For each prompt a list of texts.
    """
    check_samples(samples)
    found = load_writer(run, weights, draft, guesses).write(repeated(prompts, samples), **options)
    return [found[i : i + samples] for i in range(0, len(found), samples)]


def generate_stream(
    run,
    prompts,
    out,
    samples=1,
    weights=None,
    draft=None,
    guesses=4,
    say=lambda text: None,
    **options,
):
    """Writes prompts and what follows them; a single text as it comes, several one after the other.

    Args:
        run, prompts, samples, weights, draft, guesses: see `generate`.
        out: a text file.
        say: a function that is told what the user should know.
        **options: of `Writer.stream`.
    """
    check_samples(samples)
    options["say"] = say
    writer = load_writer(run, weights, draft, guesses)
    if len(prompts) * samples == 1:
        waiting = prompts[0]  # until it is clear that there is something to go on with
        for (part,) in writer.stream(prompts, **options):
            out.write(waiting + part)
            out.flush()
            waiting = ""
        out.write("\n")
    else:
        prompts = repeated(prompts, samples)
        texts = writer.write(prompts, **options)
        for number, (prompt, text) in enumerate(zip(prompts, texts, strict=True)):
            out.write(f"--- {number // samples + 1}.{number % samples + 1}\n{prompt}{text}\n")
    if draft is not None:
        say(writer.describe_guesses())


def repeated(prompts, samples):
    """Every prompt so many times."""
    return [prompt for prompt in prompts for _ in range(samples)]


def check_samples(samples):
    """Raises an error unless there is something to write."""
    if samples < 1:
        raise ValueError(f"`samples` must be at least 1. Received: samples={samples}")
