"""The checks: one promise each."""

import tempfile
import warnings
from pathlib import Path

import keras
import numpy as np
from keras import ops

from keras_transformer.testing.subject import Subject, is_vectors, to_array


def check_layer(make, inputs, **options):
    """Checks every promise below on one layer or model.

    Args:
        make: a function without arguments that returns a new layer or model.
        inputs: NumPy arrays by the name of the call's argument or the model's input.
        options: `causal`, `padding`, `attention_masks`, `tolerance`; see `Subject`.

    Returns:
        The names of the checks that were made; a layer that is not causal, say, has no future to
        look into.

    Raises:
        AssertionError: with the name of what does not hold.

    >>> from keras_transformer import FeedForward
    >>> x = np.random.default_rng(0).normal(size=(2, 3, 8)).astype("float32")
    >>> made = check_layer(lambda: FeedForward(dim=8, ffn_dim=16), {"x": x})
    >>> "check_padding" in made, "check_future" in made
    (True, False)
    """
    subject = Subject(make, inputs, **options)
    return [check.__name__ for check in CHECKS if check(subject)]


def check_padding(subject):
    """The output at real tokens is the same with and without padding, on either side."""
    layer = subject.made()
    plain = subject.call(layer, subject.inputs)
    for name in subject.inputs:
        for side in subject.padding:
            padded, masks = subject.padded(name, side)
            for options in ({}, subject.all_allowed(padded)):
                output = subject.call(layer, padded, masks, **options)
                if name == subject.main:
                    output = subject.real_tokens(output, side)
                given = ", ".join(options) or "no attention mask"
                claim = f"padding `{name}` on the {side}, with {given}, changes the output"
                subject.agree(claim, output, plain)
    return True


def check_mask(subject):
    """A layer hands on the mask of its first input, so that the next one knows of padding."""
    layer = subject.made()
    padded, masks = subject.padded(subject.main, "right")
    if isinstance(layer, keras.Model) or not masks:
        return False
    carried = getattr(subject.call(layer, padded, masks), "_keras_mask", None)
    if carried is None or not np.array_equal(carried, masks[subject.main]):
        raise AssertionError("the mask is not handed on with the output")
    return True


def check_future(subject):
    """The output of a causal layer does not depend on later tokens, and does on its own."""
    if not subject.causal:
        return False
    layer = subject.made()
    original = subject.inputs[subject.main]
    before = to_array(subject.call(layer, subject.inputs))
    for now in range(1, subject.length):
        changed = original.copy()
        changed[:, now] = subject.noise_like(original)[:, now]
        after = to_array(subject.call(layer, {**subject.inputs, subject.main: changed}))
        claim = f"an output depends on token {now} before it is there"
        subject.agree(claim, after[:, :now], before[:, :now])
        if not np.array_equal(changed, original) and np.allclose(after[:, now], before[:, now]):
            raise AssertionError("the output does not depend on the input")
    return True


def check_cache(subject):
    """`start` and `step` of a causal layer, if it has them, give what `call` gives."""
    layer = subject.made()
    if not (subject.causal and hasattr(layer, "start") and hasattr(layer, "step")):
        return False
    whole = subject.call(layer, subject.inputs)
    tensors = {name: ops.convert_to_tensor(array) for name, array in subject.inputs.items()}
    x = tensors.pop(subject.main)
    chunks = [(0, 2), *((t, t + 1) for t in range(2, subject.length))]  # a prompt, then one by one
    for position_of in (int, lambda t: ops.full((len(x),), t, dtype="int32")):
        state = layer.start(len(x), subject.length + 3, **tensors)
        outputs = []
        for begin, end in chunks:
            output, state = layer.step(x[:, begin:end], position_of(begin), state)
            outputs.append(to_array(output))
        subject.agree("cached steps differ", np.concatenate(outputs, axis=1), whole)
    return True


def check_config(subject):
    """`from_config(get_config())` makes the same layer."""
    layer = subject.made()
    again = type(layer).from_config(layer.get_config())
    if again.get_config() != layer.get_config():
        raise AssertionError("the config changes on its way through `from_config`")
    subject.call(again, subject.inputs)
    again.set_weights(layer.get_weights())
    output, expected = (subject.call(one, subject.inputs) for one in (again, layer))
    subject.agree("a layer made from its config differs", output, expected)
    return True


def check_saving(subject):
    """A `.keras` file gives the same numbers back."""
    model = subject.model(subject.made())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        loaded = keras.models.load_model(path)
    subject.agree("loaded differs from saved", loaded(subject.inputs), model(subject.inputs))
    return True


def check_shapes(subject):
    """Symbolic shapes, with the length known or not, agree with real ones."""
    layer = subject.made()
    _, length, *rest = subject.call(layer, subject.inputs).shape
    for known in (False, True):
        expected = (None, length if known else None, *rest)
        symbolic = tuple(subject.model(layer, known).output.shape)
        if symbolic != expected:
            raise AssertionError(f"the symbolic shape is {symbolic} and should be {expected}")
    return True


def check_mixed_precision(subject):
    """In half precision outputs are near, and finite even where everything is padding."""
    single = subject.made()
    expected = subject.call(single, subject.inputs)
    policy = keras.config.dtype_policy()
    for half in ("mixed_bfloat16", "mixed_float16"):
        keras.config.set_dtype_policy(half)
        try:
            layer = subject.made()
        finally:
            keras.config.set_dtype_policy(policy)
        layer.set_weights(single.get_weights())
        output = subject.call(layer, subject.inputs)
        dtype = keras.backend.standardize_dtype(output.dtype)
        if dtype != half.removeprefix("mixed_"):
            raise AssertionError(f"with {half} the output is {dtype}")
        subject.agree(f"{half} is far from float32", output, expected, tolerance=0.15)
        nothing = {n: a if is_vectors(a) else np.zeros_like(a) for n, a in subject.inputs.items()}
        masks = {n: np.zeros(a.shape[:2], bool) for n, a in nothing.items() if is_vectors(a)}
        if not np.isfinite(to_array(subject.call(layer, nothing, masks))).all():
            raise AssertionError(f"{half} is not finite where everything is padding")
    return True


def check_fit(subject):
    """A compiled training step starts from the loss of the plain output, and moves weights.

    With dropout the loss of a step is of another output, and is not compared.
    """
    model = subject.model(subject.made())
    output = to_array(model(subject.inputs))
    same_in_training = np.array_equal(to_array(model(subject.inputs, training=True)), output)
    before = model.get_weights()
    # XLA takes seconds for each layer on TensorFlow; JAX compiles the same ops with it anyway.
    model.compile("sgd", "mse", jit_compile=keras.backend.backend() == "jax")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Gradients do not exist")
        history = model.fit(subject.inputs, np.zeros_like(output), verbose=0).history
    if same_in_training:
        subject.agree("compiled, the loss differs", history["loss"][0], np.mean(output**2))
    if all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True)):
        raise AssertionError("no weight moves in a training step")
    return True


CHECKS = (
    check_padding,
    check_mask,
    check_future,
    check_cache,
    check_config,
    check_saving,
    check_shapes,
    check_mixed_precision,
    check_fit,
)
