"""Which studies there are, and where each declares itself.

Its module holds a :class:`~xsquared.studies.sweep.Study` under the study's name in
capitals, beside the functions that make and run its trials. It is imported when it is
asked for: reading committed rows needs none.
"""

from importlib import import_module

from xsquared.studies.sweep import Study

#: The module of every study, by the study's name.
STUDIES = {
    "line": "line",
    "smooth_line": "line",
    "table1": "scaling",
    "gates_replaced": "gates_replaced",
    "models_replaced": "gates_replaced",
    "segments": "segments",
    "airfoil": "airfoil",
    "learned_maps": "learned_maps",
    "certified_splines": "certified_splines",
    "trainers": "trainers",
    "peers": "peers",
    "small_models": "small_models",
    "controls": "gates_replaced",
    "curves": "curves",
    "as_published": "published",
    "published_line": "published_line",
    "map": "map",
    "map_checks": "map_checks",
    "two_numbers": "two_numbers",
    "poles": "poles",
}


def find_study(name: str) -> Study:
    """Import a study of :data:`STUDIES` by its name."""
    if name not in STUDIES:
        raise ValueError(f"unknown study {name!r}; known are {', '.join(STUDIES)}")
    module = import_module(f"xsquared.studies.{STUDIES[name]}")
    study: Study = getattr(module, name.upper())
    return study
