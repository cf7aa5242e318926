"""Documents, to learn a language from: text files with blank lines between them, or TFDS."""

import re
from collections import Counter

import tensorflow as tf

from keras_transformer.data.pairs import describe_dropped, read_lines
from keras_transformer.data.tfds_pairs import PREFIX, open_builder
from keras_transformer.text import one_line

SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+")  # noqa: RUF001


def iterate_documents(path, skip_bad_lines=False, dropped=None):
    """The documents of a text file, plain or gzip, one by one.

    Args:
        path: of the file: one sentence, or paragraph, a line; blank lines between documents.
        skip_bad_lines: whether to go on without lines that are not UTF-8, instead of raising an
            error.
        dropped: a `Counter` to which is added what is left out.

    Yields:
        Lists of strings, none of them empty.
    """
    dropped = Counter() if dropped is None else dropped
    document, found = [], False
    for number, line in enumerate(read_lines(path), start=1):
        try:
            text = one_line(line.decode())
        except UnicodeDecodeError:
            if not skip_bad_lines:
                raise ValueError(
                    f"{path}, line {number} is not UTF-8: mend it, or leave such lines out with "
                    "--skip-bad-lines (`skip_bad_lines=True`)"
                ) from None
            dropped["is not UTF-8"] += 1
            continue
        if text:
            document.append(text)
        elif document:
            found = True
            yield document
            document = []
    if document:
        yield document
    elif not found:
        why = f" ({describe_dropped(dropped)})" if dropped else ""
        raise ValueError(f"{path} has no text to read{why}")


def iterate_tfds_documents(name, feature=None, split="train"):
    """The documents of a data set of TensorFlow Datasets, split into lines or else sentences.

    Args and errors as in `iterate_tfds_texts`.
    """
    for text in iterate_tfds_texts(name, feature, split):
        document = split_document(text)
        if document:
            yield document


def iterate_tfds_texts(name, feature=None, split="train"):
    """The texts of a data set of TensorFlow Datasets, as they are.

    Args:
        name: of the data set, "tfds:imdb_reviews".
        feature: which of its text features; needed if there are several.
        split: which part of it.
    """
    import tensorflow_datasets as tfds

    name = name.removeprefix(PREFIX)
    builder = open_builder(name)
    texts = sorted(
        key for key, value in builder.info.features.items() if isinstance(value, tfds.features.Text)
    )
    if feature is None and len(texts) == 1:
        feature = texts[0]
    if feature not in texts:
        raise ValueError(
            f"Name a text feature of {name} with --feature: it has {', '.join(texts) or 'none'}. "
            f"Received: {feature}"
        )
    if split not in builder.info.splits:
        raise ValueError(f"{name} has no part {split}: it has {', '.join(builder.info.splits)}")
    options = tfds.ReadConfig(try_autocache=False, interleave_cycle_length=1)
    try:
        rows = builder.as_dataset(split=split, shuffle_files=False, read_config=options)
        for row in rows.as_numpy_iterator():
            yield row[feature].decode(errors="replace")
    except (tf.errors.OpError, OSError) as error:
        raise ValueError(
            f"The data set {name} is damaged, or was not downloaded as a whole "
            f"({type(error).__name__}): remove {builder.data_dir} and begin again"
        ) from error


def split_document(text):
    """A text in its lines; one that has only one, in sentences.

    >>> split_document("It rained. We stayed at home!")
    ['It rained.', 'We stayed at home!']
    """
    lines = [line for line in map(one_line, text.split("\n")) if line]
    return lines if len(lines) != 1 else SENTENCE_END.split(lines[0])
