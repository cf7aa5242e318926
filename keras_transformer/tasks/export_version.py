"""A new version of a served model, which is there only if it answers as its run does."""

import json

from keras_transformer.export.bundle import write_bundle
from keras_transformer.export.parity import compare
from keras_transformer.export.versions import new_version
from keras_transformer.tasks.display import console, progress_bar


def export_version(run, out, version, write, original, lines, show_progress=False, **comparison):
    """Writes a version and compares it with what it was made from.

    Args:
        run: path of the run's folder.
        out: the folder of the served model.
        version: its number; one more than the newest unless given.
        write: a function of the folder to write to, and of the one it will be, to the models in it
            as `compare` wants them.
        original: what they were made from, likewise.
        lines: what to ask them.
        show_progress: whether to show a bar.
        **comparison: what else `compare` is told.

    Returns:
        The path of the new version, and the rows of the report, see `export.parity.Row`.
    """
    with new_version(out, version) as (new, final):
        console.print(f"Writing {final}", markup=False)
        exported = write(new, final)
        with progress_bar(disable=not show_progress) as bar:
            task = bar.add_task("Comparing", total=1 + len(exported), note="")
            advance = lambda: bar.advance(task)  # noqa: E731
            rows = compare(original, exported, lines, advance=advance, **comparison)
        report = {"run": str(run), "rows": [row.as_dict() for row in rows]}
        (new / "parity.json").write_text(json.dumps(report, indent=2) + "\n")
        problems = [f"{row.name}: {problem}" for row in rows for problem in row.problems]
        if problems:
            raise ValueError(
                f"The export does not answer as {run} does, nothing was written. "
                + "; ".join(problems)
            )
    return final, rows


def write_beside(final, signatures, exported, request):
    """Writes what TF Serving wants beside the versions.

    Args:
        final: the path of the version.
        signatures: a dict from names to `Signature`s.
        exported: the version, loaded.
        request: the JSON body of a request that works for this model.
    """
    names = {
        name: (list(signature.inputs), sorted(exported.signatures[name].structured_outputs))
        for name, signature in signatures.items()
    }
    write_bundle(final.parent, final.resolve().parent.name, names, request)
