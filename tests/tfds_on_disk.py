"""Data sets on disk in the format of TensorFlow Datasets."""

import tensorflow_datasets as tfds

SPLITS = {"train": 30, "validation": 5, "test": 4}
LINE = "{split} {feature} {i}"


def make_labelled_data_set(folder, name="small_labels", splits=SPLITS, texts=("sentence",)):
    """Writes a data set with texts and a label; the labels of its test part are hidden, as -1."""
    names = ("bad", "good")

    def rows(split, count):
        for i in range(count):
            told = -1 if split == "test" else i % 2
            yield i, {"label": told, **{text: f"{split} {text} {i}" for text in texts}}

    tfds.dataset_builders.store_as_tfds_dataset(
        name=name,
        version="1.0.0",
        description="labelled sentences",
        homepage="https://example.org",
        citation="",
        features=tfds.features.FeaturesDict(
            {
                "label": tfds.features.ClassLabel(names=names),
                **{text: tfds.features.Text() for text in texts},
            }
        ),
        split_datasets={split: rows(split, count) for split, count in splits.items()},
        data_dir=folder,
        disable_shuffling=True,
    )


def make_data_set(folder, name="small_pairs", features=("en", "pt"), splits=SPLITS, line=LINE):
    """Writes a data set as TFDS does."""

    def rows(split, count):
        for i in range(count):
            yield i, {key: line.format(split=split, feature=key, i=i) for key in features}

    tfds.dataset_builders.store_as_tfds_dataset(
        name=name,
        version="1.0.0",
        config="en_to_pt",
        description="sentences",
        homepage="https://example.org",
        citation="",
        features=tfds.features.FeaturesDict({name: tfds.features.Text() for name in features}),
        split_datasets={split: rows(split, count) for split, count in splits.items()},
        data_dir=folder,
        disable_shuffling=True,
    )
