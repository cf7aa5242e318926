"""What stands behind [MASK], in the opinion of a pre-trained model."""

from pathlib import Path

import numpy as np

from keras_transformer.models import MaskedLanguageModel
from keras_transformer.tasks.predict import Predictor
from keras_transformer.tasks.pretrained import is_run, load_tokenizer
from keras_transformer.tasks.run_folder import RunFolder


def guess(model, texts, count=5):
    """The likeliest pieces for each [MASK] of some texts.

    Args:
        model: path of a run of `pretrain`, or of a folder in Hugging Face's layout that has a
            masked-language head.
        texts: strings.
        count: how many guesses for each.

    Returns:
        For each text a list with, for each [MASK], a list of (piece, probability).
    """
    path = Path(model)
    if is_run(path):
        loaded = RunFolder(path, "pretraining").load_model()
    else:
        loaded = MaskedLanguageModel.from_huggingface(path)
    tokenizer = load_tokenizer(path)
    special, room = tokenizer.special, loaded.bert.arguments["max_length"] - 2
    ids = [[special.start, *row[:room], special.end] for row in tokenizer.encode(list(texts))]
    for text, row in zip(texts, ids, strict=True):
        if special.mask not in row:
            raise ValueError(f"There is nothing to guess, [MASK] is missing. Received: {text!r}")

    def logits(rows):
        outputs = loaded(rows)
        return outputs["masked"] if isinstance(outputs, dict) else outputs

    found = []
    for row, of_row in zip(ids, Predictor(logits)(ids, [len(row) for row in ids]), strict=True):
        at = [i for i, token in enumerate(row) if token == special.mask]
        found.append([best(of_row[i], tokenizer, count) for i in at])
    return found


def best(logits, tokenizer, count):
    """The likeliest pieces, and their probabilities."""
    exponentials = np.exp(logits - logits.max())
    probabilities = exponentials / exponentials.sum()
    order = np.argsort(-probabilities, kind="stable")[:count]
    return [(tokenizer.piece(int(i)), float(probabilities[i])) for i in order]
