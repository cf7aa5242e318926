"""Fine-tuned models that answer like the original: through TensorFlow, and through LiteRT."""

import numpy as np
import tensorflow as tf

from keras_transformer.export.parity import BATCH, size_of
from keras_transformer.export.runtimes import import_litert, load_saved_model


class KerasReader:
    """The model an export is made from.

    Args:
        model: a BERT with a head.
        reading: its graph functions, a `Reading`, which make rows of texts.
        answer: a function of lines to as many answers, which uses the model.
        size: of its files, in bytes.
    """

    name = "Keras"

    def __init__(self, model, reading, answer, size):
        self.model, self.reading, self.answer, self.size = model, reading, answer, size

    def logits(self, token_ids, segment_ids):
        """Logits of rows of ids."""
        return np.array(self.model({"token_ids": token_ids, "segment_ids": segment_ids}))


class SavedReader:
    """A version that was exported as a SavedModel.

    Args:
        path: its folder.
        ask: a function of the signatures and some lines to as many answers.
    """

    name = "SavedModel"

    def __init__(self, path, ask):
        self.size, self.ask, self.loaded = size_of(path), ask, load_saved_model(path)
        self.signatures = self.loaded.signatures

    def answer(self, lines):
        """Lines to answers, in batches."""
        found = []
        for first in range(0, len(lines), BATCH):
            found += self.ask(self.signatures, lines[first : first + BATCH])
        return found

    def logits(self, token_ids, segment_ids):
        """Logits of rows of ids."""
        answer = self.signatures["logits"](
            token_ids=tf.constant(token_ids), segment_ids=tf.constant(segment_ids)
        )
        return answer["logits"].numpy()


class TFLiteReader:
    """A TFLite file of a classifier, run by LiteRT, with the tokenizer on the host.

    Args:
        path: of the file.
        quantize: how it was made.
        reading: the `Classification` it was made of, which makes rows of texts and names labels.
    """

    def __init__(self, path, quantize, reading):
        self.name, self.size, self.reading = f"TFLite {quantize}", size_of(path), reading
        self.interpreter = import_litert()(str(path), num_threads=2)
        self.runner = self.interpreter.get_signature_runner("logits")

    def answer(self, lines):
        """Lines to labels: one by one, or together if there are just as many as a batch has."""
        groups = [lines] if len(lines) == BATCH else [[line] for line in lines]
        return [label for group in groups for label in self._labels(group)]

    def _labels(self, lines):
        rows = self.reading.tokenize(tf.constant(lines))
        logits = self.logits(rows["token_ids"].numpy(), rows["segment_ids"].numpy())
        return [self.reading.labels[i] for i in logits.argmax(axis=-1)]

    def logits(self, token_ids, segment_ids):
        """Logits of rows of ids."""
        return self.runner(token_ids=token_ids, segment_ids=segment_ids)["logits"]


def forced_rows(original, lines, answers):
    """The rows of some lines, and which of their logits matter: see `parity.compare`."""
    rows = original.reading.tokenize(tf.constant(lines))
    token_ids, segment_ids = rows["token_ids"].numpy(), rows["segment_ids"].numpy()
    of_tokens = original.logits(token_ids, segment_ids).ndim == 3
    real = token_ids != 0 if of_tokens else np.ones(len(token_ids), bool)
    return (token_ids, segment_ids), real
