"""What a fine-tuned model says about rows of any length: in batches, the longest first."""

import numpy as np
import tensorflow as tf

from keras_transformer.tasks.display import progress_bar


class Predictor:
    """Logits of rows, each as if it were alone.

    Args:
        model: a BERT with a head, see `models.bert_heads`.
        batch_tokens: positions of a batch, at most.
    """

    def __init__(self, model, batch_tokens=4096):
        self.model, self.batch_tokens = model, batch_tokens
        ids = tf.TensorSpec((None, None), tf.int32)
        self.function = tf.function(
            lambda token_ids, segment_ids: model(
                {"token_ids": token_ids, "segment_ids": segment_ids}
            ),
            input_signature=[ids, ids],
        )

    def __call__(self, ids, seconds, show_progress=False, dtype="float32"):
        """The logits of each row, a list of arrays: (C,) of a text, (T, C) of its tokens.

        Args:
            ids: lists of ids, special ones included.
            seconds: where the second text of each begins.
            show_progress: whether to show a bar.
            dtype: of the arrays.
        """
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        found = [None] * len(ids)
        with progress_bar(disable=not show_progress) as bar:
            task = bar.add_task("Reading", total=len(ids), note="")
            while order:
                size = max(1, self.batch_tokens // len(ids[order[0]]))
                batch, order = order[:size], order[size:]
                logits = self.function(
                    *fill_up([ids[i] for i in batch], [seconds[i] for i in batch])
                )
                for i, row in zip(batch, logits.numpy().astype(dtype), strict=True):
                    found[i] = row[: len(ids[i])] if row.ndim > 1 else row
                bar.advance(task, len(batch))
        return found


def fill_up(ids, seconds):
    """Token ids and segment ids, (B, T) each, of rows of different lengths."""
    token_ids, segment_ids = np.zeros((2, len(ids), max(map(len, ids))), "int32")
    for i, (row, second) in enumerate(zip(ids, seconds, strict=True)):
        token_ids[i, : len(row)] = row
        segment_ids[i, second : len(row)] = 1
    return token_ids, segment_ids
