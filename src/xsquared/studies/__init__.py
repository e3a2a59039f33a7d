"""Long studies: many trials, here or on a cluster, stored one by one, resumable.

A study declares its trials in a module named in :mod:`xsquared.studies.declared`; its
rows are committed, and :func:`rows` gives them as a frame, a row a network, and
computes what is missing. Reading committed rows imports neither torch nor any study.
"""

from xsquared.studies.committed import rows
from xsquared.studies.declared import STUDIES, find_study
from xsquared.studies.sweep import Study, sweep

__all__ = ["STUDIES", "Study", "find_study", "rows", "sweep"]
