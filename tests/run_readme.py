"""Runs the Python of a Markdown page, as its reader would: `python run_readme.py README.md`."""

import re
import sys
from pathlib import Path


def python_blocks(page):
    """The text of every Python block of the page."""
    return re.findall(r"^```python\n(.*?)^```", Path(page).read_text(), re.DOTALL | re.MULTILINE)


if __name__ == "__main__":
    blocks = python_blocks(sys.argv[1])
    if not blocks:
        sys.exit(f"{sys.argv[1]} has no Python in it")
    exec(compile("\n".join(blocks), sys.argv[1], "exec"))
