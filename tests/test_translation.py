"""The parts together: data, model, loss and decoder, without the command line."""

import keras
import numpy as np
import tensorflow as tf

from keras_transformer import Transformer
from keras_transformer.data import Batches
from keras_transformer.decoding import greedy
from keras_transformer.text import END, START
from keras_transformer.training import Perplexity, SmoothedCrossentropy, TokenAccuracy

RANDOM = np.random.default_rng(0)
PAIRS = [
    tuple(RANDOM.integers(4, 40, size=RANDOM.integers(2, 9)).tolist() for _ in range(2))
    for _ in range(12)
]


def make_model(**changes):
    keras.utils.set_random_seed(0)
    arguments = {"dim": 32, "num_heads": 4, "ffn_dim": 64, "num_layers": 1, "max_length": 64}
    return Transformer(40, **{**arguments, "dropout": 0.0, **changes})


def loss_and_gradients(model, batches):
    """The mean over all real tokens of all batches, from each batch's own mean."""
    loss_function = SmoothedCrossentropy(0.1)
    total, loss, gradients = 0, 0.0, [0.0] * len(model.trainable_variables)
    for inputs, labels, weights in batches:
        count = (weights > 0).sum()
        with tf.GradientTape() as tape:
            batch_loss = loss_function(labels, model(inputs), weights)
        new = tape.gradient(batch_loss, [v.value for v in model.trainable_variables])
        new = [tf.convert_to_tensor(g).numpy() for g in new]
        total, loss = total + count, loss + count * float(batch_loss)
        gradients = [g + count * n for g, n in zip(gradients, new, strict=True)]
    return loss / total, [g / total for g in gradients]


def test_loss_and_gradients_do_not_depend_on_the_bucket_shapes():
    model = make_model()
    layouts = [
        Batches(PAIRS, batch_tokens=1000, max_length=64, shapes=1),
        Batches(PAIRS, batch_tokens=40, max_length=64, shapes=6),
        Batches(PAIRS, batch_tokens=2000, max_length=64, shapes=np.array([[30, 21]])),
        Batches(PAIRS, batch_tokens=9, max_length=64, shapes=20),  # one by one
    ]
    results = [loss_and_gradients(model, layout.epoch(0)) for layout in layouts]
    for loss, gradients in results[1:]:
        np.testing.assert_allclose(loss, results[0][0], rtol=1e-5)
        for a, b in zip(gradients, results[0][1], strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


def compile_model(model, rate=3e-3):
    model.compile(
        keras.optimizers.Adam(rate, beta_2=0.98),
        SmoothedCrossentropy(0.1),
        weighted_metrics=[TokenAccuracy(), Perplexity()],
        jit_compile=False,
    )


def test_a_model_that_has_seen_one_batch_200_times_reproduces_it():
    model = make_model()
    compile_model(model)
    batches = Batches(PAIRS, batch_tokens=1000, max_length=64, shapes=1)
    assert batches.steps == 1
    model.fit(batches.dataset(), steps_per_epoch=200, shuffle=False, verbose=0)
    inputs, labels, _ = next(batches.stream())
    source = inputs["source"]
    length = labels.shape[1]
    decoded, _ = greedy(
        model.step, model.start(source, length), np.full(len(source), START), length, END
    )
    real = source.any(axis=1)  # empty rows fill the batch up
    np.testing.assert_array_equal(np.array(decoded)[real], labels[real])


def test_fit_reports_the_mean_over_real_tokens():
    model = make_model()
    compile_model(model)
    batches = Batches(PAIRS, batch_tokens=1000, max_length=64, shapes=1)
    expected, _ = loss_and_gradients(model, batches.epoch(0))
    report = model.evaluate(batches.dataset(endless=False), verbose=0, return_dict=True)
    np.testing.assert_allclose(report["loss"], expected, rtol=1e-5)
    plain = loss_without_smoothing(model, batches)
    np.testing.assert_allclose(report["perplexity"], np.exp(plain), rtol=1e-4)


def loss_without_smoothing(model, batches):
    inputs, labels, weights = next(batches.stream())
    p = np.array(keras.ops.log_softmax(model(inputs)))
    taken = np.take_along_axis(p, labels[..., None], axis=-1)[..., 0]
    return -taken[weights > 0].mean()


def test_no_shape_is_traced_after_the_first_step():
    traces = []

    class CountingLoss(SmoothedCrossentropy):
        def call(self, y_true, y_pred):
            traces.append(y_pred.shape)  # runs in Python when the step is traced
            return super().call(y_true, y_pred)

    model = make_model()
    model.compile("adam", CountingLoss(0.1), jit_compile=False)
    batches = Batches(PAIRS, batch_tokens=40, max_length=64, shapes=6)
    assert len({batch[0]["source"].shape for batch in batches.epoch(0)}) > 1
    model.fit(batches.dataset(), steps_per_epoch=1, shuffle=False, verbose=0)
    after_one = len(traces)
    assert after_one > 0
    model.fit(batches.dataset(), steps_per_epoch=2 * batches.steps, shuffle=False, verbose=0)
    assert len(traces) == after_one


def test_what_two_devices_add_up_is_the_gradient_of_the_whole_batch():
    model = make_model()
    inputs, labels, weights = next(
        Batches(PAIRS, batch_tokens=1000, max_length=64, shapes=1).stream()
    )

    def gradients(rows):
        part = {key: ids[rows] for key, ids in inputs.items()}
        with tf.GradientTape() as tape:
            loss = SmoothedCrossentropy(0.1)(labels[rows], model(part), weights[rows])
        found = tape.gradient(loss, [v.value for v in model.trainable_variables])
        return [tf.convert_to_tensor(g).numpy() for g in found]

    whole = gradients(slice(None))
    parts = zip(gradients(slice(5)), gradients(slice(5, None)), strict=True)
    for a, (b, c) in zip(whole, parts, strict=True):
        np.testing.assert_allclose(b + c, a, atol=1e-6)
