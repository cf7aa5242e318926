"""Published language models, and how many parameters such a model has."""

from keras_transformer.layers.arguments import check_choice


def _gpt(num_layers, dim, num_heads, max_length, **more):
    shape = {"num_layers": num_layers, "dim": dim, "num_heads": num_heads, "ffn_dim": 4 * dim}
    return {"vocab_size": 50_257, **shape, "max_length": max_length, **more}


def _llama(num_layers, dim, num_heads, num_kv_heads, ffn_dim, **more):
    return {
        "num_layers": num_layers,
        "dim": dim,
        "num_heads": num_heads,
        "num_kv_heads": num_kv_heads,
        "ffn_dim": ffn_dim,
        "activation": "silu",
        "gated": True,
        "norm": "rms",
        "positions": "rotary",
        "use_bias": False,
        "dropout": 0.0,
        **more,
    }


SIZES = {
    # For two cores and a few minutes: nanoGPT's shape for that, and the same in Llama's manner.
    "mini": {
        "vocab_size": None,
        "num_layers": 4,
        "dim": 128,
        "num_heads": 4,
        "ffn_dim": 512,
        "max_length": 64,
        "dropout": 0.0,
    },
    "llama-mini": _llama(4, 128, 4, 2, 344, vocab_size=None, max_length=64),
    # For two cores and half an hour.
    "llama-small": _llama(6, 256, 4, 2, 688, vocab_size=None, max_length=256, dropout=0.1),
    # Radford et al. 2019.
    "gpt2": _gpt(12, 768, 12, 1024),
    "gpt2-medium": _gpt(24, 1024, 16, 1024),
    "gpt2-large": _gpt(36, 1280, 20, 1024),
    "gpt2-xl": _gpt(48, 1600, 25, 1024),
    # Brown et al. 2020, table 2.1. In two rows, heads of 128 features do not add up to the width:
    # both are taken as printed. (Of the first, 16 heads would make the 1.3 billion of its name.)
    "gpt3-125m": _gpt(12, 768, 12, 2048),
    "gpt3-350m": _gpt(24, 1024, 16, 2048),
    "gpt3-760m": _gpt(24, 1536, 16, 2048),
    "gpt3-1.3b": _gpt(24, 2048, 24, 2048, head_dim=128),
    "gpt3-2.7b": _gpt(32, 2560, 32, 2048),
    "gpt3-6.7b": _gpt(32, 4096, 32, 2048),
    "gpt3-13b": _gpt(40, 5140, 40, 2048, head_dim=128),
    "gpt3-175b": _gpt(96, 12_288, 96, 2048),
    # Zhang et al. 2024; Touvron et al. 2023; Grattafiori et al. 2024.
    "tinyllama-1.1b": _llama(22, 2048, 32, 4, 5632, vocab_size=32_000, max_length=2048),
    "llama2-7b": _llama(32, 4096, 32, 32, 11_008, vocab_size=32_000, max_length=4096),
    "llama3-8b": _llama(
        32, 4096, 32, 8, 14_336, vocab_size=128_256, max_length=8192, rotary_base=500_000.0
    ),
}
# Llamas have a matrix of their own for the output, but for the smallest.
for _name in ("tinyllama-1.1b", "llama2-7b", "llama3-8b"):
    SIZES[_name]["tied_output"] = False


def size_arguments(size, vocab_size=None, **changes):
    """The arguments of `Gpt` for a size.

    Args:
        size: a name in `SIZES`.
        vocab_size: V; that of the published model unless given.
        **changes: other arguments, in place of the size's.
    """
    check_choice(tuple(SIZES), size=size)
    vocab_size = vocab_size or SIZES[size]["vocab_size"]
    if vocab_size is None:
        raise ValueError(f"`vocab_size` is needed: {size!r} has no vocabulary of its own")
    return {**SIZES[size], "vocab_size": vocab_size, **changes}


def count_parameters(
    vocab_size,
    dim,
    num_heads,
    ffn_dim,
    num_layers,
    max_length=1024,
    positions="learned",
    tied_output=True,
    gated=False,
    norm="layer",
    num_kv_heads=None,
    head_dim=None,
    use_bias=True,
    **_,
):
    """How many parameters a `Gpt` with these arguments has, without making one.

    >>> f"{count_parameters(**size_arguments('gpt3-175b')):,}"
    '174,604,259,328'
    """
    num_kv_heads, head_dim = num_kv_heads or num_heads, head_dim or dim // num_heads

    def matrix(inputs, outputs):
        return inputs * outputs + (outputs if use_bias else 0)

    of_norm = 2 * dim if norm == "layer" else dim
    attention = matrix(dim, (num_heads + 2 * num_kv_heads) * head_dim)
    attention += matrix(num_heads * head_dim, dim)
    feed_forward = matrix(dim, ffn_dim * (2 if gated else 1)) + matrix(ffn_dim, dim)
    embeddings = vocab_size * dim + (max_length * dim if positions == "learned" else 0)
    output = 0 if tied_output else vocab_size * dim
    return embeddings + num_layers * (attention + feed_forward + 2 * of_norm) + of_norm + output
