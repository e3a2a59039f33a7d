"""Networks of one input: every unit at every width, trained in five ways, judged in
one.

Figs. 3 to 5 of the gated-units paper, which does not record how its networks were
trained; two of the protocols are reconstructions. Beside them ``smooth_line`` has gates
without hinges.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from xsquared.functions import PAPER_TARGET, Target, target
from xsquared.studies.experiment import make_trial, run_trial
from xsquared.studies.sweep import Study, Trial
from xsquared.training import solver_from
from xsquared.units import PAPER_UNITS

#: By the protocol's name: fields of a trial and settings of its solver, seeds, what is
#: trained how.
LINE_PROTOCOLS: Mapping[str, tuple[Mapping[str, Any], int, str]] = {
    "trained": ({"solver": "free_knots"}, 3,
        "all weights, by variable projection on the integral of the squared error"),
    "frozen": ({"solver": "free_knots", "gates": "frozen"}, 1,
        "all weights but the gates, which stay on the paper's equidistant hinges; the least "
        "integral, for the GQU from factors that vanish at the hinges"),
    "newton": ({"solver": "newton", "gates": "frozen", "points": 1000, "max_iterations": 10}, 1,
        "the same weights by Newton's method layer by layer on 1,000 points, at most 10 sweeps"),
    "newton-gates": ({"solver": "newton", "points": 1000, "joint": False, "max_iterations": 5}, 1,
        "the same, at most 5 sweeps, and then as many with the gates as one more layer"),
    "varpro": ({"solver": "varpro", "points": 1000}, 1,
        "all weights, by variable projection on 1,000 points from random gates"),
}  # fmt: skip


def line_trials(
    protocol: str,
    widths: Sequence[int],
    seeds: int | None = None,
    target: Target = PAPER_TARGET,
    budget: int = 1,
) -> list[Trial]:
    """List every unit of the paper on a target of one input, for the protocol's seeds
    where None.

    ``integral_rmse`` is judged; a budget multiplies the solver's iterations and starts.
    """
    fields, own_seeds, _ = LINE_PROTOCOLS[protocol]
    settings = dict(fields)
    names = {"solver", "gates", "points"} & set(settings)
    own: dict[str, Any] = {name: settings.pop(name) for name in names}
    if budget > 1:
        known = vars(solver_from(own["solver"], settings))
        longer = ("max_iterations", "starts", "directions")
        settings |= {name: budget * known[name] for name in longer if name in known}
    own |= {
        "protocol": protocol,
        "domain": target.domain,
        "split": "paper",
        "settings": settings,
    }
    return [
        make_trial(str(target.expression), unit, n, seed=seed, **own)
        for n in widths
        for unit in PAPER_UNITS
        for seed in range(own_seeds if seeds is None else seeds)
    ]


def _all_line_trials() -> list[Trial]:
    trials = line_trials("trained", range(1, 51), 1, target("1/(1 + 9*x**2)"))
    for protocol in LINE_PROTOCOLS:
        seeds = (
            4 if protocol == "newton-gates" else None
        )  # three more, as an alternative
        trials += line_trials(protocol, range(1, 51), seeds)
        trials += line_trials(protocol, (5, 10, 20, 35, 50), 1, budget=2)
    return trials


LINE = Study(
    "MLP, GLU and GQU of every width on the paper's target in one dimension",
    {name: text for name, (*_, text) in LINE_PROTOCOLS.items()},
    run_trial,
    _all_line_trials,
    # Wider fits from random gates end elsewhere on other processors.
    lambda: [
        trial
        for protocol in LINE_PROTOCOLS
        for trial in line_trials(protocol, [2 if protocol == "varpro" else 5], 1)
    ],
)


def smooth_line_trials(
    widths: Sequence[int] = (4, 8, 12, 16, 24, 32, 64), seeds: int = 10
) -> list[Trial]:
    """List MLPs with smooth gates of bounded sharpness on the paper's target and
    Runge's.
    """
    bounded = {"ridge": 1e-14, "sharpest": 16.0, "starts": 1}
    same: Any = {"domain": ((-1, 1),), "split": "paper", "points": 500}
    return [
        make_trial(text, "mlp", n, "varpro", "smooth", gate=gate, gates=gates, seed=seed,
                   settings={"max_iterations": budget, **bounded}, **same)
        for n in widths
        for text in (str(PAPER_TARGET.expression), "1/(1+25*x**2)")
        for gate in ("gelu", "silu")
        for gates, budget in (("frozen", 1), ("trained", 300), ("trained", 600))
        for seed in range(seeds)
    ]  # fmt: skip


SMOOTH_LINE = Study(
    "MLPs with GELU and SiLU gates on two analytic targets of one input",
    {
        "smooth": "gates that start no sharper than 16, trained or frozen; on the training points"
    },
    run_trial,
    smooth_line_trials,
    # Linear least squares, which every processor solves alike.
    lambda: [
        trial for trial in smooth_line_trials((8,), 1) if trial["gates"] == "frozen"
    ],
)
