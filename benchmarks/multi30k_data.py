"""Multi30k, ready for models: read, tokenised, in batches."""

from pathlib import Path

import numpy as np

LANGUAGES = ("en", "de")


def multi30k_files(data, part, languages=LANGUAGES):
    """The tokenised files of a part of it: "train", "val" or "test_2016_flickr"."""
    return [str(Path(data) / f"{part}.lc.norm.tok.{language}.gz") for language in languages]


def multi30k_settings(data, languages=LANGUAGES, **changes):
    """The settings of a training on Multi30k."""
    from keras_transformer.tasks.settings import Settings

    (source, target), (valid_source, valid_target) = (
        multi30k_files(data, part, languages) for part in ("train", "val")
    )
    return Settings(
        source=source,
        target=target,
        valid_source=valid_source,
        valid_target=valid_target,
        **changes,
    )


def multi30k_batches(settings):
    """The tokenizer, and the batches to train with."""
    from keras_transformer.tasks.corpus import load_corpus
    from keras_transformer.tasks.preparation import learn_tokenizers, make_batches

    corpus = load_corpus(settings)
    tokenizers = learn_tokenizers(corpus, settings)
    return tokenizers, make_batches(corpus, tokenizers, settings)[0]


def fixed_batches(batches, rows, length, count):
    """So many batches of always the same shape, as in KerasHub's tutorial: longer sides are cut.

    Args:
        batches: `Batches`, of whose pairs they are made.
        rows: B.
        length: S and T.
        count: how many.
    """
    from keras_transformer.text import END, START

    order = np.random.default_rng(0).permutation(len(batches.rows))
    for first in range(0, rows * count, rows):
        source, target, labels = np.zeros((3, rows, length), "int32")
        for i, row in enumerate(order[first : first + rows]):
            ids, target_ids = (list(side) for side in batches.pairs[batches.rows[row]])
            fill(source[i], [*ids, END])
            fill(target[i], [START, *target_ids])
            fill(labels[i], [*target_ids, END])
        real = labels != 0
        yield {"source": source, "target": target}, labels, real / np.float32(real.sum())


def fill(row, ids):
    """Writes ids into a row, as many as there is room for."""
    ids = ids[: len(row)]
    row[: len(ids)] = ids
