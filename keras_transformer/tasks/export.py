"""From a run to something another team can serve: a SavedModel with its bundle, or TFLite files."""

import json
import re
from pathlib import Path

from keras_transformer.data.pairs import read_lines
from keras_transformer.export.parity import size_of
from keras_transformer.export.runtimes import KerasModel, SavedModel, TFLiteModel, import_litert
from keras_transformer.export.saved_model import translation_signatures, write_saved_model
from keras_transformer.export.tflite import QUANTIZATIONS, convert, file_name, tflite_signatures
from keras_transformer.export.translation import Translation
from keras_transformer.export.versions import check_base
from keras_transformer.export.warmup import import_protos, write_warmup
from keras_transformer.tasks.evaluate import load_test_pairs, score
from keras_transformer.tasks.examples import of_all_lengths
from keras_transformer.tasks.export_language import export_language
from keras_transformer.tasks.export_reader import export_reader
from keras_transformer.tasks.export_version import export_version, write_beside
from keras_transformer.tasks.finetune_kinds import KINDS
from keras_transformer.tasks.run_folder import RunFolder
from keras_transformer.tasks.translate import Translator
from keras_transformer.text import END, PADDING, START

SAVED_MODEL, TFLITE = "saved_model", "tflite"
FORMATS = (SAVED_MODEL, TFLITE)
LEARNED = {"language": "write", "translation": "translate"}  # where a task's name does not say it


def export(
    run,
    out,
    format=SAVED_MODEL,
    quantize=("none",),
    version=None,
    sentences=None,
    data=None,
    source=None,
    target=None,
    tokenize="13a",
    show_progress=False,
    beam_size=1,
    alpha=1.0,
    weights=None,
    max_tokens=None,
):
    """Writes a new version of a served model, if it answers as the run does.

    Args:
        run: path of the run's folder.
        out: the folder of the served model; its name is what the model is served as.
        format: "saved_model" for a server, "tflite" for a device.
        quantize: for TFLite, which files to write: "none", "float16", "int8".
        version: its number; one more than the newest unless given.
        sentences: text file with source sentences to compare with and to warm up with; those that
            the training has kept unless given.
        data: a test set to compare with, see `evaluate`.
        source: likewise.
        target: likewise.
        tokenize: for BLEU, see `evaluate`.
        show_progress: whether to show a bar.
        beam_size: how many translations of a sentence the served model follows side by side; with
            more than 1 there is a signature `translate_nbest`. TFLite files decode greedily.
        alpha: how much a beam favours long translations.
        weights: which of the run's models, see `RunFolder.load_model`.
        max_tokens: of a language model, how many tokens it writes at most, see `export_language`.

    Returns:
        The path of the new version, and the rows of the report, see `export.parity.Row`.
    """
    check_arguments(out, format, quantize, version, beam_size)
    folder = RunFolder(run, "translation", "language", *KINDS)
    examples = load_examples(folder, sentences)
    learned = LEARNED.get(folder.task, folder.task)
    if max_tokens is not None and folder.task != "language":
        raise ValueError(f"{run} has learned to {learned}, not to write: there is no --max-tokens")
    if folder.task != "translation":
        if source is not None or target is not None or beam_size != 1:
            raise ValueError(
                f"{run} has learned to {learned}, not to translate: there is no --source, "
                "--target or --beam"
            )
        if folder.task == "language":
            if data is not None:
                raise ValueError(f"{run} has learned to {learned}: there is no --data to compare")
            model = folder.load_model(weights)
            return export_language(
                folder, model, out, format, quantize, version, examples, max_tokens, show_progress
            )
        return export_reader(folder, out, format, quantize, version, examples, data, show_progress)
    lines, bleu = examples, None
    if data is not None or source is not None or target is not None:
        pairs = load_test_pairs(folder, data, source, target)
        lines, references = map(list, zip(*pairs, strict=True))

        def bleu(translations):
            return score(translations, references, tokenize)["bleu"]

    translator = Translator.load(run, weights, beam_size=beam_size, alpha=alpha)
    original = KerasModel(
        translator.model, translator.tokenizers, translator, size_of(folder.path / "model.keras")
    )

    def write(new, final):
        if format == SAVED_MODEL:
            return [write_served(new, final, translator, examples)]
        return write_for_devices(new, folder, translator, quantize)

    return export_version(run, out, version, write, original, lines, show_progress, score=bleu)


