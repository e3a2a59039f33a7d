"""The environment of a process that computes: a chapter's kernel, or a worker of a sweep.

It is read when a process starts, so it is for whoever starts one.
"""

from __future__ import annotations

#: One thread, so that several side by side do not fight for cores, and sums keep the same order of
#: addition whatever the machine's number of cores. And freed memory stays with the process: by its
#: defaults glibc gives it back to the system and asks for it again with the next array of the same
#: size, which takes a quarter to a third of a training's time. Other allocators do not read this.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_TRIM_THRESHOLD_": str(2**30),
    "MALLOC_MMAP_THRESHOLD_": str(2**25),
}
