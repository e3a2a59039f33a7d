"""Sweeps and studies: many trials, here or on a cluster, stored one by one, resumable.

A ``Trial`` says what to do, a function ``run_trial(trial)`` of an importable module does it and
returns numbers by name, and ``run_sweep`` keeps one ``Result`` per trial in a ``Store``. Results
belong to a fingerprint of what computed them. A ``Study`` is a declared set of trials whose rows
are committed; ``rows`` gives them as a frame, a row a network, and computes what is missing.

Modules import :mod:`xsquared` and, of this package, those named before them:
``language_models`` → ``trial`` → ``gates_replaced`` → ``store`` → ``provenance`` →
``executors`` → ``sweep`` → ``experiment`` → ``scaling`` → ``airfoil`` → ``ridges`` → ``line`` →
``learned_maps`` → ``optimal_knots`` → ``best_splines`` → ``certified_splines`` →
``misses`` → ``which_unit`` → ``peers`` → ``layer_features`` →
``small_models`` → ``declared`` → ``committed`` → ``speedrun``.
"""

from xsquared_studies.committed import rows
from xsquared_studies.declared import STUDIES, Study
from xsquared_studies.provenance import fingerprint
from xsquared_studies.store import Store, StoreError
from xsquared_studies.sweep import Report, run_sweep, to_frame
from xsquared_studies.trial import Result, Trial

__all__ = [
    "STUDIES",
    "Report",
    "Result",
    "Store",
    "StoreError",
    "Study",
    "Trial",
    "fingerprint",
    "rows",
    "run_sweep",
    "to_frame",
]
