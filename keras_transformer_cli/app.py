"""The program: what all commands have in common, mistakes included."""

import os
import sys

import typer

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Train Transformers: to translate, BERTs to label texts, GPTs to write. Export them.",
)

USER_ERROR, INTERRUPTED = 2, 130


def main():
    """Runs the command; a user's mistake is one line and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            # The reader, such as `head`, has gone. Python would complain once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        if os.environ.get("KERAS_TRANSFORMER_TRACEBACK"):
            raise
        typer.echo(f"Error: {' '.join(str(error).split())}", err=True)
        sys.exit(USER_ERROR)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except RuntimeError as error:
        code = getattr(error, "exit_code", None)
        if code is None:
            raise
        typer.echo(f"Error: {error}", err=True)
        sys.stderr.flush()
        os._exit(code)  # TensorFlow would wait for the others before it lets Python end
