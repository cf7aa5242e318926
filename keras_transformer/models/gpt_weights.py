"""What the weights and settings of language models are called in Hugging Face's files.

Two layouts are known: GPT-2's, and Llama's, which many others have taken over.
"""

from keras_transformer.models.huggingface import (
    Tensor,
    check_config,
    our_activation,
    set_weights,
    their_activation,
)


class Gpt2Layout:
    """Learned positions, layer norms, biases everywhere, one matrix for queries, keys, values."""

    kind, architecture, prefix = "gpt2", "GPT2LMHeadModel", "transformer."
    needed = ("vocab_size", "n_embd", "n_head", "n_layer", "n_positions")
    # What attention does otherwise in some models.
    unusual = ("scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "add_cross_attention")

    def arguments(self, config, folder):
        """Arguments of `Gpt` from a configuration."""
        check_config(config, folder, self.kind, self.needed)
        strange = [name for name in self.unusual if config.get(name)]
        if strange or not config.get("scale_attn_weights", True):
            raise ValueError(f"{folder} has attention of another kind: {', '.join(strange)}")
        return {
            "vocab_size": config["vocab_size"],
            "dim": config["n_embd"],
            "num_heads": config["n_head"],
            "ffn_dim": config.get("n_inner") or 4 * config["n_embd"],
            "num_layers": config["n_layer"],
            "max_length": config["n_positions"],
            "dropout": config.get("resid_pdrop", 0.1),
            "attention_dropout": config.get("attn_pdrop", 0.1),
            "norm_epsilon": config.get("layer_norm_epsilon", 1e-5),
            "activation": our_activation(config, "activation_function", "gelu_new"),
            "tied_output": config.get("tie_word_embeddings", True),
        }

    def config(self, arguments):
        """The configuration of a `Gpt` with these arguments; the way back."""
        dropout, of_attention = arguments["dropout"], arguments["attention_dropout"]
        return {
            "vocab_size": arguments["vocab_size"],
            "n_embd": arguments["dim"],
            "n_head": arguments["num_heads"],
            "n_inner": arguments["ffn_dim"],
            "n_layer": arguments["num_layers"],
            "n_positions": arguments["max_length"],
            "resid_pdrop": dropout,
            "embd_pdrop": dropout,
            "attn_pdrop": dropout if of_attention is None else of_attention,
            "layer_norm_epsilon": arguments["norm_epsilon"],
            "activation_function": their_activation(arguments["activation"]),
            "tie_word_embeddings": arguments["tied_output"],
        }

    def tensors(self, model, prefix=""):
        """All weights of a `Gpt`, as `Tensor`s; but for the output's, if it has one."""
        embedding = model.embedding
        found = [
            Tensor((f"{prefix}wte.weight",), embedding.tokens.embeddings),
            Tensor((f"{prefix}wpe.weight",), embedding.position_vectors.embeddings),
            *self._norm(f"{prefix}ln_f", model.last_norm),
        ]
        for i, block in enumerate(model.blocks):
            name = f"{prefix}h.{i}"
            found += [
                *self._norm(f"{name}.ln_1", block.self_attention_residual.normalize),
                *self._dense(f"{name}.attn.c_attn", block.self_attention.qkv),
                *self._dense(f"{name}.attn.c_proj", block.self_attention.heads.merge),
                *self._norm(f"{name}.ln_2", block.feed_forward_residual.normalize),
                *self._dense(f"{name}.mlp.c_fc", block.feed_forward.widen),
                *self._dense(f"{name}.mlp.c_proj", block.feed_forward.narrow),
            ]
        return found

    def is_ignored(self, name):
        """Masks that the oldest files have as tensors."""
        return name.endswith((".attn.bias", ".attn.masked_bias"))

    @staticmethod
    def fits(arguments):
        """Whether a `Gpt` is such a model."""
        return (
            arguments["positions"] == "learned"
            and arguments["norm"] == "layer"
            and arguments["use_bias"]
            and not arguments["gated"]
            and arguments["num_kv_heads"] in (None, arguments["num_heads"])
            and arguments["head_dim"] in (None, arguments["dim"] // arguments["num_heads"])
        )

    @staticmethod
    def _dense(name, layer):
        # Not turned: these were convolutions once.
        return [
            Tensor((f"{name}.weight",), layer.kernel),
            Tensor((f"{name}.bias",), layer.bias),
        ]

    @staticmethod
    def _norm(name, layer):
        return [
            Tensor((f"{name}.weight",), layer.normalize.gamma),
            Tensor((f"{name}.bias",), layer.normalize.beta),
        ]


class LlamaLayout:
    """Rotary positions, RMS norms, no biases, gated networks, perhaps fewer key-value heads."""

    kind, architecture, prefix = "llama", "LlamaForCausalLM", "model."
    needed = (
        "vocab_size",
        "hidden_size",
        "num_attention_heads",
        "intermediate_size",
        "num_hidden_layers",
        "max_position_embeddings",
    )

    def arguments(self, config, folder):
        """Arguments of `Gpt` from a configuration."""
        check_config(config, folder, self.kind, self.needed)
        # Older files say it apart, newer ones in a dict.
        rotary = config.get("rope_parameters") or config.get("rope_scaling") or {}
        kind = rotary.get("rope_type", rotary.get("type", "default"))
        if kind != "default":
            raise ValueError(f"{folder} stretches its positions ({kind}), and a Gpt does not")
        biases = [name for name in ("attention_bias", "mlp_bias") if config.get(name)]
        if biases:
            raise ValueError(f"{folder} has biases in some places only: {', '.join(biases)}")
        return {
            "vocab_size": config["vocab_size"],
            "dim": config["hidden_size"],
            "num_heads": config["num_attention_heads"],
            "num_kv_heads": config.get("num_key_value_heads"),
            "head_dim": config.get("head_dim"),
            "ffn_dim": config["intermediate_size"],
            "num_layers": config["num_hidden_layers"],
            "max_length": config["max_position_embeddings"],
            "dropout": 0.0,
            "attention_dropout": config.get("attention_dropout", 0.0),
            "norm": "rms",
            "norm_epsilon": config.get("rms_norm_eps", 1e-6),
            "activation": our_activation(config, "hidden_act", "silu"),
            "gated": True,
            "positions": "rotary",
            "rotary_base": rotary.get("rope_theta", config.get("rope_theta", 10_000.0)),
            "use_bias": False,
            "tied_output": config.get("tie_word_embeddings", False),
        }

    def config(self, arguments):
        """The configuration of a `Gpt` with these arguments; the way back."""
        num_heads = arguments["num_heads"]
        return {
            "vocab_size": arguments["vocab_size"],
            "hidden_size": arguments["dim"],
            "num_attention_heads": num_heads,
            "num_key_value_heads": arguments["num_kv_heads"] or num_heads,
            "head_dim": arguments["head_dim"] or arguments["dim"] // num_heads,
            "intermediate_size": arguments["ffn_dim"],
            "num_hidden_layers": arguments["num_layers"],
            "max_position_embeddings": arguments["max_length"],
            "attention_dropout": arguments["attention_dropout"] or 0.0,
            "rms_norm_eps": arguments["norm_epsilon"],
            "hidden_act": their_activation(arguments["activation"]),
            "rope_theta": float(arguments["rotary_base"]),
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": float(arguments["rotary_base"]),
            },
            "attention_bias": False,
            "mlp_bias": False,
            "tie_word_embeddings": arguments["tied_output"],
        }

    def tensors(self, model, prefix=""):
        """All weights of a `Gpt`, as `Tensor`s; but for the output's, if it has one."""
        found = [
            Tensor((f"{prefix}embed_tokens.weight",), model.embedding.tokens.embeddings),
            self._norm(f"{prefix}norm", model.last_norm),
        ]
        for i, block in enumerate(model.blocks):
            name, heads = f"{prefix}layers.{i}", block.self_attention.heads
            attention, network = f"{name}.self_attn", f"{name}.mlp"
            keys = heads.num_kv_heads * heads.head_dim
            found += [
                self._norm(f"{name}.input_layernorm", block.self_attention_residual.normalize),
                Tensor(
                    tuple(f"{attention}.{part}_proj.weight" for part in "qkv"),
                    block.self_attention.qkv.kernel,
                    turned=True,
                    widths=(heads.num_heads * heads.head_dim, keys, keys),
                ),
                Tensor((f"{attention}.o_proj.weight",), heads.merge.kernel, turned=True),
                self._norm(
                    f"{name}.post_attention_layernorm", block.feed_forward_residual.normalize
                ),
                Tensor(
                    (f"{network}.gate_proj.weight", f"{network}.up_proj.weight"),
                    block.feed_forward.widen.kernel,
                    turned=True,
                ),
                Tensor(
                    (f"{network}.down_proj.weight",), block.feed_forward.narrow.kernel, turned=True
                ),
            ]
        return found

    def is_ignored(self, name):
        """Frequencies that the oldest files have as tensors."""
        return name.endswith(".rotary_emb.inv_freq")

    @staticmethod
    def fits(arguments):
        """Whether a `Gpt` is such a model."""
        return (
            arguments["positions"] == "rotary"
            and arguments["norm"] == "rms"
            and not arguments["use_bias"]
            and arguments["gated"]
        )

    @staticmethod
    def _norm(name, layer):
        return Tensor((f"{name}.weight",), layer.normalize.scale)


LAYOUTS = {layout.kind: layout for layout in (Gpt2Layout(), LlamaLayout())}
OUTPUT = "lm_head.weight"


def layout_of_config(config, folder):
    """The layout that a configuration is in."""
    kind = config.get("model_type")
    if kind not in LAYOUTS:
        raise ValueError(
            f"{folder} holds a model of type {kind}, one of {', '.join(LAYOUTS)} is needed"
        )
    return LAYOUTS[kind]


def layout_of_arguments(arguments):
    """The layout that a `Gpt` with these arguments can be written in."""
    for layout in LAYOUTS.values():
        if layout.fits(arguments):
            return layout
    raise ValueError(
        "Hugging Face's layouts are for models like GPT-2 (learned positions, layer norms, biases) "
        "or Llama (rotary positions, RMS norms, gated, no biases). Received: "
        + ", ".join(f"{name}={arguments[name]}" for name in ("positions", "norm", "use_bias"))
    )


def gpt_tensors(model, layout, prefix=""):
    """All weights of a `Gpt`, as `Tensor`s."""
    tensors = layout.tensors(model, prefix)
    if not model.arguments["tied_output"]:
        tensors.append(Tensor((OUTPUT,), model.projection.kernel, turned=True))
    return tensors


def set_gpt_weights(model, layout, tensors, folder, skip_unknown=False):
    """Puts tensors of a file into a `Gpt`, see `huggingface.set_weights`."""
    tied = model.arguments["tied_output"]

    def is_ignored(name):
        return layout.is_ignored(name) or (tied and name == OUTPUT)  # a copy of the embedding

    wanted = gpt_tensors(model, layout)
    set_weights(wanted, tensors, folder, layout.kind, layout.prefix, is_ignored, skip_unknown)


def gpt_config(model, layout):
    """What `config.json` says about a `Gpt`."""
    return {
        "model_type": layout.kind,
        "architectures": [layout.architecture],
        **layout.config(model.arguments),
    }
