"""The studies of this book: what is trained, on which points, judged where, over which widths.

A study's rows are committed in ``results/NAME.csv``, and chapters read them there;
:mod:`xsquared_studies.committed` runs, checks and reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from xsquared.data.problems import PROBLEMS
from xsquared.functions import PAPER_TARGET, target
from xsquared.units import PAPER_UNITS
from xsquared_studies.airfoil import AIRFOIL_PROTOCOLS, airfoil_trials, run_airfoil
from xsquared_studies.best_splines import (
    CELLS,
    LAW_TARGETS,
    WIDE,
    best_trials,
    beyond,
    random_targets,
    run_search,
)
from xsquared_studies.certified_splines import NEURONS, certified_trials, run_certified
from xsquared_studies.executors import RunTrial
from xsquared_studies.experiment import run_trial
from xsquared_studies.gates_replaced import (
    MODEL_PROTOCOLS,
    REPLACED_PROTOCOLS,
    SEGMENT_PROTOCOLS,
    model_trials,
    replaced_trials,
    run_model,
    run_replaced,
    run_segments,
    segment_trials,
)
from xsquared_studies.language_models import missing
from xsquared_studies.layer_features import FEATURE_PROTOCOLS, feature_trials, run_features
from xsquared_studies.learned_maps import PROTOCOLS as MAP_PROTOCOLS
from xsquared_studies.learned_maps import corner_trials, map_trials, run_map
from xsquared_studies.line import LINE_PROTOCOLS, line_trials
from xsquared_studies.misses import all_targets, miss_trials, run_misses
from xsquared_studies.optimal_knots import knot_trials, run_knots
from xsquared_studies.peers import peer_trials, pwlf_missing, run_peer
from xsquared_studies.ridges import RIDGE_PROTOCOLS, ridge_trials, run_ridges
from xsquared_studies.scaling import SCALING_PROTOCOLS, WIDTHS, run_scaling, scaling_trials
from xsquared_studies.small_models import LANGUAGE_PROTOCOLS, language_trials, run_language
from xsquared_studies.trial import Trial
from xsquared_studies.which_unit import COMPARED, SMOOTH_GATES, run_which, which_trials
from xsquared_studies.which_unit import PROTOCOLS as WHICH_PROTOCOLS

#: The problems of the gated-units paper's Figs. 6 and 7.
SYNTHETIC, TABLES = ("sine", "friedman1", "friedman2", "friedman3"), ("airfoil", "housing")
#: Problems of ours: Runge's, no short sum of ridge functions, and Friedman 1 with idle inputs.
OTHERS = ("runge", "friedman1_10")
#: Seeds of data and starts: for the paper's problems; for others and for comparisons.
SEEDS, FEWER_SEEDS = 10, 3


#: By problem and unit of Table 1: widths of the paper's points, from the first to the last that go
#: into the slope it prints.
DRAWN_WIDTHS: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("sine", "mlp"): (20, 26, 34, 44, 58, 76, 99),
    ("sine", "glu"): (10, 14, 20, 28, 40, 57, 80),
    ("friedman1", "mlp"): (10, 22, 46, 94, 200, 425, 899),
    ("friedman1", "glu"): (10, 16, 28, 46, 73, 121, 199),
    ("friedman2", "mlp"): (10, 22, 46, 94, 199, 423, 897),
    ("friedman2", "glu"): (10, 19, 31, 55, 97, 169, 298),
    ("friedman3", "mlp"): (10, 22, 46, 94, 199, 423, 897),
    ("friedman3", "glu"): (10, 19, 31, 55, 97, 169, 298),
    ("airfoil", "mlp"): (10, 19, 37, 70, 136, 257, 495),
    ("airfoil", "glu"): (10, 16, 22, 31, 46, 67, 100),
    ("housing", "mlp"): (10, 19, 31, 61, 100, 199, 299),
    ("housing", "glu"): (10, 19, 31, 61, 100, 187),
}


#: Targets of one variable of every kind: smooth, oscillating, steep, kinked, singular, scaled.
QUALITY_TARGETS: tuple[tuple[str, tuple[float, float]], ...] = (
    ("exp(x)", (-1, 1)),
    ("exp(2*x)*x", (-1, 1)),
    ("exp(-3*x)", (-1, 1)),
    ("sin(3*x)", (-1, 1)),
    ("cos(5*x) + x", (-1, 1)),
    ("erf(3*x)", (-1, 1)),
    ("x**3 - x", (-2, 1)),
    ("x**5 - x**3", (-1, 1)),
    ("1/(1 + cos(pi*x)**2)", (-1, 1)),
    ("1/(1 + 9*x**2)", (-1, 1)),
    ("sin(20*x)", (-1, 1)),
    ("sin(x**2)", (0, 6)),
    ("cos(30*x)*exp(-x**2)", (-1, 1)),
    ("tanh(50*x)", (-1, 1)),
    ("atan(100*(x - 0.3))", (-1, 1)),
    ("exp(-400*x**2)", (-1, 1)),
    ("1/(0.001 + x**2)", (-1, 1)),
    ("x**100", (-1, 1)),
    ("exp(-20*x)", (0, 1)),
    ("abs(x)", (-1, 1)),
    ("abs(x - 0.3) + x**2", (-1, 1)),
    ("abs(sin(4*x))", (-1, 1)),
    ("abs(x)**0.6", (-1, 1)),
    ("sqrt(x)", (0, 1)),
    ("x**0.1", (0, 1)),
    ("sqrt(1 - x**2)", (-1, 1)),
    ("acos(x)", (-1, 1)),
    ("x*log(x)", (1e-9, 1)),
    ("log(x)", (1e-4, 1)),
    ("10**12*exp(x)", (-1, 1)),
    ("10**(-12)*sin(3*x)", (-1, 1)),
    ("sin(x)", (1000, 1003)),
    ("log(x)", (100, 1000)),
    ("sin(10**6*x)", (0, 1e-5)),
)


@dataclass(frozen=True)
class Study:
    """Trials that belong together.

    Attributes:
        name: of its files and on the command line.
        title: one line.
        protocols: what each protocol of its trials trains, and where it is judged.
        trials: all of them.
        sample: what every test run repeats: narrow, quick, and the same on every processor.
        run: runs one of them.
        missing: a line that says what to install; empty where nothing is missing.

    Raises:
        ValueError: a trial of a protocol that is not declared, or one that occurs twice.
    """

    name: str
    title: str
    protocols: Mapping[str, str]
    trials: tuple[Trial, ...]
    sample: tuple[Trial, ...]
    run: RunTrial = field(default_factory=lambda: run_trial)
    missing: Callable[[], str] = field(default_factory=lambda: str)

    def __post_init__(self) -> None:
        if unknown := sorted({trial.protocol for trial in self.trials} - set(self.protocols)):
            raise ValueError(f"{self.name}: the protocol {unknown[0]!r} is not declared")
        if len(set(self.trials)) != len(self.trials) or not set(self.sample) <= set(self.trials):
            raise ValueError(f"{self.name}: expected each trial once, and a sample of them")


def table1_trials(
    problems: Sequence[str] = SYNTHETIC + TABLES,
    widths: Sequence[int] = WIDTHS,
    seeds: int = SEEDS,
) -> tuple[Trial, ...]:
    """Every trial behind Table 1, seed after seed; of tables by the paper's split as well.

    Of :data:`OTHERS`, if among the problems, held-out ones only. GQUs end at 32 neurons, with about
    the parameters of a GLU of 46.
    """
    sizes = {unit: tuple(widths) for unit in ("mlp", "glu")}
    sizes["gqu"] = tuple(n for n in widths if n <= 32)
    tables = [name for name in problems if PROBLEMS[name].kind == "table"]
    theirs = [name for name in problems if name not in OTHERS]
    trials = [
        trial
        for protocol, names in (("held-out", problems), ("paper", tables), ("author", theirs))
        for unit in PAPER_UNITS
        if sizes[unit]
        for trial in scaling_trials(names, sizes[unit], seeds, protocol, (unit,))
    ]
    return tuple(sorted(trials, key=lambda trial: trial.seed))


def curve_trials(seeds: int = FEWER_SEEDS) -> tuple[Trial, ...]:
    """MLPs and GLUs of up to 32 neurons on parts of the tables' training rows."""
    parts = {"airfoil": (120, 240, 480), "housing": (250, 500, 1000)}
    return tuple(
        replace(trial, points=points)
        for name, counts in parts.items()
        for points in counts
        for trial in scaling_trials((name,), (1, 2, 4, 8, 16, 32), seeds, units=("mlp", "glu"))
    )


