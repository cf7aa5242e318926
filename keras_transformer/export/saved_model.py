"""A SavedModel from functions: each becomes a signature with named inputs and outputs."""

from typing import Any, NamedTuple

import tensorflow as tf

TEXT = tf.TensorSpec([None], tf.string)
LENGTHS = tf.TensorSpec([None], tf.int32)
IDS = tf.TensorSpec([None, None], tf.int32)


class Signature(NamedTuple):
    """One thing a served model can be asked.

    Attributes:
        function: of tensors, called by name; returns a dict of tensors. The first dimension of
            every input and output is the batch's, or a server could not put requests together.
        inputs: a dict from the names of its arguments to their `tf.TensorSpec`.
    """

    function: Any
    inputs: dict


def translation_signatures(translation):
    """What a translation model can be asked; the first is what it is asked by default."""
    of_beam = {"translate_nbest": Signature(translation.translate_nbest, {"text": TEXT})}
    return {
        "translate": Signature(translation.translate, {"text": TEXT}),
        **(of_beam if translation.beam_size > 1 else {}),
        "translate_ids": Signature(translation.translate_ids, {"ids": IDS, "lengths": LENGTHS}),
        "tokenize": Signature(translation.tokenize, {"text": TEXT}),
        "detokenize": Signature(translation.detokenize, {"ids": IDS, "lengths": LENGTHS}),
        "encode": Signature(translation.encode, {"text": TEXT}),
        "attention": Signature(translation.attention, {"text": TEXT}),
        "logits": Signature(translation.logits, {"source": IDS, "target": IDS}),
    }


def write_saved_model(path, signatures, model, tokenizers=()):
    """Writes a SavedModel that needs neither Keras nor this package.

    Args:
        path: of a folder that does not exist yet.
        signatures: a dict from names to `Signature`s. The first is `serving_default` too.
        model: the Keras model that the functions call.
        tokenizers: those that they call.
    """
    module = tf.Module()
    # What the functions use must hang on the module, or it could not be saved.
    module.weights = [variable.value for variable in model.variables]
    module.tokenizers = [t.in_graph for t in tokenizers if hasattr(t, "in_graph")]
    functions = {name: concrete(signature) for name, signature in signatures.items()}
    default = next(iter(functions.values()))
    try:
        tf.saved_model.save(module, str(path), signatures={"serving_default": default, **functions})
    except tf.errors.OpError as error:  # TensorFlow's own kind of a full disk
        raise OSError(f"the model cannot be saved: {error.message.splitlines()[0]}") from error


def concrete(signature):
    """The traced function of a signature."""
    specs = {
        name: tf.TensorSpec(spec.shape, spec.dtype, name=name)
        for name, spec in signature.inputs.items()
    }
    return tf.function(signature.function).get_concrete_function(**specs)
