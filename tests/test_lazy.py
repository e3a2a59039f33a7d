"""What an import loads: no torch where it needs none, and no later layer."""

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


WITHOUT_FLINT = """
import sys
sys.modules["flint"] = None  # whatever is installed
from xsquared import fit, target
from xsquared.splines.optimal_knots import optimal_knots
from xsquared.studies import rows
from xsquared.studies.declared import find_study

f = target("sin(4*x)")
assert fit(f, "glu", 2).test_rmse >= optimal_knots(f, 3, 3, -1).rmse
assert (rows("certified_splines")["bound"] > 0).all()
print(find_study("certified_splines").missing())
import xsquared.splines.bounds
"""


def test_without_flint_only_new_certificates_fail_and_say_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_FLINT], capture_output=True, text=True
    )
    line = "certified bounds need python-flint: pip install 'xsquared[proofs]'"
    assert done.stdout.strip() == line
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {line}"
