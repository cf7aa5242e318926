"""A language model as something another team can serve: a prompt in, what follows it out."""

import json

import tensorflow as tf

from keras_transformer.export.generation import Generation
from keras_transformer.export.generation_runtimes import (
    KerasWriter,
    SavedWriter,
    TFLiteWriter,
    forced_texts,
)
from keras_transformer.export.parity import size_of
from keras_transformer.export.saved_model import IDS, LENGTHS, TEXT, Signature, write_saved_model
from keras_transformer.export.tflite import convert, file_name
from keras_transformer.export.warmup import write_warmup
from keras_transformer.tasks.export_version import export_version, write_beside
from keras_transformer.tasks.writer import Writer

MAX_TOKENS = 200  # unless given
NUMBERS = tf.TensorSpec([None], tf.float32)


def export_language(
    folder, model, out, format, quantize, version, examples, max_tokens, show_progress
):
    """Writes a new version of a served model, if it writes as the run does.

    Args:
        folder: the `RunFolder` of a run of `train_language`.
        model: its `Gpt`.
        out, format, quantize, version, show_progress: see `export`.
        examples: prompts to compare with and to warm up with.
        max_tokens: how many tokens it writes at most; 200 unless given. For TFLite, prompts and
            what follows them share the model's context: half of it at most unless given.

    Returns:
        The path of the new version, and the rows of the report, see `export.parity.Row`.
    """
    tokenizer, context = folder.tokenizers()[0], model.arguments["max_length"]
    for_devices = format == "tflite"
    if max_tokens is None:
        max_tokens = min(MAX_TOKENS, max(context // 2, 1)) if for_devices else MAX_TOKENS
    generation = Generation(model, tokenizer, max_tokens)
    if for_devices and generation.longest_prompt < 1:
        raise ValueError(
            f"A TFLite file writes within the model's context of {context} tokens: `max_tokens` "
            f"must be at most that. Received: max_tokens={max_tokens}"
        )
    writer = Writer(model, tokenizer)

    def answer(lines):
        if for_devices:
            lines = [tokenizer.decode(row) for row in of_end(tokenizer, generation, lines)]
        return writer.write(lines, max_tokens=max_tokens, temperature=None)

    def write(new, final):
        if for_devices:
            return write_for_devices(new, generation, quantize)
        return [write_served(new, final, generation, examples)]

    original = KerasWriter(model, tokenizer, answer, size_of(folder.path / "model.keras"))
    return export_version(
        folder.path,
        out,
        version,
        write,
        original,
        examples,
        show_progress,
        forced=forced_texts,
    )


def of_end(tokenizer, generation, lines):
    """The ids of each prompt, as many of its last ones as a device reads."""
    return [tokenizer.encode(line)[-generation.longest_prompt :] for line in lines]


def signatures_of(generation):
    """What a language model can be asked; the first is what it is asked by default."""
    drawn = {"temperature": NUMBERS, "top_p": NUMBERS, "seed": LENGTHS, "max_tokens": LENGTHS}
    return {
        "generate": Signature(generation.generate, {"text": TEXT}),
        "sample": Signature(generation.sample, {"text": TEXT, **drawn}),
        "tokenize": Signature(generation.tokenize, {"text": TEXT}),
        "logits": Signature(generation.logits, {"token_ids": IDS}),
    }


def write_served(new, final, generation, examples):
    """Writes a SavedModel, its warm-up requests and what stands beside it."""
    signatures = signatures_of(generation)
    write_saved_model(new, signatures, generation.model, [generation.tokenizer])
    exported = SavedWriter(new)
    write_warmup(new, warmup_requests(exported, examples))
    write_beside(final, signatures, exported, {"instances": examples[:1]})
    return exported


def warmup_requests(exported, examples):
    """Requests with each prompt, all of them at once, and one to each signature."""
    for line in examples:
        yield "serving_default", {"text": [line]}
    yield "generate", {"text": examples}
    yield "tokenize", {"text": examples[:1]}
    drawn = {"temperature": [0.8], "top_p": [0.95], "seed": tf.constant([0]), "max_tokens": [20]}
    yield "sample", {"text": examples[:1], **drawn}
    ids = exported.signatures["tokenize"](text=tf.constant(examples[:1]))["ids"]
    yield "logits", {"token_ids": ids.numpy()}


def write_for_devices(new, generation, quantize):
    """Writes TFLite files, and beside them what a host needs to use them."""
    signatures = {
        "generate": Signature(generation.generate_ids, {"token_ids": IDS, "lengths": LENGTHS}),
        "logits": Signature(generation.logits, {"token_ids": IDS}),
    }
    tokenizer = generation.tokenizer
    for name, content in tokenizer.files().items():
        (new / name).write_bytes(content)
    config = {"format": 1, "start": tokenizer.start, "end": tokenizer.end}
    config |= {"max_tokens": generation.max_tokens, "longest_prompt": generation.longest_prompt}
    (new / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    exported = []
    for kind in quantize:
        path = new / file_name(kind)
        path.write_bytes(convert(signatures, generation.model, kind))
        exported.append(TFLiteWriter(path, kind, tokenizer, generation.longest_prompt))
    return exported
