"""The layers give the numbers of independent implementations, with the same weights."""

import keras
import keras_hub
import numpy as np
import pytest
import torch
from combinations import make_block

from keras_transformer import MultiHeadCrossAttention, MultiHeadSelfAttention, causal_mask
from keras_transformer.testing import MaskedInput
from keras_transformer.testing.subject import to_array

DIM, HEADS, FFN = 16, 4, 32
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture
def data():
    """Vectors of a target and a source, and which of their tokens are real."""
    random = np.random.default_rng(0)
    lengths = np.array([[5, 7], [3, 2], [1, 6]])
    return {
        "x": random.normal(size=(3, 5, DIM)).astype("float32"),
        "memory": random.normal(size=(3, 7, DIM)).astype("float32"),
        "x_mask": np.arange(5) < lengths[:, :1],
        "memory_mask": np.arange(7) < lengths[:, 1:],
    }


def randomised(layer):
    random = np.random.default_rng(1)
    layer.set_weights([random.normal(0, 0.3, size=w.shape) for w in layer.get_weights()])


def assert_equal_where_real(ours, reference, mask):
    np.testing.assert_allclose(to_array(ours)[mask], to_array(reference)[mask], **TOLERANCE)


def project(fused, split, kv_heads=HEADS):
    """Our fused kernel and bias, cut and shaped as Keras's attention has them: (D, H, K)."""
    kernel, bias = fused.get_weights()
    parts = zip(np.split(kernel, split, axis=1), np.split(bias, split), strict=True)
    for kernel, bias in parts:
        heads = kernel.shape[1] * HEADS // DIM
        yield kernel.reshape(DIM, heads, -1), bias.reshape(heads, -1)


def copy_to_keras(ours, theirs):
    kv_width = ours.heads.num_kv_heads * DIM // HEADS
    if isinstance(ours, MultiHeadSelfAttention):
        projections = [*project(ours.qkv, [DIM, DIM + kv_width])]
    else:
        projections = [*project(ours.query, []), *project(ours.kv, [kv_width])]
    kernel, bias = ours.heads.merge.get_weights()
    weights = [*projections, (kernel.reshape(HEADS, -1, DIM), bias)]
    theirs.set_weights([w for pair in weights for w in pair])


