"""A language so small that a tiny GPT learns it in seconds."""

import random

SIZE = {"dim": 32, "num_heads": 2, "ffn_dim": 64, "num_layers": 1, "max_length": 16}
QUICK = {**SIZE, "batch_tokens": 256, "warmup_steps": 5, "max_steps": 12, "learning_rate": 0.01}


def write_text(path, count=300, seed=0, between="\n"):
    """Lines like "3 cats see 3 dogs"."""
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        number = draw.randint(2, 9)
        lines.append(f"{number} {draw.choice(['cats', 'owls'])} see {number} dogs")
    path.write_text(between.join(lines) + "\n")
    return path
