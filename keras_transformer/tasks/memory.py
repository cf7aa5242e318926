"""Memory that is kept between steps instead of being given back and asked for again."""

import ctypes
import sys

# The names of glibc's malloc.h.
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -2, -3, -4, -8
LARGEST_INT = 2**31 - 1
LARGEST_THRESHOLD = 2**25  # glibc's own limit


def keep_memory(together=True):
    """Tells glibc to keep freed memory; where there is no glibc, nothing happens.

    A training step frees and allocates hundreds of megabytes. By default each large block is mapped
    anew, and the kernel fills it with zeros page by page: half the time of a step on two cores. Has
    to come before TensorFlow starts its threads.

    Args:
        together: whether all threads take from one store, blocks of any size. Decoding takes many
            small ones, and its threads would wait for each other at the door.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_TRIM_THRESHOLD, LARGEST_INT)
    if not together:
        mallopt(M_MMAP_THRESHOLD, LARGEST_THRESHOLD)
        return
    mallopt(M_MMAP_MAX, 0)
    mallopt(M_TOP_PAD, 256 * 2**20)
    mallopt(M_ARENA_MAX, 1)
