"""What was predicted of the study ``map`` on 2026-11-28, as data to count.

That was before its first row.

From a few hundred networks trained before, of about 2,400 parameters in one layer and
25,000 in three blocks, with two seeds. Of each kind of target, trainer and network, the
effect of a step is a geometric mean over the targets of that kind, the seeds, the sizes
(one layer: 1,000 and 4,000 parameters, by ``solved`` 240 and 1,000; blocks: 4,000) and,
of smooth gates, GELU and SiLU. It is predicted to be at least :data:`PAYS` (+), at most
1 / PAYS (-), or between (0).
"""

from collections.abc import Mapping

#: The least ratio of errors that is called a gain, and its inverse a cost.
PAYS = 1.1
#: Gate and step of each sign in a word of :data:`PREDICTED`.
STEPS = (
    ("relu", "curvature"),
    ("relu", "direction"),
    ("smooth", "curvature"),
    ("smooth", "direction"),
)
#: By kind, trainer and network: the signs of the four steps.
PREDICTED: Mapping[tuple[str, str, str], str] = {
    ("ridges", "adamw", "layer"): "+---",
    ("ridges", "soap", "layer"): "+---",
    ("ridges", "solved", "layer"): "+-0-",
    ("ridges", "adamw", "blocks"): "+-0-",
    ("ridges", "soap", "blocks"): "+-0-",
    ("ridges", "muon", "blocks"): "+-0-",
    ("engineering", "adamw", "layer"): "+0++",
    ("engineering", "soap", "layer"): "+-++",
    ("engineering", "solved", "layer"): "+0++",
    ("engineering", "adamw", "blocks"): "+000",
    ("engineering", "soap", "blocks"): "+000",
    ("engineering", "muon", "blocks"): "++0+",
    ("products of inputs", "adamw", "layer"): "++++",
    ("products of inputs", "soap", "layer"): "++++",
    ("products of inputs", "solved", "layer"): "++++",
    ("products of inputs", "adamw", "blocks"): "+++0",
    ("products of inputs", "soap", "blocks"): "+0++",
    ("products of inputs", "muon", "blocks"): "++++",
    ("products of functions", "adamw", "layer"): "--0-",
    ("products of functions", "soap", "layer"): "0-0-",
    ("products of functions", "solved", "layer"): "0-0-",
    ("products of functions", "adamw", "blocks"): "000-",
    ("products of functions", "soap", "blocks"): "0-0-",
    ("products of functions", "muon", "blocks"): "0-0-",
    ("tables", "adamw", "layer"): "0000",
    ("tables", "soap", "layer"): "0000",
    ("tables", "solved", "layer"): "0000",
    ("tables", "adamw", "blocks"): "0000",
    ("tables", "soap", "blocks"): "0000",
    ("tables", "muon", "blocks"): "0000",
}
