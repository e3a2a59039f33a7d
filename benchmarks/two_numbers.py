"""Compare gates with one number and with two: ``python benchmarks/two_numbers.py``.

Prints the committed rows of the study ``two_numbers`` as a table, errors by target and
their geometric means over SwiGLU's. With ``--seed N`` its six targets with poles are
drawn anew, and what is missing is computed: ten minutes of one core.
"""

import argparse

import numpy as np
import pandas as pd

from xsquared.studies import rows
from xsquared.studies.two_numbers import DRAWN, two_numbers_trials


def main() -> None:
    """Print the table of best and median errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=DRAWN)
    frame = rows("two_numbers", two_numbers_trials(parser.parse_args().seed))
    frame["unit"] = frame["unit"] + " " + frame["gate"]
    by = ["problem", "settings", "unit"]
    errors = frame.groupby(by, sort=False)["test_rmse"].agg(["min", "median"])
    pd.set_option("display.width", 200)
    for column, best in errors.items():
        table = best.unstack("unit", sort=False)
        table.index = [f"{text[:40]} {noise}" for text, noise in table.index]
        print(f"\n{column} of eight starts\n{table.T.to_string(float_format='%.1e')}")
        ratios = table.div(table["swiglu silu"], axis=0)
        for name, part in (("without noise", ratios[:9]), ("with noise", ratios[9:])):
            means = np.exp(np.log(part).mean())
            print(f"\nover SwiGLU, {name}:\n{means.to_string(float_format='%.3g')}")


if __name__ == "__main__":
    main()
