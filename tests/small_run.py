"""The options of a run that is small enough to be trained by the tests."""

EPOCHS = 12  # enough for translations that differ and are not empty
SMALL = {
    "dim": 16,
    "num_heads": 2,
    "ffn_dim": 32,
    "num_layers": 1,
    "batch_tokens": 256,
    "vocab_size": 320,
    "warmup_steps": 10,
}
SERVED = {"beam_size": 2, "alpha": 0.6}  # how it is exported
