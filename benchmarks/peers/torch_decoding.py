"""Our weights in PyTorch, decoded with a cache, greedily or with beams."""

import math

import numpy as np
import torch
from torch.nn import functional

START, END = 1, 2


class TorchTranslation:
    """Decoding with PyTorch's fused attention; rows that have ended leave the batch.

    `nn.Transformer` has no cache: this is what one writes with PyTorch's functions to have one.

    Args:
        weights: from names to arrays, see `torch_weights`.
        heads: H.
        layers: of the encoder, and of the decoder.
    """

    def __init__(self, weights, heads, layers):
        self.w = {name: torch.from_numpy(array) for name, array in weights.items()}
        self.heads, self.layers = heads, layers

    @torch.inference_mode()
    def greedy(self, source, limits, stop=True):
        """Ids (B, S) to a list of B lists of ids, the end token left out.

        Args:
            source: NumPy array.
            limits: how many tokens each row gets at most.
            stop: whether the end token ends a row.
        """
        memory = self.remember(source)
        caches = [None] * self.layers
        rows = np.arange(len(source))
        ids = torch.full((len(source), 1), START)
        found = [[] for _ in rows]
        for position in range(max(limits)):
            logits, caches = self.step(ids, position, caches, memory)
            ids = logits.argmax(-1, keepdim=True)
            going_on = []
            for i, token in enumerate(ids[:, 0].tolist()):
                if stop and token == END:
                    continue
                found[rows[i]].append(token)
                if position + 1 < limits[rows[i]]:
                    going_on.append(i)
            if not going_on:
                break
            if len(going_on) < len(rows):
                left = torch.tensor(going_on)
                rows, ids = rows[going_on], ids[left]
                caches, memory = self.take(caches, left), self.take(memory, left)
        return found

    @torch.inference_mode()
    def beam(self, source, limits, width):
        """The same with so many beams a sentence, compared by probability alone.

        The best continuations of all open beams are taken; those that end are put aside. A sentence
        leaves the batch when nothing open is better than the best that has ended.
        """
        count = len(source)
        memory = self.take(self.remember(source), torch.arange(count).repeat_interleave(width))
        caches = [None] * self.layers
        ids = torch.full((count * width, 1), START)
        scores = torch.full((count, width), -math.inf)
        scores[:, 0] = 0
        sentences, texts = list(range(count)), [[[]] * width for _ in range(count)]
        best = [(-math.inf, [])] * count
        for position in range(max(limits)):
            logits, caches = self.step(ids, position, caches, memory)
            log_probabilities = logits.log_softmax(-1).view(len(sentences), width, -1)
            vocab_size = log_probabilities.shape[-1]
            totals = (scores[:, :, None] + log_probabilities).flatten(1)
            top, places = totals.topk(width)
            beams, tokens = (places // vocab_size).tolist(), (places % vocab_size).tolist()
            scores = top.tolist()
            rows, left = [], []
            for i, sentence in enumerate(sentences):
                new = []
                for k in range(width):
                    text = [*texts[sentence][beams[i][k]], tokens[i][k]]
                    if tokens[i][k] == END or position + 1 == limits[sentence]:
                        best[sentence] = max(best[sentence], (scores[i][k], text))
                        scores[i][k] = -math.inf
                    new.append(text)
                texts[sentence] = new
                if max(scores[i]) > best[sentence][0]:
                    left.append(i)
                    rows += [i * width + beam for beam in beams[i]]
            if not left:
                break
            kept = torch.tensor(rows)
            ids = torch.tensor([tokens[i] for i in left]).view(-1, 1)
            scores = torch.tensor([scores[i] for i in left])
            caches = self.take(caches, kept)
            if len(left) < len(sentences):
                memory = self.take(memory, kept)
                sentences = [sentences[i] for i in left]
        return [[token for token in text if token != END] for _, text in best]

    def remember(self, source):
        """What `step` looks at: the memory's mask, and its keys and values for each layer."""
        source = torch.from_numpy(source).long()
        mask = (source != 0)[:, None, None, :]
        memory = self.encode(source, mask)
        return [(mask,)] + [
            self.split(self.linear(memory, f"decoder.{i}.kv")).chunk(2, dim=1)
            for i in range(self.layers)
        ]

    def step(self, ids, position, caches, memory):
        """The logits after one more token, (B, V), and the caches with it."""
        (mask,), *cross = memory
        x, new = self.embed(ids, position), []
        for i in range(self.layers):
            name = f"decoder.{i}."
            q, k, v = self.split(self.linear(x, name + "qkv")).chunk(3, dim=1)
            if caches[i] is not None:
                k, v = (torch.cat(pair, 2) for pair in zip(caches[i], (k, v), strict=True))
            new.append((k, v))
            x = self.add(x, self.attend(q, k, v), name + "self_merge", name + "self_norm")
            q = self.split(self.linear(x, name + "query"))
            heads = self.attend(q, *cross[i], mask)
            x = self.add(x, heads, name + "cross_merge", name + "cross_norm")
            x = self.feed_forward(x, name)
        return x[:, -1] @ self.w["embedding"].T, new

    def take(self, state, rows):
        """These rows of tuples of tensors."""
        return [tuple(x[rows] for x in tensors) for tensors in state]

    def encode(self, source, mask):
        """The memory."""
        x = self.embed(source, 0)
        for i in range(self.layers):
            name = f"encoder.{i}."
            q, k, v = self.split(self.linear(x, name + "qkv")).chunk(3, dim=1)
            x = self.add(x, self.attend(q, k, v, mask), name + "self_merge", name + "self_norm")
            x = self.feed_forward(x, name)
        return x

    def embed(self, ids, position):
        """Scaled embeddings and positions."""
        x = self.w["embedding"][ids] * math.sqrt(self.w["embedding"].shape[1])
        return x + self.w["positions"][position : position + ids.shape[1]]

    def linear(self, x, name):
        """A projection."""
        return functional.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def split(self, x):
        """(B, T, n K) -> (B, n, T, K)."""
        batch, length, width = x.shape
        head_dim = self.w["embedding"].shape[1] // self.heads
        return x.view(batch, length, width // head_dim, head_dim).transpose(1, 2)

    def attend(self, q, k, v, mask=None):
        """All heads, merged: (B, T, D)."""
        heads = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return heads.transpose(1, 2).flatten(2)

    def add(self, x, heads, merge, norm):
        """The residual connection and its norm."""
        return self.norm(x + self.linear(heads, merge), norm)

    def feed_forward(self, x, name):
        """The last sublayer."""
        inner = functional.relu(self.linear(x, name + "widen"))
        return self.norm(x + self.linear(inner, name + "narrow"), name + "ffn_norm")

    def norm(self, x, name):
        """Layer normalisation."""
        gamma, beta = self.w[name + ".gamma"], self.w[name + ".beta"]
        return functional.layer_norm(x, gamma.shape, gamma, beta, 1e-5)


def torch_weights(model, positions):
    """The weights of a trained `Transformer` by the names used above."""
    weights = {
        "embedding": np.array(model.target_embedding.tokens.embeddings),
        "positions": positions.astype("float32"),
    }

    def dense(name, layer):
        weights[name + ".weight"] = np.ascontiguousarray(np.array(layer.kernel).T)
        weights[name + ".bias"] = np.array(layer.bias)

    def norm(name, residual):
        layer = residual.normalize.normalize
        weights[name + ".gamma"], weights[name + ".beta"] = map(np.array, (layer.gamma, layer.beta))

    for side, blocks in (("encoder", model.encoder), ("decoder", model.decoder)):
        for i, block in enumerate(blocks):
            name = f"{side}.{i}."
            dense(name + "qkv", block.self_attention.qkv)
            dense(name + "self_merge", block.self_attention.heads.merge)
            norm(name + "self_norm", block.self_attention_residual)
            if side == "decoder":
                attention = block.memory_attention
                dense(name + "query", attention.query)
                dense(name + "kv", attention.kv)
                dense(name + "cross_merge", attention.heads.merge)
                norm(name + "cross_norm", block.memory_attention_residual)
            dense(name + "widen", block.feed_forward.widen)
            dense(name + "narrow", block.feed_forward.narrow)
            norm(name + "ffn_norm", block.feed_forward_residual)
    return weights