def smooth_trials(
    gates: Sequence[str] = ("relu", "gelu", "silu"),
    widths: Sequence[int] = (1, 2, 4, 8, 16),
    seeds: int = FEWER_SEEDS,
) -> tuple[Trial, ...]:
    """GLUs with several gates on a smooth target of the plane and on one with a kink.

    8,000 points and a ridge of 1e-14: with 2,000 and growth's own, these limit smooth gates.
    """
    trials = [
        trial
        for gate in gates
        for trial in scaling_trials(
            ("sine", "kink"),
            widths,
            seeds,
            units=("glu",),
            activation=gate,
            points=8000,
            ridge=1e-14,
        )
    ]
    return tuple(sorted(trials, key=lambda trial: trial.seed))


#: Analytic targets of one variable: the paper's, and Runge's function.
SMOOTH_TARGETS = (str(PAPER_TARGET.expression), "1/(1+25*x**2)")


def smooth_line_trials(
    widths: tuple[int, ...] = (4, 8, 12, 16, 24, 32, 64), seeds: int = 10
) -> tuple[Trial, ...]:
    """One-dimensional MLPs with smooth gates of bounded sharpness, trained and frozen."""
    return tuple(
        Trial(
            "mlp",
            n,
            expression=expression,
            domain=((-1.0, 1.0),),
            activation=gate,
            settings=(
                ("max_iterations", budget),
                ("ridge", 1e-14),
                ("sharpest", 16.0),
                ("starts", 1),
            ),
            gates="frozen" if budget == 1 else "trained",
            split="paper",
            points=500,
            seed=seed,
            protocol="smooth",
        )
        for n in widths
        for expression in SMOOTH_TARGETS
        for gate in ("gelu", "silu")
        for budget in (1, 300, 600)
        for seed in range(seeds)
    )


