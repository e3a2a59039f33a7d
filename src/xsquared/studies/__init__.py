"""Sweeps: many trials, on this machine or a cluster, stored one by one, resumed where they stopped.

A ``Trial`` says what to do, a function ``run_trial(trial)`` of an importable module does it and
returns numbers by name, and ``run_sweep`` keeps one ``Result`` per trial in a ``Store``. Results
belong to a fingerprint of the sources that made them.
"""

from xsquared.studies.provenance import fingerprint
from xsquared.studies.store import Store, StoreError
from xsquared.studies.sweep import Report, export_parquet, run_sweep, to_frame
from xsquared.studies.trial import Result, Trial

__all__ = [
    "Report",
    "Result",
    "Store",
    "StoreError",
    "Trial",
    "export_parquet",
    "fingerprint",
    "run_sweep",
    "to_frame",
]
