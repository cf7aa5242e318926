"""Labelled texts from TensorFlow Datasets."""

from collections import Counter

from keras_transformer.data.labelled import LabelledText, without_useless
from keras_transformer.data.tfds_pairs import PREFIX, open_builder
from keras_transformer.text import one_line

# What the parts are called in TFDS. Of some, such as GLUE's, nobody is told the test labels.
SPLITS = {
    "train": ("train",),
    "validation": ("validation", "valid", "dev"),
    "test": ("test", "validation", "valid", "dev"),
}


def is_tfds(path):
    """Whether a name is that of a data set, not of a file."""
    return str(path).startswith(PREFIX)


def has_split(name, part):
    """Whether a data set has such a part, with labels."""
    return _open(name, part)[1] is not None


def read_tfds_labelled(name, part, dropped=None):
    """Reads a part of a data set with one or two text features and a label.

    Args:
        name: of the data set, "tfds:glue/sst2".
        part: "train", "validation" or "test".
        dropped: a `Counter` to which is added what is left out.

    Returns:
        A list of `LabelledText`s.
    """
    import tensorflow_datasets as tfds

    builder, split, label, texts = _open(name, part)
    if split is None:
        raise ValueError(f"{name} has no labelled part to {part} with")
    names = builder.info.features[label].names
    options = tfds.ReadConfig(try_autocache=False, interleave_cycle_length=1)
    rows = builder.as_dataset(split=split, shuffle_files=False, read_config=options)
    found = [
        LabelledText(
            names[int(row[label])],
            *(one_line(row[text].decode(errors="replace")) for text in texts),
        )
        for row in rows.as_numpy_iterator()
        if int(row[label]) >= 0
    ]
    return without_useless(found, name, Counter() if dropped is None else dropped)


def _open(name, part):
    """The builder, the name of the part's split or None, and the names of the features."""
    import tensorflow_datasets as tfds

    builder = open_builder(name.removeprefix(PREFIX))
    features = builder.info.features
    labels = [key for key, value in features.items() if isinstance(value, tfds.features.ClassLabel)]
    texts = [key for key, value in features.items() if isinstance(value, tfds.features.Text)]
    if len(labels) != 1 or len(texts) not in (1, 2):
        raise ValueError(
            f"{name} must have one label and one text, or two. It has the labels "
            f"{', '.join(labels) or 'none'} and the texts {', '.join(texts) or 'none'}"
        )
    for split in SPLITS[part]:
        if split in builder.info.splits:
            rows = builder.as_dataset(split=split, shuffle_files=False).take(1)
            if all(int(row[labels[0]]) >= 0 for row in rows.as_numpy_iterator()):
                return builder, split, labels[0], sorted(texts)
    return builder, None, labels[0], sorted(texts)
