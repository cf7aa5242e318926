"""A fine-tuned run as something another team can serve: text in, labels out."""

import json

import numpy as np
import tensorflow as tf

from keras_transformer.export.parity import size_of
from keras_transformer.export.reading import Answering, Classification, Tagging
from keras_transformer.export.reading_runtimes import (
    KerasReader,
    SavedReader,
    TFLiteReader,
    forced_rows,
)
from keras_transformer.export.saved_model import IDS, TEXT, Signature, write_saved_model
from keras_transformer.export.tflite import convert, file_name
from keras_transformer.export.warmup import write_warmup
from keras_transformer.tasks.export_version import export_version, write_beside
from keras_transformer.tasks.reader import Reader

READINGS = {"classify": Classification, "tag": Tagging, "span": Answering}
QUESTION = "What is this?"  # to try a model with that wants one


def export_reader(folder, out, format, quantize, version, examples, data, show_progress):
    """Writes a new version of a served model, if it answers as the run does.

    Args:
        folder: the `RunFolder` of a run of `finetune`.
        out, format, quantize, version, show_progress: see `export`.
        examples: texts to compare with and to warm up with.
        data: labelled examples to compare with, a file, or None.

    Returns:
        The path of the new version, and the rows of the report, see `export.parity.Row`.
    """
    reader = Reader(folder)
    if format == "tflite" and folder.task != "classify":
        raise ValueError(
            f"Only classifiers become TFLite files so far, and {folder.path} has learned to "
            f"{folder.task}: leave --format out"
        )
    reading = READINGS[folder.task](
        reader.model, reader.tokenizer, reader.labels, reader.max_length
    )
    lines, score, score_name = examples, None, "accuracy"
    if data is not None:
        lines, score, score_name = right_answers(reader, folder, data)
    original = KerasReader(
        reader.model,
        reading,
        lambda lines: answers(reader, lines),
        size_of(folder.path / "model.keras"),
    )

    def write(new, final):
        if format == "saved_model":
            return [write_served(new, final, reader, reading, examples)]
        return write_for_devices(new, reader, reading, quantize)

    return export_version(
        folder.path,
        out,
        version,
        write,
        original,
        lines,
        show_progress,
        score=score,
        forced=forced_rows,
        score_name=score_name,
    )


def answers(reader, lines):
    """What the run says about lines of text, in strings."""
    if reader.kind.name == "classify":
        return [found.label for found in reader.classify(lines)]
    if reader.kind.name == "tag":
        return [" ".join(tag for _, tag in words) for words in reader.tag(lines)]
    return reader.answer([QUESTION] * len(lines), lines)


def ask(task):
    """A function that asks the signatures of an export the same."""

    def classify(signatures, lines):
        return texts(signatures["classify"](text=tf.constant(lines))["label"])

    def tag(signatures, lines):
        found = signatures["tag"](text=tf.constant(lines))["tags"].numpy()
        return [" ".join(tag.decode() for tag in row if tag) for row in found]

    def answer(signatures, lines):
        questions = tf.fill([len(lines)], QUESTION)
        found = signatures["answer"](question=questions, text=tf.constant(lines))
        return texts(found["answer"])

    return {"classify": classify, "tag": tag, "span": answer}[task]


def texts(tensor):
    """A string tensor as a list."""
    return [text.decode() for text in tensor.numpy()]


def right_answers(reader, folder, data):
    """Texts of labelled examples, and a function that says how many answers are right, in %."""
    from keras_transformer.tasks.finetune_settings import FinetuneSettings

    settings = FinetuneSettings.from_dict(folder.config["training"])
    examples = reader.kind.read(data, settings, "test", {})
    if reader.kind.name == "span":
        raise ValueError("A model that finds answers is compared on texts alone: leave --data out")
    if reader.kind.name == "classify":
        right = [example.label for example in examples]
        return (
            [example.text for example in examples],
            lambda found: 100 * float(np.mean([f == r for f, r in zip(found, right, strict=True)])),
            "accuracy",
        )
    from keras_transformer.tasks.scores import tagging_scores

    tags = [example.tags for example in examples]
    return (
        [" ".join(example.words) for example in examples],
        lambda found: 100 * tagging_scores(tags, [row.split() for row in found])["f1"],
        "F1",
    )


def signatures_of(reading):
    """What a fine-tuned model can be asked; the first is what it is asked by default."""
    own = {
        Classification: lambda: {
            "classify": Signature(reading.classify, {"text": TEXT}),
            "classify_pair": Signature(reading.classify_pair, {"text": TEXT, "second": TEXT}),
        },
        Tagging: lambda: {"tag": Signature(reading.tag, {"text": TEXT})},
        Answering: lambda: {"answer": Signature(reading.answer, {"question": TEXT, "text": TEXT})},
    }[type(reading)]()
    return {
        **own,
        "tokenize": Signature(reading.tokenize, {"text": TEXT}),
        "encode": Signature(reading.encode, {"text": TEXT}),
        "logits": Signature(reading.logits, {"token_ids": IDS, "segment_ids": IDS}),
    }


def write_served(new, final, reader, reading, examples):
    """Writes a SavedModel, its warm-up requests and what stands beside it."""
    signatures = signatures_of(reading)
    write_saved_model(new, signatures, reader.model, [reader.tokenizer])
    exported = SavedReader(new, ask(reader.kind.name))
    requests = [(name, inputs) for name, inputs in warmup_requests(signatures, exported, examples)]
    write_warmup(new, requests)
    default = requests[0][1]
    request = {"instances": examples[:1]} if len(default) == 1 else {"inputs": as_json(default)}
    write_beside(final, signatures, exported, request)
    return exported


def as_json(inputs):
    """The inputs of a request, of strings, as JSON has them."""
    return {name: list(values) for name, values in inputs.items()}


def warmup_requests(signatures, exported, examples):
    """Requests with a text of every length, all of them at once, and one to each signature."""

    def inputs_of(name, lines):
        others = {other: [QUESTION] * len(lines) for other in signatures[name].inputs}
        return {**others, "text": lines}

    default = next(iter(signatures))
    for line in examples:
        yield "serving_default", inputs_of(default, [line])
    yield default, inputs_of(default, examples)
    for name, signature in signatures.items():
        if name != default and "text" in signature.inputs:
            yield name, inputs_of(name, examples[:1])
    ids = exported.signatures["tokenize"](text=tf.constant(examples[:1]))
    yield "logits", {name: value.numpy() for name, value in ids.items()}


def write_for_devices(new, reader, reading, quantize):
    """Writes TFLite files, and beside them what a host needs to use them."""
    signatures = {"logits": Signature(reading.logits, {"token_ids": IDS, "segment_ids": IDS})}
    for name, content in reader.tokenizer.files().items():
        (new / name).write_bytes(content)
    config = {
        "format": 1,
        "labels": reader.labels,
        "max_length": reader.max_length,
        **reader.tokenizer.special._asdict(),
    }
    (new / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    exported = []
    for kind in quantize:
        path = new / file_name(kind)
        path.write_bytes(convert(signatures, reader.model, kind))
        exported.append(TFLiteReader(path, kind, reading))
    return exported
