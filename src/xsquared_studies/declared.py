"""Which studies there are, and where each declares itself.

Its module holds a :class:`Study` under the study's name in capitals, beside the functions that make
and run its trials. It is imported when it is asked for: reading committed rows needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from xsquared_studies.sweep import Run, Trial

#: The module of every study, by the study's name.
STUDIES = {
    "line": "line",
    "quality": "line",
    "smooth_line": "line",
    "table1": "scaling",
    "as_drawn": "scaling",
    "smooth_gates": "scaling",
    "airfoil": "airfoil",
    "ridges": "ridges",
    "learned_maps": "learned_maps",
    "optimal_knots": "optimal_knots",
    "best_splines": "best_splines",
    "certified_splines": "certified_splines",
    "misses": "misses",
    "which_unit": "which_unit",
    "peers": "peers",
    "gates_replaced": "gates_replaced",
    "models_replaced": "gates_replaced",
    "segments": "gates_replaced",
    "layer_features": "layer_features",
    "small_models": "small_models",
}


@dataclass(frozen=True)
class Study:
    """Trials that belong together.

    Attributes:
        title: one line.
        protocols: what each protocol of its trials trains, and where it is judged.
        run: runs a trial.
        trials: makes all of them.
        sample: those that every test run repeats: narrow, quick, the same on every processor.
        missing: a line that says what to install; empty where nothing is missing.
    """

    title: str
    protocols: Mapping[str, str]
    run: Run
    trials: Callable[[], Sequence[Trial]]
    sample: Callable[[], Sequence[Trial]]
    missing: Callable[[], str] = field(default=str)


def find_study(name: str) -> Study:
    """Import a study of :data:`STUDIES`."""
    if name not in STUDIES:
        raise ValueError(f"unknown study {name!r}; known are {', '.join(STUDIES)}")
    found: Study = getattr(import_module(f"xsquared_studies.{STUDIES[name]}"), name.upper())
    return found
