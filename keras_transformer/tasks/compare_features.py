"""Which layer? A small tagger on frozen vectors of each choice of layers, side by side."""

import time
from collections import Counter

import keras
import numpy as np

from keras_transformer.data.labelled import read_tagged
from keras_transformer.tasks.display import console, progress_bar
from keras_transformer.tasks.features import COMBINATIONS, FeatureReader, joined
from keras_transformer.tasks.labelled_corpus import split_off
from keras_transformer.tasks.scores import tagging_scores

# Titles of table 7 in Devlin et al. 2019, and its F1 on CoNLL-2003's development set, BERT base.
PUBLISHED = {
    "first": ("Embeddings", 91.0),
    "second_to_last": ("Second-to-last hidden", 95.6),
    "last": ("Last hidden", 94.9),
    "sum_last_four": ("Sum of last four", 95.9),
    "concat_last_four": ("Concatenation of last four", 96.1),
    "sum_all": ("Sum of all layers", 95.5),
}
UNITS, EPOCHS, BATCH, RATE, DROPOUT = 128, 15, 32, 2e-3, 0.3
PATIENCE = 2
KEPT_BACK = 0.1


def compare_features(model, data, test_data=None, sentences=5_000, seed=0):
    """Trains a tagger on the vectors of each choice of layers, which stay as they are.

    The tagger is a bidirectional LSTM of one layer, the same for all.

    Args:
        model: see `load_pretrained`.
        data: sentences in columns, see `read_tagged`; a tenth of those used is kept back to see
            when to stop.
        test_data: to count entities in; without it, a fifth of the sentences is held out.
        sentences: how many of them to train with at most, drawn by the seed.
        seed: of everything drawn.

    Returns:
        A dict from the names of choices to `f1`, `precision`, `recall` of entities, `width` of the
        vectors, `epochs` and `seconds`.
    """
    train = read_tagged(data)
    if test_data is None:
        train, test = split_off(train, 0.2, seed)
    else:
        test = read_tagged(test_data)
    if len(train) > sentences:
        order = np.random.default_rng(seed).permutation(len(train))[:sentences]
        train = [train[i] for i in sorted(order)]
    train, valid = split_off(train, KEPT_BACK, seed + 1)
    tags = sorted({tag for example in train for tag in example.tags})
    console.print(
        f"{len(train):,} sentences to train with, {len(valid):,} to validate, {len(test):,} to "
        f"test; {len(tags)} tags",
        markup=False,
    )
    reader = FeatureReader.load(model)
    parts = {}
    for name, examples in (("train", train), ("valid", valid), ("test", test)):
        words = [example.words for example in examples]
        parts[name] = (examples, reader.states(words, show_progress=True, dtype="float16"))
    if reader.cut:
        console.print(f"{reader.cut:,} sentences were too long, and cut", markup=False)
    results = {}
    with progress_bar() as bar:
        task = bar.add_task("Choices", total=len(COMBINATIONS), note="")
        for name, choice in COMBINATIONS.items():
            results[name] = train_tagger(parts, choice, tags, seed)
            bar.advance(task)
            if not console.is_terminal:
                console.print(f"{name}: F1 {results[name]['f1']:.2%}", markup=False)
    return results


def train_tagger(parts, choice, tags, seed):
    """The scores of a tagger that was trained on one choice of layers."""
    began = time.monotonic()
    keras.utils.set_random_seed(seed)
    number = {tag: i for i, tag in enumerate(tags)}
    states = parts["train"][1]
    width = joined(states[0].astype("float32"), choice).shape[-1]
    # Choices differ in their size: all are made alike, by what they are like in training.
    mean, deviation = moments([joined(s.astype("float32"), choice) for s in states[:1_000]])

    def vectors(of_sentence):
        return (joined(of_sentence.astype("float32"), choice) - mean) / deviation

    def batches(part, shuffle=None):
        examples, states = parts[part]
        order = sorted(range(len(examples)), key=lambda i: len(examples[i].words))
        groups = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        if shuffle is not None:
            groups = [groups[i] for i in shuffle.permutation(len(groups))]
        for group in groups:
            length = max(len(examples[i].words) for i in group)
            x = np.zeros((len(group), length, width), "float32")
            y = np.full((len(group), length), -1)
            for row, i in enumerate(group):
                x[row, : len(examples[i].words)] = vectors(states[i])
                known = [number.get(tag, -1) for tag in examples[i].tags]
                y[row, : len(known)] = known
            yield group, x, np.maximum(y, 0), (y >= 0).astype("float32")

    tagger = make_tagger(width, len(tags))

    def tag(part):
        found = [None] * len(parts[part][0])
        for group, x, _, _ in batches(part):
            best = np.asarray(tagger(x, training=False)).argmax(axis=-1)
            for row, i in enumerate(group):
                found[i] = [tags[k] for k in best[row, : len(parts[part][0][i].words)]]
        return found

    right = {part: [example.tags for example in parts[part][0]] for part in ("valid", "test")}
    random, best = np.random.default_rng(seed), Counter()
    for epoch in range(1, EPOCHS + 1):
        for _, x, y, weights in batches("train", random):
            tagger.train_on_batch(x, y, sample_weight=weights / weights.sum())
        f1 = tagging_scores(right["valid"], tag("valid"))["f1"]
        if f1 > best["f1"] or not best:
            best = {"f1": f1, "epoch": epoch, "weights": tagger.get_weights()}
        elif epoch - best["epoch"] >= PATIENCE:
            break
    tagger.set_weights(best["weights"])
    scores = tagging_scores(right["test"], tag("test"))
    return {
        **{name: scores[name] for name in ("f1", "precision", "recall")},
        "width": width,
        "epochs": best["epoch"],
        "seconds": time.monotonic() - began,
    }


def moments(arrays):
    """Mean and standard deviation of each feature."""
    together = np.concatenate(arrays)
    return together.mean(axis=0), together.std(axis=0) + 1e-6


def make_tagger(width, labels):
    """A bidirectional LSTM, compiled."""
    model = keras.Sequential(
        [
            keras.Input((None, width)),
            keras.layers.Masking(),
            keras.layers.Dropout(DROPOUT),
            keras.layers.Bidirectional(keras.layers.LSTM(UNITS, return_sequences=True)),
            keras.layers.Dense(labels),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")
    model.compile(keras.optimizers.Adam(RATE), loss)
    return model


def comparison_lines(results):
    """The table "which layer?", beside the published one."""
    yield f"{'layers':28}{'width':>6}{'F1':>9}{'seconds':>9}   CoNLL-2003, BERT base (2019)"
    for name, (title, published) in PUBLISHED.items():
        row = results[name]
        yield (
            f"{title:28}{row['width']:6}{100 * row['f1']:9.2f}{row['seconds']:9.0f}"
            f"{published:12.1f}"
        )


def draw_comparison(results, path):
    """A bar for each choice, as a picture."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    names = [title for title, _ in PUBLISHED.values()][::-1]
    values = [100 * results[name]["f1"] for name in PUBLISHED][::-1]
    figure, axes = pyplot.subplots(figsize=(8, 3.2), layout="constrained")
    bars = axes.barh(names, values, color="#4c78a8")
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.set_xlim(min(values) - 5, max(values) + 3)
    axes.set_xlabel("F1 of entities")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
