"""The studies of this book: what is trained, on which points, judged where, over which widths.

A study's rows are committed in ``results/NAME.csv``, and chapters read them there;
:mod:`xsquared.studies.committed` runs, checks and reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from xsquared.functions import target
from xsquared.studies.line import LINE_PROTOCOLS, line_trials
from xsquared.studies.scaling import LINE, scaling_trials
from xsquared.studies.trial import Trial

_WIDTHS, _SEEDS = (4, 8, 16, 32, 64), 5
_POINTS = (
    "the gated-units paper's section 4.3: one network at each width from several seeds of data and "
    "starts, along a falling ridge; train_rmse is the error on the training points of the network "
    "that fits them best, test_rmse that of the one chosen on the validation points"
)


@dataclass(frozen=True)
class Study:
    """Trials that belong together.

    Attributes:
        name: of its files and on the command line.
        title: one line.
        protocols: what each protocol of its trials trains, and where it is judged.
        trials: all of them.
        sample: those that every test run repeats: narrow, quick, and agreed upon by processors.

    Raises:
        ValueError: a trial of a protocol that is not declared, or one that occurs twice.
    """

    name: str
    title: str
    protocols: Mapping[str, str]
    trials: tuple[Trial, ...]
    sample: tuple[Trial, ...]

    def __post_init__(self) -> None:
        if unknown := sorted({trial.protocol for trial in self.trials} - set(self.protocols)):
            raise ValueError(f"{self.name}: the protocol {unknown[0]!r} is not declared")
        if len(set(self.trials)) != len(self.trials) or not set(self.sample) <= set(self.trials):
            raise ValueError(f"{self.name}: expected each trial once, and a sample of them")


def smooth_trials(
    gates: tuple[str, ...] = ("relu", "gelu", "silu"),
    widths: tuple[int, ...] = (4, 8, 12),
    seeds: int = 3,
) -> tuple[Trial, ...]:
    """GLUs with several gates on the planar sine, by the protocol of the other problems."""
    return tuple(
        Trial(
            "glu",
            n,
            "sine",
            activation=gate,
            solver="ridge_path",
            seed=seed,
            protocol="points",
        )
        for n in widths
        for gate in gates
        for seed in range(seeds)
    )


def _narrow(trials: tuple[Trial, ...]) -> tuple[Trial, ...]:
    """The narrowest GLU on each problem with each gate and split, from one seed."""
    least = min(trial.n_hidden for trial in trials)
    narrow = (trial for trial in trials if (trial.n_hidden, trial.seed) == (least, 0))
    return tuple(trial for trial in narrow if trial.unit == "glu")


def _declared() -> tuple[Study, ...]:
    synthetic = [LINE, "sine", "friedman1", "friedman2", "friedman3"]
    dimensions = tuple(scaling_trials(synthetic, _WIDTHS, _SEEDS))
    tables = tuple(scaling_trials(["airfoil", "housing"], _WIDTHS, _SEEDS))
    smooth = smooth_trials()
    every = range(1, 51)
    line = tuple(
        trial
        for protocol in LINE_PROTOCOLS
        for trial in (
            *line_trials(protocol, every),
            *line_trials(protocol, (5, 10, 20, 35, 50), 1, budget=2),
        )
    ) + line_trials("trained", every, 1, target("1/(1 + 9*x**2)"))
    integral = {"integral": "the integral of the squared error of the paper's target"}
    return (
        Study(
            "line",
            "MLP, GLU and GQU of every width on the paper's target in one dimension",
            {name: text for name, (*_, text) in LINE_PROTOCOLS.items()},
            line,
            tuple(trial for trial in line if (trial.n_hidden, trial.seed) == (5, 0)),
        ),
        Study(
            "dimensions",
            "MLP, GLU and GQU on synthetic problems of one to five inputs",
            {"points": _POINTS} | integral,
            dimensions,
            _narrow(dimensions),
        ),
        Study(
            "tables",
            "MLP, GLU and GQU on two tables of measurements",
            {"points": _POINTS},
            tables,
            _narrow(tables),
        ),
        Study(
            "smooth_gates",
            "GLUs with ReLU, GELU and SiLU gates on a smooth target of two inputs",
            {"points": _POINTS},
            smooth,
            _narrow(smooth),
        ),
    )


#: Every study by name.
STUDIES: Mapping[str, Study] = MappingProxyType({study.name: study for study in _declared()})