def quality_trials() -> tuple[Trial, ...]:
    """Free knots for every target and unit, and variable projection on 400 points beside them."""
    return tuple(
        Trial(
            unit,
            n,
            expression=text,
            domain=(domain,),
            solver=solver,
            split="paper",
            points=400,
            protocol=protocol,
        )
        for text, domain in QUALITY_TARGETS
        for unit in ("mlp", "glu", "gqu")
        for n in (1, 2, 3, 5, 8, 20, 50)
        for solver, protocol in (("free_knots", "integral"), ("varpro", "equidistant"))
        if solver == "free_knots" or n <= 20
    )


def _grown() -> dict[str, str]:
    return {name: SCALING_PROTOCOLS[name][-1] for name in ("held-out", "paper", "author")}


def _line() -> Study:
    every = range(1, 51)
    trials = tuple(
        trial
        for protocol in LINE_PROTOCOLS
        for trial in (
            # Three seeds more, as an alternative.
            *line_trials(protocol, every, 4 if protocol == "newton-gates" else None),
            *line_trials(protocol, (5, 10, 20, 35, 50), 1, budget=2),
        )
    ) + line_trials("trained", every, 1, target("1/(1 + 9*x**2)"))
    return Study(
        "line",
        "MLP, GLU and GQU of every width on the paper's target in one dimension",
        {name: text for name, (*_, text) in LINE_PROTOCOLS.items()},
        trials,
        # Wider fits from random gates end elsewhere on other processors.
        tuple(
            trial
            for trial in trials
            if (trial.n_hidden, trial.seed) == (2 if trial.protocol == "varpro" else 5, 0)
        ),
    )


def _table1() -> Study:
    # Runs that end early, for the sample.
    narrow = tuple(trial for trial in table1_trials(widths=(2,), seeds=2) if trial.unit == "glu")
    others = table1_trials(OTHERS, seeds=FEWER_SEEDS)
    return Study(
        "table1",
        "MLP, GLU and GQU on problems of two to eight inputs",
        _grown(),
        (*narrow, *table1_trials(), *others, *curve_trials()),
        tuple(trial for trial in narrow if trial.seed == 0),
        run_scaling,
    )


def drawn_trials(seeds: int = SEEDS) -> tuple[Trial, ...]:
    """Gates as drawn for every cell of Table 1; California Housing by all rows and by the first."""
    return tuple(
        trial
        for (problem, unit), widths in DRAWN_WIDTHS.items()
        for points in ((20_640, 2_000) if problem == "housing" else (None,))
        for trial in scaling_trials([problem], widths, seeds, "as-drawn", (unit,), points=points)
    )


