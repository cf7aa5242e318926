"""Which Transformers fit which TPU: the table of docs/scale.md.

    python -m benchmarks.tpu_table            # half an hour on two cores; no TPU is needed

Each row is what one `keras-transformer tpu-check` says; all of them go to
docs/performance/tpu_check.json.
"""

import json
import subprocess
import sys
from pathlib import Path

import typer

ROWS = (
    # size, topology, positions of a batch, model over so many chips, backend
    ("base", "v5e:2x2", 32_768, 1, "jax"),
    ("base", "v5e:2x2", 131_072, 1, "jax"),
    ("base", "v5e:4x4", 131_072, 1, "jax"),
    ("base", "v5e:4x4", 131_072, 1, "tensorflow"),
    ("big", "v5e:2x2", 32_768, 1, "jax"),
    ("big", "v5e:2x2", 131_072, 1, "jax"),
    ("big", "v5e:4x4", 131_072, 1, "jax"),
    ("big", "v5e:4x4", 131_072, 1, "tensorflow"),
    ("big", "v5e:4x4", 131_072, 4, "jax"),
    ("big", "v5e:4x4", 524_288, 1, "jax"),
)
OUT = Path("docs/performance/tpu_check.json")


def check(size, topology, batch_tokens, ways, backend):
    """One row."""
    options = {
        "size": size,
        "topology": topology,
        "batch-tokens": batch_tokens,
        "model-parallel": ways,
        "backend": backend,
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "keras_transformer_cli", "tpu-check", *words, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")
    return {**json.loads(done.stdout), "exit_code": done.returncode}


def table(rows):
    """For the documentation."""
    yield (
        "| size | topology | positions | a model over | backend | TFLOPs a step | GiB a chip "
        "| of which temporary | collectives | compiled in | fits |"
    )
    yield "|" + "---|" * 11
    for row in rows:
        met = ", ".join(f"{count} {kind}" for kind, count in row["collectives"].items())
        temporary = row["memory"].get("temporary")
        fits = "yes" if row["fits"] else f"no, {row['total'] - row['has']:.2f} GiB too much"
        cells = (
            row["size"],
            row["topology"],
            f"{row['batch'][0] * row['batch'][1]:,}",
            f"{row['ways']} chip{'s' * (row['ways'] > 1)}",
            row["backend"],
            "" if row["flops"] is None else f"{row['flops'] / 1e12:.1f}",
            f"{row['total']:.2f} of {row['has']:g}",
            "" if temporary is None else f"{temporary:.2f}",
            met or "none",
            f"{row['seconds']:.0f} s",
            fits,
        )
        yield f"| {' | '.join(cells)} |"


def main(out: Path = OUT):
    """Asks the TPU's compiler for every row, and prints the table."""
    rows = []
    for number, row in enumerate(ROWS, 1):
        print(f"{number} of {len(ROWS)}: {row}", file=sys.stderr, flush=True)
        rows.append(check(*row))
        out.write_text(json.dumps(rows, indent=1) + "\n")
    print("\n".join(table(rows)))


if __name__ == "__main__":
    typer.run(main)
