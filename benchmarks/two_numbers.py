"""Compare gates with one number and with two: ``python benchmarks/two_numbers.py``.

Prints the committed rows of the study ``two_numbers``: geometric means of errors over
SwiGLU's, then best and median errors by target. With ``--seed N`` its six targets with
poles are drawn anew, and what is missing is computed: ten minutes of one core.
"""

import argparse

import pandas as pd

from xsquared.studies import rows
from xsquared.studies.two_numbers import DRAWN, over_swiglu, two_numbers_trials


def main() -> None:
    """Print the table of best and median errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=DRAWN)
    frame = rows("two_numbers", two_numbers_trials(parser.parse_args().seed))
    pd.set_option("display.width", 200)
    print(over_swiglu(frame).to_string(float_format="%.2g"))
    starts = frame.groupby(["problem", "settings", "unit", "gate"], sort=False)
    errors = starts["test_rmse"].agg(best="min", median="median")
    print(errors.to_string(float_format="%.1e"))


if __name__ == "__main__":
    main()