def _as_drawn() -> Study:
    trials = drawn_trials()
    quick = [t for t in trials if (t.problem, t.seed) in (("sine", 0), ("airfoil", 0))]
    return Study(
        "as_drawn",
        "Table 1 with gates as drawn, at widths of the paper's points",
        {"as-drawn": SCALING_PROTOCOLS["as-drawn"][-1]},
        trials,
        tuple(quick[1:]),
        run_scaling,
    )


def _smooth_gates() -> Study:
    narrow = smooth_trials(widths=(2,), seeds=2)
    return Study(
        "smooth_gates",
        "GLUs with ReLU, GELU and SiLU gates on two targets of two inputs",
        {"held-out": f"{_grown()['held-out']}; 8,000 points, and a ridge of 1e-14"},
        (*narrow, *smooth_trials()),
        tuple(trial for trial in narrow if trial.seed == 0 and trial.problem == "kink"),
        run_scaling,
    )


def _airfoil() -> Study:
    narrow = airfoil_trials(widths=(2,), seeds=1)
    return Study(
        "airfoil",
        "MLP, GLU and GQU on the airfoils, held out by row and by sweep",
        AIRFOIL_PROTOCOLS,
        (*narrow, *airfoil_trials()),
        tuple(trial for trial in narrow if trial.unit == "glu"),
        run_airfoil,
    )


def _ridges() -> Study:
    trials = ridge_trials()
    return Study(
        "ridges",
        "The waves on a plane as two ridge functions, and trained from there",
        RIDGE_PROTOCOLS,
        trials,
        tuple(trial for trial in trials if (trial.unit, trial.n_hidden) == ("glu", 8))[:2],
        run_ridges,
    )


def _smooth_line() -> Study:
    trials = smooth_line_trials()
    return Study(
        "smooth_line",
        "MLPs with GELU and SiLU gates on two analytic targets of one input",
        {
            "smooth": "gates that start and stay no sharper than abs(G) = 16, by variable "
            "projection with a ridge of 1e-14, once and with twice the iterations; and the "
            "same starts frozen; judged on the 500 training points"
        },
        trials,
        # Linear least squares, which every processor solves alike.
        tuple(t for t in trials if (t.gates, t.n_hidden, t.seed) == ("frozen", 8, 0)),
    )


def _learned_maps() -> Study:
    short = map_trials("short", (2,), (8,))
    return Study(
        "learned_maps",
        "Two networks whose product is fitted to GELU(W x), wide enough for their features",
        MAP_PROTOCOLS,
        (
            *short,
            *map_trials(),
            *corner_trials(),
            *map_trials("optimal", features=(16, 64)),
        ),
        short,
        run_map,
    )


def _quality() -> Study:
    trials = quality_trials()
    return Study(
        "quality",
        "MLP, GLU and GQU on targets of one variable of every kind",
        {
            "integral": "the integral of the squared error; integral_rmse is judged",
            "equidistant": "400 equidistant points; integral_rmse is judged",
        },
        trials,
        tuple(t for t in trials if (t.n_hidden, t.solver) == (5, "free_knots"))[::12],
    )


def _optimal_knots() -> Study:
    trials = knot_trials()
    narrow = {("mlp", 3), ("glu", 9), ("gqu", 17)}
    return Study(
        "optimal_knots",
        "Knots of the best splines found, in millionths of the interval, and their RMSE",
        {
            "knots": "the best spline of n cells for the unit's order and continuity, n - 1 knots "
            "inside, by the integral of the squared error"
        },
        trials,
        tuple(trial for trial in trials if (trial.unit, trial.n_hidden) in narrow),
        run_knots,
    )


def _best_splines() -> Study:
    narrow = best_trials(LAW_TARGETS[1:2], (4,))
    return Study(
        "best_splines",
        "Least errors of splines with free knots, by dynamic programming",
        {
            "search": "the best spline of n cells for the unit's order and continuity, by "
            "dynamic programming over places of the knots, from the target's values"
        },
        (
            *narrow,
            *best_trials(LAW_TARGETS, CELLS),
            *best_trials(random_targets()[0], (WIDE,)),
            *best_trials(beyond(), (WIDE,), ("mlp",)),
        ),
        narrow,
        run_search,
    )


def _certified_splines() -> Study:
    return Study(
        "certified_splines",
        "Least errors of splines that meet, from above and from below",
        {
            "certified": "the best spline found for the unit's order and continuity, of n + 1 "
            "pieces, and a lower bound for all of them, wherever their knots are"
        },
        certified_trials(),
        certified_trials(neurons=NEURONS[:1]),
        run_certified,
    )


