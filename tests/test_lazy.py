"""What an import loads: the numerics without torch where they need none, and no later
layer.
"""

import subprocess
import sys

import pytest

import xsquared


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import xsquared", ["torch", "sympy", "sklearn", "xsquared.studies"]),
        ("import xsquared.splines.bounds, xsquared.splines.density", ["torch"]),
        (
            "from xsquared.studies import rows; rows('line')",
            ["torch", "dask", "xsquared.book"],
        ),
        (
            "from xsquared import fit",
            ["dask", "IPython", "sklearn", "xsquared.studies"],
        ),
    ],
)
def test_what_is_not_needed_is_not_loaded(statement: str, absent: list[str]) -> None:
    code = f"import sys; {statement}; print(*{{*sys.modules}} & {{*{absent!r}}})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(getattr(xsquared, name) is not None for name in xsquared.__all__)
    with pytest.raises(AttributeError, match="no attribute 'fits'"):
        _ = xsquared.fits
