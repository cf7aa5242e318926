"""Pairs of sentences from TensorFlow Datasets."""

import logging
import os
from collections import Counter

import tensorflow as tf

from keras_transformer.text import one_line

PREFIX = "tfds:"


class TfdsPairs:
    """A data set of TensorFlow Datasets with two text features; downloaded if it is not there.

    Args:
        name: of the data set and its configuration, "ted_hrlr_translate/pt_to_en"; with or without
            "tfds:" before it.
        source: the feature with the source sentences; the data set's own choice unless given, or,
            if it has none, the first of two by the alphabet.
        target: the feature with the target sentences.
        folder: where TFDS keeps its data; its own choice, or `TFDS_DATA_DIR`, unless given.
    """

    def __init__(self, name, source=None, target=None, folder=None):
        self.name = name.removeprefix(PREFIX)
        self.builder = open_builder(self.name, folder)
        self.features = choose_features(self.name, self.builder.info, source, target)

    @property
    def splits(self):
        """The names of its parts."""
        return tuple(self.builder.info.splits)

    def first_split(self, *names):
        """The first of these parts that there is, or None."""
        return next((name for name in names if name in self.splits), None)

    def iterate(self, split, dropped=None):
        """The pairs of a part one by one, always in the same order.

        Args:
            split: its name.
            dropped: a `Counter` to which is added what is left out: pairs of which a side is empty.
        """
        import tensorflow_datasets as tfds

        dropped = Counter() if dropped is None else dropped
        found = 0
        options = tfds.ReadConfig(try_autocache=False, interleave_cycle_length=1)
        try:
            rows = self.builder.as_dataset(split=split, shuffle_files=False, read_config=options)
            for row in rows.as_numpy_iterator():
                pair = tuple(one_line(row[feature].decode()) for feature in self.features)
                if all(pair):
                    found += 1
                    yield pair
                else:
                    dropped["empty"] += 1
        except (tf.errors.OpError, OSError) as error:
            raise ValueError(
                f"The data set {self.name} is damaged, or was not downloaded as a whole "
                f"({type(error).__name__} in {split}): remove {self.builder.data_dir} and begin "
                "again"
            ) from error
        if not found:
            raise ValueError(f"The data set {self.name} has no pair of sentences in {split}")


def open_builder(name, folder=None):
    """What TFDS calls a builder, its data being there."""
    import tensorflow_datasets as tfds  # a second, and only needed here

    logging.getLogger("absl").setLevel(logging.ERROR)  # TFDS tells what it does not find
    try:
        # TFDS itself looks for the variable when it is imported, and never again.
        builder = tfds.builder(name, data_dir=folder or os.environ.get("TFDS_DATA_DIR"))
    except (
        tfds.core.registered.DatasetNotFoundError,
        tfds.core.dataset_info.DatasetInfoFileError,
        ValueError,
    ) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"TensorFlow Datasets cannot open {name}, nor is it complete on this disk: {reason}"
        ) from None
    if not builder.is_prepared():
        try:
            builder.download_and_prepare()
        except Exception as error:  # whatever a download may raise
            reason = " ".join(str(error).split())[:200]
            raise ValueError(
                f"The data set {name} could not be downloaded "
                f"({type(error).__name__}: {reason}): try again, or put it into "
                f"{builder.data_dir}"
            ) from error
    return builder


def choose_features(name, info, source=None, target=None):
    """The names of the source and the target feature."""
    import tensorflow_datasets as tfds

    # Sorted: what is read from the disk comes in any order.
    texts = sorted(
        key for key, value in info.features.items() if isinstance(value, tfds.features.Text)
    )
    if source is not None or target is not None:
        chosen = (source, target)
    else:
        supervised = info.supervised_keys or ()
        chosen = supervised if set(supervised) <= set(texts) and supervised else tuple(texts)
    if len(chosen) != 2 or not set(chosen) <= set(texts):
        raise ValueError(
            f"Name two text features of {name} with --source and --target: it has "
            f"{', '.join(texts) or 'none'}. Received: {', '.join(map(str, chosen)) or 'none'}"
        )
    return chosen
