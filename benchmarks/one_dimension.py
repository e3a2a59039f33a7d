"""Time fits of the paper's target in one dimension.

Run from the root: ``python benchmarks/one_dimension.py [--newton 20]``. On one thread:
free knots at every width and unit, then beside the paper's Newton method, which takes
minutes.
"""

from __future__ import annotations

import argparse
import platform
import time

import numpy as np
import torch

from xsquared.data import sampled
from xsquared.functions import PAPER_TARGET
from xsquared.training import FreeKnots, Newton, fit

WIDTHS = range(1, 51)


def main() -> None:
    """Print errors and processor seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--newton", type=int, default=20, help="neurons for Newton; 0: leave out"
    )
    neurons = parser.parse_args().newton
    torch.set_num_threads(1)
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    print(f"{platform.machine()}, {versions}")
    data = sampled(PAPER_TARGET)
    for unit in ("mlp", "glu", "gqu"):
        start = time.process_time()
        errors = [fit(data, unit, n, solver=FreeKnots()).test_rmse for n in WIDTHS]
        spent = time.process_time() - start
        spread = f"median {np.median(errors):.2e}, widest {errors[-1]:.2e}"
        print(f"{unit}, n = 1..50: {spread}, {spent:.1f} s")
    for solver in (FreeKnots(), Newton()) if neurons else ():
        result = fit(data, "glu", neurons, solver=solver)
        spent = f"{result.test_rmse:.2e}, {result.seconds:.2f} s"
        print(f"glu, n = {neurons}, {solver.name}: {spent}")


if __name__ == "__main__":
    main()