def _misses() -> Study:
    trials = miss_trials(all_targets())
    return Study(
        "misses",
        "Narrow networks of least error found, and those of another search",
        {
            "missed": "free knots, the integral of the squared error; integral_rmse is judged, "
            "against that of a differential evolution of 1,000 candidates a neuron and one descent",
            "fresh": "the same, on 20 random targets that were drawn after the last change of the "
            "solver",
        },
        trials,
        # One that the search does not beat, whatever the processor.
        tuple(t for t in trials if (t.expression, t.unit, t.n_hidden) == ("sin(3*x)", "mlp", 3)),
        run_misses,
    )


def _which_unit() -> Study:
    narrow = which_trials(kinds=("smooth",), sizes={1: (11,)}, seeds=1)
    few, kinds, sizes = FEWER_SEEDS, ("smooth", "kinked"), {1: (50, 85, 142)}
    unbounded = which_trials(SMOOTH_GATES, (*kinds, "jump"), sizes, few, "unbounded")
    longer = which_trials(COMPARED, kinds, {2: (120,), 5: (172,)}, few, "longer")
    others = [
        trial
        for protocol in ("adamw", "lbfgs")
        for trial in which_trials(COMPARED, ("smooth",), {1: (106,), 2: (120,)}, few, protocol)
    ]
    return Study(
        "which_unit",
        "Ten units on five kinds of target at equal numbers of parameters",
        WHICH_PROTOCOLS,
        (*narrow, *which_trials(), *unbounded, *others, *longer),
        narrow,
        run_which,
    )


def _peers() -> Study:
    trials = peer_trials()
    says = "the largest size of which_unit, ridges, seed 0; judged on held-out points without noise"
    return Study(
        "peers",
        "What one would use instead of a unit, and four units",
        {"peers": says},
        trials,
        tuple(trial for trial in trials if trial.solver == "splines"),
        run_peer,
        pwlf_missing,
    )


def _gates_replaced() -> Study:
    trials = replaced_trials()
    return Study(
        "gates_replaced",
        "Feed-forward layers of two transformers with another gate in place of their own",
        REPLACED_PROTOCOLS,
        trials,
        tuple(trial for trial in trials[:6] if trial.solver in ("line", "cubic")),
        run_replaced,
        missing,
    )


def _models_replaced() -> Study:
    trials = model_trials()
    return Study(
        "models_replaced",
        "Two transformers with other gates in all layers",
        MODEL_PROTOCOLS,
        trials,
        tuple(t for t in trials if ("model", "minilm") in t.settings and t.solver == "cubic"),
        run_model,
        missing,
    )


def _segments() -> Study:
    trials = segment_trials()
    return Study(
        "segments",
        "Polynomials along segments between a transformer's tokens, in place of a layer",
        SEGMENT_PROTOCOLS,
        trials,
        trials[2:3],
        run_segments,
        missing,
    )


def _layer_features() -> Study:
    trials = feature_trials()
    return Study(
        "layer_features",
        "How few features the gates of two transformers' layers need, and normal inputs' law",
        FEATURE_PROTOCOLS,
        trials,
        tuple(t for t in trials[:8] if t.protocol in ("tokens", "law")),
        run_features,
        missing,
    )


def _small_models() -> Study:
    trials = language_trials()
    return Study(
        "small_models",
        "Small language models of characters with six units, tuned at four sizes",
        LANGUAGE_PROTOCOLS,
        trials,
        trials[:1],
        run_language,
        missing,
    )


class _Studies(Mapping[str, Study]):
    """Each study is declared when it is asked for: some have more than a thousand trials."""

    def __init__(self, *declare: Callable[[], Study]) -> None:
        self._declare = {one.__name__.removeprefix("_"): cache(one) for one in declare}

    def __getitem__(self, name: str) -> Study:
        return self._declare[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._declare)

    def __len__(self) -> int:
        return len(self._declare)


#: Every study by name.
#:
#: :meta hide-value:
STUDIES: Mapping[str, Study] = _Studies(
    _line,
    _table1,
    _as_drawn,
    _smooth_gates,
    _airfoil,
    _ridges,
    _smooth_line,
    _learned_maps,
    _quality,
    _optimal_knots,
    _best_splines,
    _certified_splines,
    _misses,
    _which_unit,
    _peers,
    _gates_replaced,
    _models_replaced,
    _segments,
    _layer_features,
    _small_models,
)
