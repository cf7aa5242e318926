"""What every test needs before TensorFlow is imported."""

import os

# Some virtual machines announce AMX and do not allow it: a bfloat16 matmul would kill Python.
os.environ.setdefault("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import pytest
from combinations import OPTIONS, full_product, pairwise


@pytest.fixture(autouse=True)
def _same_numbers_every_time():
    keras.backend.clear_session()
    keras.utils.set_random_seed(0)


def pytest_addoption(parser):
    parser.addoption(
        "--all-combinations",
        action="store_true",
        help="test every combination of the blocks' options, not only every pair",
    )


def pytest_generate_tests(metafunc):
    if "options" in metafunc.fixturenames:
        every = metafunc.config.getoption("all_combinations")
        combinations = (full_product if every else pairwise)(OPTIONS)
        names = ["-".join(map(str, c.values())) for c in combinations]
        metafunc.parametrize("options", combinations, ids=names)
