"""Exported models that answer like the original: through TensorFlow, and through LiteRT."""

import numpy as np
import tensorflow as tf

from keras_transformer.export.parity import BATCH, fill_up, size_of
from keras_transformer.text import END, one_line


def load_saved_model(path):
    """A version that was exported; its signatures last as long as it does."""
    import tensorflow_text  # noqa: F401  registers its ops

    return tf.saved_model.load(str(path))


class KerasModel:
    """The model an export is made from.

    Args:
        model: a `Transformer`.
        tokenizers: of source and target.
        answer: a function of lines to lines, which uses the model.
        size: of its files, in bytes.
    """

    name = "Keras"

    def __init__(self, model, tokenizers, answer, size):
        self.model, self.tokenizers = model, tokenizers
        self.answer, self.size = answer, size
        self.longest = model.get_config()["max_length"]

    def logits(self, source, target):
        """Logits (B, T, V) after each token of the target."""
        return np.array(self.model({"source": source, "target": target}))


class SavedModel:
    """A version that was exported as a SavedModel.

    Args:
        path: its folder.
    """

    name = "SavedModel"

    def __init__(self, path):
        self.size, self.loaded = size_of(path), load_saved_model(path)
        self.signatures = self.loaded.signatures

    def answer(self, lines):
        """Lines to lines, in batches of similar length."""
        translations = [None] * len(lines)
        order = sorted(range(len(lines)), key=lambda i: len(lines[i]))
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            answer = self.signatures["translate"](text=tf.constant([lines[i] for i in batch]))
            for i, text in zip(batch, answer["translation"].numpy(), strict=True):
                translations[i] = text.decode()
        return translations

    def logits(self, source, target):
        """Logits (B, T, V) after each token of the target."""
        answer = self.signatures["logits"](source=tf.constant(source), target=tf.constant(target))
        return answer["logits"].numpy()


class TFLiteModel:
    """A TFLite file, run by LiteRT, with the tokenizers on the host.

    Args:
        path: of the file.
        quantize: how it was made.
        tokenizers: of source and target.
        longest: the longest source that the model can read, the end token included.
    """

    def __init__(self, path, quantize, tokenizers, longest):
        interpreter = import_litert()
        self.name, self.size = f"TFLite {quantize}", size_of(path)
        self.tokenizers, self.longest = tokenizers, longest
        self.interpreter = interpreter(str(path), num_threads=2)
        self.runners = {
            name: self.interpreter.get_signature_runner(name) for name in ("translate", "logits")
        }

    def answer(self, lines):
        """Lines to lines: one by one, or together if there are just as many as a batch has."""
        rows = [self._rows(line) for line in lines]
        together = len(lines) == BATCH and all(len(pieces) == 1 for pieces in rows)
        if together:
            answer = self.runners["translate"](source=fill_up([pieces[0] for pieces in rows]))
            return self._texts(answer)
        return [one_line(" ".join(map(self._translate_alone, pieces))) for pieces in rows]

    def _translate_alone(self, piece):
        return self._texts(self.runners["translate"](source=fill_up([piece])))[0]

    def _rows(self, line):
        ids, room = self.tokenizers[0].encode(line.strip()), self.longest - 1
        return [[*ids[i : i + room], END] for i in range(0, len(ids), room)]

    def _texts(self, answer):
        texts = self.tokenizers[1].decode(answer["ids"].tolist())
        return [one_line(text) for text in texts]

    def logits(self, source, target):
        """Logits (B, T, V) after each token of the target."""
        return self.runners["logits"](source=source, target=target)["logits"]


def import_litert():
    """LiteRT's interpreter, which is an extra."""
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        raise ValueError(
            "Comparing TFLite files needs ai-edge-litert: "
            "pip install 'keras-transformer-layers[tflite]'"
        ) from None
    return Interpreter