def keras_attention(kv_heads):
    if kv_heads == HEADS:
        return keras.layers.MultiHeadAttention(HEADS, DIM // HEADS)
    return keras.layers.GroupQueryAttention(DIM // HEADS, HEADS, kv_heads)


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_equals_keras(data, kv_heads, causal):
    x, mask = data["x"], data["x_mask"]
    ours = MultiHeadSelfAttention(DIM, HEADS, num_kv_heads=kv_heads, causal=causal)
    theirs = keras_attention(kv_heads)
    ours(x), theirs(x, x)
    randomised(ours)
    copy_to_keras(ours, theirs)

    output, scores = ours(x, mask=mask, return_attention_scores=True)
    pairs = np.tile(mask[:, None, :], (1, 5, 1))
    expected, expected_scores = theirs(
        x, x, attention_mask=pairs, use_causal_mask=causal, return_attention_scores=True
    )

    assert_equal_where_real(output, expected, mask)
    by_query = (0, 2, 1, 3)
    assert_equal_where_real(
        to_array(scores).transpose(by_query), to_array(expected_scores).transpose(by_query), mask
    )


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_cross_attention_equals_keras(data, kv_heads):
    ours = MultiHeadCrossAttention(DIM, HEADS, num_kv_heads=kv_heads)
    theirs = keras_attention(kv_heads)
    ours(data["x"], data["memory"]), theirs(data["x"], data["memory"])
    randomised(ours)
    copy_to_keras(ours, theirs)

    output = ours(data["x"], data["memory"], memory_mask=data["memory_mask"])
    pairs = np.tile(data["memory_mask"][:, None, :], (1, 5, 1))
    expected = theirs(data["x"], data["memory"], attention_mask=pairs)

    np.testing.assert_allclose(to_array(output), to_array(expected), **TOLERANCE)


def block(kind, norm_first, data, **options):
    ours = make_block(kind, dim=DIM, num_heads=HEADS, ffn_dim=FFN, norm_first=norm_first, **options)
    ours(data["x"], data["memory"]) if kind == "decoder" else ours(data["x"])
    randomised(ours)
    return ours


def call(ours, data):
    """With masks that flow in as from an embedding."""
    x = MaskedInput()([data["x"], data["x_mask"]])
    if getattr(ours, "cross_attention", False):
        return ours(x, MaskedInput()([data["memory"], data["memory_mask"]]))
    return ours(x)


def copy_norm(ours, theirs):
    theirs.set_weights(ours.normalize.get_weights())


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_encoder_block_equals_keras_hub(data, norm_first):
    ours = block("encoder", norm_first, data, norm_epsilon=1e-5)
    theirs = keras_hub.layers.TransformerEncoder(FFN, HEADS, normalize_first=norm_first)
    theirs(data["x"])
    copy_to_keras(ours.self_attention, theirs._self_attention_layer)
    copy_norm(ours.self_attention_residual, theirs._self_attention_layer_norm)
    theirs._feedforward_intermediate_dense.set_weights(ours.feed_forward.widen.get_weights())
    theirs._feedforward_output_dense.set_weights(ours.feed_forward.narrow.get_weights())
    copy_norm(ours.feed_forward_residual, theirs._feedforward_layer_norm)

    expected = theirs(data["x"], padding_mask=data["x_mask"])

    assert_equal_where_real(call(ours, data), expected, data["x_mask"])


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("kind", ["decoder", "language_model"])
def test_the_decoder_block_equals_keras_hub(data, norm_first, kind):
    ours = block(kind, norm_first, data, norm_epsilon=1e-5)
    theirs = keras_hub.layers.TransformerDecoder(FFN, HEADS, normalize_first=norm_first)
    memory = {}
    if kind == "decoder":
        memory = {
            "encoder_sequence": data["memory"],
            "encoder_padding_mask": data["memory_mask"],
        }
    theirs(data["x"], **memory)
    copy_to_keras(ours.self_attention, theirs._self_attention_layer)
    copy_norm(ours.self_attention_residual, theirs._self_attention_layer_norm)
    if kind == "decoder":
        copy_to_keras(ours.memory_attention, theirs._cross_attention_layer)
        copy_norm(ours.memory_attention_residual, theirs._cross_attention_layer_norm)
    theirs._feedforward_intermediate_dense.set_weights(ours.feed_forward.widen.get_weights())
    theirs._feedforward_output_dense.set_weights(ours.feed_forward.narrow.get_weights())
    copy_norm(ours.feed_forward_residual, theirs._feedforward_layer_norm)

    expected = theirs(data["x"], decoder_padding_mask=data["x_mask"], **memory)

    assert_equal_where_real(call(ours, data), expected, data["x_mask"])


def copy_to_torch(pairs):
    """Keras layers into PyTorch modules: kernels are transposed."""
    with torch.no_grad():
        for layer, weight, bias in pairs:
            kernel, offset = layer.get_weights()
            weight.copy_(torch.tensor(kernel.T))
            bias.copy_(torch.tensor(offset))


def torch_pairs(ours, theirs, norms):
    attention = theirs.self_attn
    pairs = [
        (ours.self_attention.qkv, attention.in_proj_weight, attention.in_proj_bias),
        (ours.self_attention.heads.merge, attention.out_proj.weight, attention.out_proj.bias),
        (ours.feed_forward.widen, theirs.linear1.weight, theirs.linear1.bias),
        (ours.feed_forward.narrow, theirs.linear2.weight, theirs.linear2.bias),
    ]
    return pairs + [(r.normalize, norm.weight, norm.bias) for r, norm in norms]


TORCH = {"dropout": 0.0, "batch_first": True, "layer_norm_eps": 1e-5}


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_encoder_block_equals_pytorch(data, norm_first):
    ours = block("encoder", norm_first, data)
    theirs = torch.nn.TransformerEncoderLayer(DIM, HEADS, FFN, norm_first=norm_first, **TORCH)
    norms = [
        (ours.self_attention_residual, theirs.norm1),
        (ours.feed_forward_residual, theirs.norm2),
    ]
    copy_to_torch(torch_pairs(ours, theirs, norms))

    with torch.no_grad():
        padding = torch.tensor(~data["x_mask"])
        expected = theirs(torch.tensor(data["x"]), src_key_padding_mask=padding).numpy()

    assert_equal_where_real(call(ours, data), expected, data["x_mask"])


@pytest.mark.parametrize("norm_first", [False, True])
def test_the_decoder_block_equals_pytorch(data, norm_first):
    ours = block("decoder", norm_first, data)
    theirs = torch.nn.TransformerDecoderLayer(DIM, HEADS, FFN, norm_first=norm_first, **TORCH)
    norms = [
        (ours.self_attention_residual, theirs.norm1),
        (ours.memory_attention_residual, theirs.norm2),
        (ours.feed_forward_residual, theirs.norm3),
    ]
    cross, view = ours.memory_attention, theirs.multihead_attn
    copy_to_torch(
        [
            *torch_pairs(ours, theirs, norms),
            (cross.query, view.in_proj_weight[:DIM], view.in_proj_bias[:DIM]),
            (cross.kv, view.in_proj_weight[DIM:], view.in_proj_bias[DIM:]),
            (cross.heads.merge, view.out_proj.weight, view.out_proj.bias),
        ]
    )

    with torch.no_grad():
        expected = theirs(
            torch.tensor(data["x"]),
            torch.tensor(data["memory"]),
            tgt_mask=torch.tensor(~to_array(causal_mask(np.arange(5))).astype(bool)),
            tgt_key_padding_mask=torch.tensor(~data["x_mask"]),
            memory_key_padding_mask=torch.tensor(~data["memory_mask"]),
        ).numpy()

    assert_equal_where_real(call(ours, data), expected, data["x_mask"])
