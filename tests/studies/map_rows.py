"""Rows of the study ``map`` that are made up."""

import itertools

import numpy as np
import pandas as pd

from xsquared.studies.map import MAP, TRIPLES
from xsquared.studies.sweep import trial_key
from xsquared.units import find_unit


def made_rows(curvature: float, direction: float, scatter: float = 0.0) -> pd.DataFrame:
    """Errors of ReLU's triple on two targets, with steps that gain so much."""
    errors = dict(
        zip(
            TRIPLES["relu"],
            (1.0, 1 / curvature, 1 / curvature / direction),
            strict=True,
        )
    )
    return pd.DataFrame(
        {
            "problem": problem,
            "unit": unit,
            "gate": find_unit(unit).activation,
            "protocol": "soap",
            "size": size,
            "blocks": 0,
            "steps": 4000,
            "seed": seed,
            "test_rmse": error * (1 + scatter * (seed - 1))
            if unit == "pair"
            else error,
        }
        for problem, size, seed in itertools.product(
            ("products", "friedman"), (1000, 4000), range(3)
        )
        for unit, error in errors.items()
    )


def random_rows() -> pd.DataFrame:
    """A row a trial and seed on three targets, random errors, some trials left out."""
    rng = np.random.default_rng(0)
    trials = [
        {**trial, "seed": seed, "key": trial_key(trial)}
        for trial in MAP.trials()
        if trial["problem"] in ("friedman", "ridges16", "housing")
        for seed in range(2)
    ]
    rows = pd.DataFrame(trials).assign(test_rmse=rng.lognormal(size=len(trials)))
    return rows[rng.random(len(rows)) < 0.9].sample(frac=1, random_state=0)
