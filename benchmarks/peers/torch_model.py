"""The Transformer of PyTorch, `nn.Transformer`, with what it needs to translate."""

import math

import torch
from torch import nn


class TorchTransformer(nn.Module):
    """Ids to logits, with one embedding for all as ours has."""

    def __init__(self, vocab_size, dim, num_heads, ffn_dim, num_layers, dropout, max_length):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=dim**-0.5)
        self.register_buffer("positions", sine_positions(max_length, dim))
        self.dropout = nn.Dropout(dropout)
        self.transformer = nn.Transformer(
            dim, num_heads, num_layers, num_layers, ffn_dim, dropout, batch_first=True
        )

    def embed(self, ids):
        """Scaled embeddings and positions."""
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(x + self.positions[: ids.shape[1]])

    def forward(self, source, target):
        """Ids (B, S) and (B, T) to logits (B, T, V)."""
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], dtype=torch.bool)
        padding = source == 0
        x = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=causal,
            src_key_padding_mask=padding,
            tgt_key_padding_mask=target == 0,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return x @ self.embedding.weight.T


def sine_positions(length, dim):
    """The paper's position vectors, (length, dim)."""
    angles = torch.arange(length)[:, None] / 10_000 ** (torch.arange(0, dim, 2) / dim)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(length, dim)
