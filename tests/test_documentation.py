"""The Python in the README and the documentation runs as it stands there."""

import subprocess
import sys
from pathlib import Path

import pytest
from mutations import MUTATIONS
from run_readme import python_blocks

ROOT = Path(__file__).parents[1]
PAGES = [page for page in (ROOT / "README.md", *ROOT.glob("docs/*.md")) if python_blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_python_on_a_page_runs(page, tmp_path):
    runner = Path(__file__).with_name("run_readme.py")
    done = subprocess.run(
        [sys.executable, runner, page], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if page.stem == "README":
        assert (tmp_path / "model.keras").exists()


def test_the_pages_with_python_are_found():
    assert {page.stem for page in PAGES} >= {"README", "masks-and-shapes"}


def test_every_mutation_is_listed_with_the_test_that_noticed():
    page = (ROOT / "docs" / "testing.md").read_text()
    for mutation in MUTATIONS:
        test = mutation.noticed_by.split("::")[-1].partition("[")[0]
        assert f"| {mutation.what} |" in page, mutation.what
        assert f"`{test}`" in page, test
