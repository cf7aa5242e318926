"""The mistakes that are made on purpose can still be made; `make test-mutations` makes them."""

from pathlib import Path

from mutations import MUTATIONS, ROOT


def test_every_line_and_its_test_are_there():
    for mutation in MUTATIONS:
        code = (ROOT / "keras_transformer" / mutation.file).read_text()
        assert code.count(mutation.line) == 1, mutation
        path, *name = mutation.noticed_by.split("::")
        test = (Path(__file__).parent / path).read_text()
        assert not name or f"def {name[0].split('[')[0]}(" in test, mutation
