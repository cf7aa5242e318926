"""A GPT in PyTorch, and the training loop that people have for one.

    python -m benchmarks.peers.torch_gpt input.txt --seed 1

Prints a line of JSON: seconds of the 2,000 updates, and the loss over the whole validation text.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

LAYERS, HEADS, DIM, BLOCK, BATCH = 4, 4, 128, 64, 12
UPDATES, WARMUP, PEAK, LOWEST = 2000, 100, 1e-3, 1e-4
BETAS, WEIGHT_DECAY, CLIP_NORM = (0.9, 0.99), 0.1, 1.0
TRAIN_SHARE = 0.9


class Attention(nn.Module):
    """Causal self-attention, by PyTorch's own fused operation."""

    def __init__(self):
        super().__init__()
        self.inputs = nn.Linear(DIM, 3 * DIM, bias=False)
        self.output = nn.Linear(DIM, DIM, bias=False)

    def forward(self, x):
        heads = self.inputs(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        return self.output(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Pre-norm: attention, then the feed-forward network."""

    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = (nn.LayerNorm(DIM, bias=False) for _ in range(2))
        self.attention = Attention()
        self.inner = nn.Linear(DIM, 4 * DIM, bias=False)
        self.output = nn.Linear(4 * DIM, DIM, bias=False)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.output(functional.gelu(self.inner(self.ffn_norm(x))))


class Gpt(nn.Module):
    """Ids to logits; the embedding is the output matrix too."""

    def __init__(self, vocab_size, std):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab_size, DIM), nn.Embedding(BLOCK, DIM)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(DIM, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:  # what is added to the residual stream is scaled down
                added = name.endswith("output.weight")
                nn.init.normal_(weight, std=std / math.sqrt(2 * LAYERS if added else 1))

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        return self.norm(self.blocks(x)) @ self.tokens.weight.T


def learning_rate(update):
    """Up in a line, down along a cosine."""
    if update < WARMUP:
        return PEAK * (update + 1) / (WARMUP + 1)
    done = (update - WARMUP) / (UPDATES - WARMUP)
    return LOWEST + (PEAK - LOWEST) * (1 + math.cos(math.pi * done)) / 2


def train(model, ids, seed):
    """The updates, each on blocks from anywhere in the text."""
    matrices = [weight for weight in model.parameters() if weight.dim() >= 2]
    others = [weight for weight in model.parameters() if weight.dim() < 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": WEIGHT_DECAY},
            {"params": others, "weight_decay": 0.0},
        ],
        betas=BETAS,
    )
    draw = np.random.default_rng(seed)
    for update in range(UPDATES):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(update)
        starts = draw.integers(len(ids) - BLOCK, size=BATCH)
        blocks = torch.from_numpy(np.stack([ids[i : i + BLOCK + 1] for i in starts]))
        logits = model(blocks[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), blocks[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


@torch.no_grad()
def validation_loss(model, ids):
    """The mean over all of the text's tokens but the first, in blocks one after the other."""
    total, count = 0.0, 0
    for start in range(0, len(ids) - 1, BLOCK):
        block = torch.from_numpy(ids[start : start + BLOCK + 1])[None]
        logits, labels = model(block[:, :-1])[0], block[0, 1:]
        total += functional.cross_entropy(logits, labels, reduction="sum").item()
        count += len(labels)
    return total / count


def main(text, seed, std):
    """Trains, validates, prints."""
    torch.manual_seed(seed)
    text = Path(text).read_bytes().decode()
    characters = {character: i for i, character in enumerate(sorted(set(text)))}
    ids = np.array([characters[character] for character in text])
    split = int(TRAIN_SHARE * len(ids))
    model = Gpt(len(characters), std)
    began = time.perf_counter()
    train(model, ids[:split], seed)
    seconds = time.perf_counter() - began
    parameters = sum(weight.numel() for weight in model.parameters())
    loss = validation_loss(model, ids[split:])
    print(json.dumps({"seconds": seconds, "loss": loss, "parameters": parameters}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", help="the text, of which the last tenth validates")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--std", type=float, default=0.02, help="of the weights it begins with")
    main(**vars(parser.parse_args()))
