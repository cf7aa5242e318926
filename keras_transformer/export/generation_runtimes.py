"""Language models that answer like the original: through TensorFlow, and through LiteRT."""

import numpy as np
import tensorflow as tf

from keras_transformer.export.parity import BATCH, fill_up, size_of
from keras_transformer.export.runtimes import import_litert, load_saved_model


class KerasWriter:
    """The model an export is made from.

    Args:
        model: a `Gpt`.
        tokenizer: its tokenizer.
        answer: a function of prompts to what follows them, which uses the model.
        size: of its files, in bytes.
    """

    name = "Keras"

    def __init__(self, model, tokenizer, answer, size):
        self.model, self.tokenizer, self.answer, self.size = model, tokenizer, answer, size

    def logits(self, token_ids):
        """Logits (B, T, V) after each token."""
        return np.array(self.model({"token_ids": token_ids}))


class SavedWriter:
    """A version that was exported as a SavedModel.

    Args:
        path: its folder.
    """

    name = "SavedModel"

    def __init__(self, path):
        self.size, self.loaded = size_of(path), load_saved_model(path)
        self.signatures = self.loaded.signatures

    def answer(self, lines):
        """Prompts to what follows them, in batches."""
        found = []
        for first in range(0, len(lines), BATCH):
            batch = tf.constant(lines[first : first + BATCH])
            answer = self.signatures["generate"](text=batch)
            found += [text.decode() for text in answer["continuation"].numpy()]
        return found

    def logits(self, token_ids):
        """Logits (B, T, V) after each token."""
        return self.signatures["logits"](token_ids=tf.constant(token_ids))["logits"].numpy()


class TFLiteWriter:
    """A TFLite file, run by LiteRT, with the tokenizer on the host.

    Args:
        path: of the file.
        quantize: how it was made.
        tokenizer: the model's.
        longest_prompt: how many tokens a prompt may have; of longer ones the end is read.
    """

    def __init__(self, path, quantize, tokenizer, longest_prompt):
        self.name, self.size = f"TFLite {quantize}", size_of(path)
        self.tokenizer, self.longest_prompt = tokenizer, longest_prompt
        self.interpreter = import_litert()(str(path), num_threads=2)
        self.runners = {
            name: self.interpreter.get_signature_runner(name) for name in ("generate", "logits")
        }

    def answer(self, lines):
        """Prompts to what follows them: one by one, or together if they are just a batch."""
        groups = [lines] if len(lines) == BATCH else [[line] for line in lines]
        return [text for group in groups for text in self._texts(group)]

    def _texts(self, lines):
        rows = [self.tokenizer.encode(line) or [self.tokenizer.start] for line in lines]
        rows = [row[-self.longest_prompt :] for row in rows]
        lengths = np.array([len(row) for row in rows], "int32")
        ids = self.runners["generate"](token_ids=fill_up(rows), lengths=lengths)["ids"]
        return self.tokenizer.decode(ids.tolist())

    def logits(self, token_ids):
        """Logits (B, T, V) after each token."""
        return self.runners["logits"](token_ids=token_ids)["logits"]


def forced_texts(original, lines, answers):
    """Ids of prompts and what follows them, as much as the model can see, and where they are."""
    context = original.model.get_config()["max_length"]
    texts = [line + answer for line, answer in zip(lines, answers, strict=True)]
    rows = [original.tokenizer.encode(text)[:context] or [0] for text in texts]
    width = max(map(len, rows))
    real = np.array([[i < len(row) for i in range(width)] for row in rows])
    return (fill_up(rows),), real
