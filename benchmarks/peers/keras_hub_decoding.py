"""Our weights in KerasHub's layers, decoded with its cache and its samplers."""

import math

import keras_hub
import numpy as np
import tensorflow as tf
from keras import ops

from keras_transformer.layers.positional_embedding import sine_positions
from keras_transformer.text import END, START


class KerasHubTranslation:
    """Greedy decoding and beam search as KerasHub's own encoder-decoders do it.

    Args:
        model: a trained `Transformer`, the paper's.
    """

    def __init__(self, model):
        config = model.get_config()
        self.heads, self.dim = config["num_heads"], config["dim"]
        matrix = np.array(model.target_embedding.tokens.embeddings)
        self.embedding = keras_hub.layers.TokenAndPositionEmbedding(
            config["vocab_size"], config["max_length"], self.dim, tie_weights=False
        )
        self.embedding.build((None, None))
        self.embedding.token_embedding.embeddings.assign(matrix * math.sqrt(self.dim))
        self.embedding.token_embedding.reverse_embeddings.assign(matrix.T)
        positions = sine_positions(config["max_length"], self.dim)
        self.embedding.position_embedding.position_embeddings.assign(positions)
        block = {"intermediate_dim": config["ffn_dim"], "num_heads": self.heads}
        shape = (None, None, self.dim)
        self.encoder, self.decoder = [], []
        for ours in model.encoder:
            layer = keras_hub.layers.TransformerEncoder(**block)
            layer.build(shape)
            copy_self_attention(layer, ours, self.heads)
            copy_feed_forward(layer, ours)
            self.encoder.append(layer)
        for ours in model.decoder:
            layer = keras_hub.layers.TransformerDecoder(**block)
            layer.build(shape, shape)
            copy_self_attention(layer, ours, self.heads)
            copy_cross_attention(layer, ours, self.heads)
            copy_feed_forward(layer, ours)
            self.decoder.append(layer)

    def function(self, max_length, xla, stop=True):
        """A function of source ids (B, S) to ids (B, max_length + 1), the start token included."""

        def decode(source):
            memory, mask = self.encode(source)
            batch = ops.shape(source)[0]
            prompt = ops.concatenate(
                [ops.full((batch, 1), START), ops.zeros((batch, max_length), "int32")], axis=1
            )
            cache = self.first_cache(prompt, memory, mask)

            def next_token(prompt, cache, index):
                token = ops.slice(prompt, [0, index - 1], [batch, 1])
                hidden, cache = self.decode_token(token, cache, index - 1, memory, mask)
                logits = self.embedding.token_embedding(hidden, reverse=True)
                return ops.squeeze(logits, 1), ops.squeeze(hidden, 1), cache

            return keras_hub.samplers.GreedySampler()(
                next=next_token,
                prompt=prompt,
                cache=cache,
                index=1,
                stop_token_ids=[END] if stop else None,
            )

        return tf.function(decode, jit_compile=xla, reduce_retracing=not xla)

    def tutorial_function(self, max_length, xla):
        """The same without a cache: encoder and decoder from the beginning for every token."""

        def decode(source):
            batch = ops.shape(source)[0]
            prompt = ops.concatenate(
                [ops.full((batch, 1), START), ops.zeros((batch, max_length), "int32")], axis=1
            )

            def next_token(prompt, cache, index):
                memory, mask = self.encode(source)
                x = self.embedding(prompt)
                for layer in self.decoder:
                    x = layer(x, memory, encoder_padding_mask=mask)
                logits = self.embedding.token_embedding(x, reverse=True)
                return ops.take(logits, index - 1, axis=1), None, cache

            sampler = keras_hub.samplers.GreedySampler()
            return sampler(next=next_token, prompt=prompt, index=1, stop_token_ids=[END])

        return tf.function(decode, jit_compile=xla, reduce_retracing=not xla)

    def encode(self, source):
        """The memory, and which of it is real."""
        mask = source != 0
        x = self.embedding(source)
        for layer in self.encoder:
            x = layer(x, padding_mask=mask)
        return x, mask

    def first_cache(self, prompt, memory, mask):
        """(B, layers, 2, length, H, K) of the target and of the memory, the latter filled."""
        batch, length = ops.shape(prompt)
        head_dim = self.dim // self.heads
        own = ops.zeros((batch, 2, length, self.heads, head_dim))
        x = self.embedding(prompt[:, :1])
        caches, of_memory = [], []
        for layer in self.decoder:
            empty = ops.zeros((batch, 2, ops.shape(memory)[1], self.heads, head_dim))
            x, cache, cross = layer(
                x,
                memory,
                encoder_padding_mask=mask,
                self_attention_cache=own,
                self_attention_cache_update_index=0,
                cross_attention_cache=empty,
                cross_attention_cache_update_index=0,
            )
            caches.append(cache)
            of_memory.append(cross)
        return ops.stack(caches, axis=1), ops.stack(of_memory, axis=1)

    def decode_token(self, token, caches, index, memory, mask):
        """The next hidden state, (B, 1, D), and the caches."""
        own, of_memory = caches
        x = self.embedding(token, start_index=index)
        new = []
        for number, layer in enumerate(self.decoder):
            x, cache, _ = layer(
                x,
                memory,
                encoder_padding_mask=mask,
                self_attention_cache=own[:, number],
                self_attention_cache_update_index=index,
                cross_attention_cache=of_memory[:, number],
            )
            new.append(cache)
        return x, (ops.stack(new, axis=1), of_memory)


def copy_attention(to, projections, merge, heads):
    """Three projections, and the one that merges the heads."""
    for dense, (kernel, bias) in zip(
        (to.query_dense, to.key_dense, to.value_dense), projections, strict=True
    ):
        dense.kernel.assign(kernel.reshape(len(kernel), heads, -1))
        dense.bias.assign(bias.reshape(heads, -1))
    kernel = np.array(merge.kernel)
    to.output_dense.kernel.assign(kernel.reshape(heads, -1, kernel.shape[-1]))
    to.output_dense.bias.assign(merge.bias)


def pieces(dense, count):
    """So many projections that are one matrix in ours."""
    kernels = np.split(np.array(dense.kernel), count, axis=1)
    return zip(kernels, np.split(np.array(dense.bias), count), strict=True)


def copy_norm(to, residual):
    """The normalisation after a sublayer."""
    norm = residual.normalize.normalize
    to.gamma.assign(norm.gamma)
    to.beta.assign(norm.beta)


def copy_self_attention(layer, block, heads):
    """The first sublayer."""
    attention = block.self_attention
    copy_attention(
        layer._self_attention_layer, pieces(attention.qkv, 3), attention.heads.merge, heads
    )
    copy_norm(layer._self_attention_layer_norm, block.self_attention_residual)


def copy_cross_attention(layer, block, heads):
    """The decoder's second sublayer."""
    attention = block.memory_attention
    projections = [*pieces(attention.query, 1), *pieces(attention.kv, 2)]
    copy_attention(layer._cross_attention_layer, projections, attention.heads.merge, heads)
    copy_norm(layer._cross_attention_layer_norm, block.memory_attention_residual)


def copy_feed_forward(layer, block):
    """The last sublayer."""
    for to, dense in (
        (layer._feedforward_intermediate_dense, block.feed_forward.widen),
        (layer._feedforward_output_dense, block.feed_forward.narrow),
    ):
        to.kernel.assign(dense.kernel)
        to.bias.assign(dense.bias)
    copy_norm(layer._feedforward_layer_norm, block.feed_forward_residual)