def check_arguments(out, format, quantize, version, beam_size=1):
    """Raises an error for what could not work, before anything is loaded."""
    if format not in FORMATS:
        raise ValueError(f"`format` must be one of {', '.join(FORMATS)}. Received: {format!r}")
    for name in quantize:
        if name not in QUANTIZATIONS:
            raise ValueError(
                f"`quantize` must be one of {', '.join(QUANTIZATIONS)}. Received: {name!r}"
            )
    if format == SAVED_MODEL and tuple(quantize) != ("none",):
        raise ValueError("`quantize` is for TFLite: add --format tflite")
    if format == TFLITE and beam_size != 1:
        raise ValueError(f"TFLite files decode greedily. Received: beam_size={beam_size}")
    name = Path(out).resolve().name
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", name):
        raise ValueError(
            "The folder's name is what the model is served as: letters, digits, `_`, `.` and `-`. "
            f"Received: {name}"
        )
    check_base(out, version)
    import_protos() if format == SAVED_MODEL else import_litert()


def load_examples(folder, sentences):
    """Source sentences of all lengths: of a file, or those that the training has kept."""
    if sentences is not None:
        lines = {line.strip() for line in decode_lines(sentences)} - {""}
        if not lines:
            raise ValueError(f"{sentences} has no sentences in it")
        return of_all_lengths(lines)
    examples = folder.config["data"].get("examples")
    if not examples:
        raise ValueError(
            f"{folder.path} has kept no sentences to try the export with: give some, --sentences"
        )
    return examples


def decode_lines(path):
    """The lines of a text file."""
    for number, line in enumerate(read_lines(path), start=1):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise ValueError(f"Line {number} of {path} is not UTF-8") from None


def write_served(new, final, translator, examples):
    """Writes a SavedModel, its warm-up requests and what stands beside it."""
    signatures = translation_signatures(translator.translation)
    write_saved_model(new, signatures, translator.model, dict.fromkeys(translator.tokenizers))
    exported = SavedModel(new)
    write_warmup(new, warmup_requests(exported, examples))
    write_beside(final, signatures, exported, {"instances": examples[:1]})
    return exported


def warmup_requests(exported, examples):
    """Requests with a sentence of every length, all of them at once, and one to each signature."""
    for line in examples:
        yield "serving_default", {"text": [line]}
    yield "translate", {"text": examples}
    for name in ("translate_nbest", "tokenize", "encode", "attention"):
        if name in exported.signatures:
            yield name, {"text": examples[:1]}
    ids = exported.signatures["tokenize"](text=examples[:1])
    ids = {name: value.numpy() for name, value in ids.items()}
    yield "translate_ids", ids
    translated = exported.signatures["translate_ids"](**ids)
    yield "detokenize", {name: translated[name].numpy() for name in ("ids", "lengths")}
    yield "logits", {"source": ids["ids"], "target": ids["ids"]}


def write_for_devices(new, folder, translator, quantize):
    """Writes TFLite files, and beside them what a host needs to use them."""
    translation = Translation(translator.model, translator.tokenizers, fixed_shapes=True)
    signatures, exported = tflite_signatures(translation), []
    for name in ("tokenizer.model", "target_tokenizer.model"):
        if (folder.path / name).exists():
            (new / name).write_bytes((folder.path / name).read_bytes())
    config = {"format": 1, "padding": PADDING, "start": START, "end": END}
    config["max_length"] = translation.longest
    (new / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    for kind in quantize:
        path = new / file_name(kind)
        path.write_bytes(convert(signatures, translator.model, kind))
        exported.append(TFLiteModel(path, kind, translator.tokenizers, translation.longest))
    return exported
