"""A small BERT and rows for it: two sentences, and one with padding."""

import numpy as np

SMALL = {
    "vocab_size": 50,
    "dim": 16,
    "num_heads": 2,
    "ffn_dim": 32,
    "num_layers": 2,
    "max_length": 20,
}
IDS = np.array([[2, 7, 8, 9, 3, 11, 12, 3], [2, 30, 31, 3, 0, 0, 0, 0]])
SEGMENTS = np.array([[0, 0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 0]])
ROWS = {"token_ids": IDS, "segment_ids": SEGMENTS}
