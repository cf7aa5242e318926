"""More than one device."""

import json as json_format
import os
import sys
from typing import Annotated

import typer

from keras_transformer_cli.app import app
from keras_transformer_cli.options import flag, option
from keras_transformer_cli.quiet import quiet_standard_error, waiting

DOES_NOT_FIT = 1  # exit code


@app.command(context_settings={"ignore_unknown_options": True})
def launch(
    command: Annotated[
        list[str] | None, typer.Argument(help="What each of them does, after --; or a program.")
    ] = None,
    workers: Annotated[int, option("How many processes; 2 unless given.")] = 2,
    restarts: Annotated[
        int, option("Start all again, and resume, so many times when one has died; 0.")
    ] = 0,
):
    """Train with several worker processes on this machine.

    Example:

        keras-transformer launch --workers 2 --restarts 1 -- train --data phrases --out runs/two

    For several GPUs in one machine there is `train --strategy mirrored`. On several machines, a
    job manager starts the workers: docs/scale.md.
    """
    from keras_transformer_launch import launch

    code = launch(command or [], workers, restarts, say=lambda line: typer.echo(line, err=True))
    if code:
        sys.exit(code)


@app.command()
def tpu_check(
    size: Annotated[str, option("tiny, base or big; base unless given.")] = "base",
    topology: Annotated[
        str, option("Generation, and chips along each axis; v5e:4x4 unless given.")
    ] = "v5e:4x4",
    batch_tokens: Annotated[
        int, option("Positions of a batch, all chips together; 131072 unless given.")
    ] = 131_072,
    length: Annotated[int, option("Of a row of packed sentences; 256 unless given.")] = 256,
    vocab_size: Annotated[int, option("Pieces; 32000 unless given.")] = 32_000,
    model_parallel: Annotated[
        int, option("Split a model over so many chips; 1, every chip has all of it.")
    ] = 1,
    precision: Annotated[
        str, option("mixed_bfloat16 (unless given), bfloat16 or float32.")
    ] = "mixed_bfloat16",
    backend: Annotated[
        str, option("jax (unless given), or tensorflow: what one chip does, without the others.")
    ] = "jax",
    json: Annotated[bool, flag("--json", "Print JSON.")] = False,
):
    """Compile a whole training step with the TPU's compiler, without a TPU: does it fit?

    Needs `pip install 'keras-transformer-layers[tpu-check]'` and a few minutes. The exit code is 1
    if it does not fit.

    Example:

        keras-transformer tpu-check --size base --topology v5e:4x4 --batch-tokens 131072
    """
    if backend not in ("jax", "tensorflow"):
        raise ValueError(f"`backend` must be one of jax, tensorflow. Received: backend={backend!r}")
    os.environ["KERAS_BACKEND"] = backend
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # where the compiler runs
    os.environ.setdefault("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with quiet_standard_error() as screen, waiting(screen, f"Compiling for {topology}: minutes"):
        from keras_transformer.tasks.tpu_check import tpu_check as check

        report = check(size, topology, batch_tokens, length, vocab_size, model_parallel, precision)
    if json:
        typer.echo(json_format.dumps(report.as_dict()))
    else:
        typer.echo("\n".join(report.lines()))
    if not report.fits:
        sys.exit(DOES_NOT_FIT)
