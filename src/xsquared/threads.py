"""One thread for numerical libraries, where what they compute is small.

Two threads on a small matrix wait for each other longer than they work; beside a
process that keeps a core busy a fit takes tens of times as long.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch, BLAS and OpenMP to one thread, then to what they had before."""
    threads = torch.get_num_threads()
    try:
        with threadpool_limits(limits=1):
            torch.set_num_threads(1)
            yield
    finally:
        torch.set_num_threads(threads)
