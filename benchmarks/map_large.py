"""Train the map's blocks at 100,000 parameters: the triples of ReLU and SiLU.

Run from the root: ``python benchmarks/map_large.py rows.csv``, on a GPU if there is
one; with ``--steps 20 --problems housing`` it tries itself on a processor. Protocol,
grids and judgement are those of the study ``map`` (its docstring), two blocks on a
stream of 79 numbers, by AdamW, SOAP and Muon, one target a kind. A row a network is
appended to the file, a trial at a time; trials that it has are not run again.
"""

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from xsquared.data import Dataset
from xsquared.studies.blocks import ResidualNetwork, block_neurons
from xsquared.studies.map import (
    BATCH,
    BLOCKS,
    FEW,
    RATES,
    SEEDS,
    STEPS,
    beyond,
    judged,
)
from xsquared.studies.map_targets import FIRST, TARGETS, draw_points
from xsquared.studies.optimisers import Muon, Soap
from xsquared.training.adamw import (
    Adam,
    Optimiser,
    batch_losses,
    torch_start,
    train_stack,
)
from xsquared.units import find_unit

#: Two blocks have about 16 times the square of this many parameters.
STREAM = 79
SIZE = 100_000


def main() -> None:
    """Train what the file lacks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--problems", nargs="+", choices=TARGETS, default=FIRST)
    parser.add_argument("--steps", type=int, default=STEPS)
    asked = parser.parse_args()
    case = ["problem", "unit", "gate", "protocol"]
    known = pd.read_csv(asked.file)[case] if asked.file.exists() else pd.DataFrame()
    for problem, protocol, unit in product(
        asked.problems, ("adamw", "soap", "muon"), FEW
    ):
        record = find_unit(unit)
        trial = (problem, record.name, record.activation, protocol)
        if trial in set(known.itertuples(index=False, name=None)):
            continue
        networks = train_and_judge(*trial, asked.steps)
        frame = pd.DataFrame(dict(zip(case, trial, strict=True)) | networks)
        frame.to_csv(asked.file, mode="a", index=False, header=not asked.file.exists())
        print(*trial, *networks["test_rmse"])


def train_and_judge(
    problem: str, unit: str, gate: str, protocol: str, steps: int
) -> dict[str, Any]:
    """Train at rates that grow until the best is inside; judge it, a row a seed."""
    record, target = find_unit(unit, gate), TARGETS[problem]
    neurons = block_neurons(record, STREAM)
    module = ResidualNetwork(
        record, target.inputs, STREAM, neurons, BLOCKS, target.outputs
    )
    data = [draw_points(problem, seed) for seed in range(SEEDS)]
    weights: dict[int, Tensor] = {}
    scores: dict[int, float] = {}
    missing = list(RATES[protocol][1])
    while missing:
        for rate in missing:
            weights[rate] = trained(module, data, protocol, rate, steps)
            errors = judged(module, weights[rate], data, "validation")
            scores[rate] = float(np.log(errors).mean())
        missing = beyond(scores)
    best = min(scores, key=lambda rate: scores[rate])
    return {
        "n": neurons,
        "size": SIZE,
        "blocks": BLOCKS,
        "steps": steps,
        "seed": list(range(SEEDS)),
        "rate": 10 ** (best / 2),
        "parameters": sum(p.numel() for p in module.parameters()),
        "validation_rmse": judged(module, weights[best], data, "validation"),
        "test_rmse": judged(module, weights[best], data, "test"),
    }


def trained(
    module: ResidualNetwork,
    data: list[Dataset],
    protocol: str,
    rate: int,
    steps: int,
) -> Tensor:
    """Train a network a seed at one rate; weights (K, P) in float64."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    place: Any = {"dtype": torch.float32, "device": device}
    x = torch.tensor(np.stack([points.train.x for points in data]), **place)
    y = torch.tensor(np.stack([points.train.y for points in data]), **place)
    start = torch_start(module, range(len(data))).to(**place)
    optimiser: Optimiser = Adam(start)
    if protocol == "soap":
        optimiser = Soap(module)
    elif protocol == "muon":
        optimiser = Muon(module, start)
    rates = torch.full((len(data),), 10 ** (rate / 2), **place)
    losses = batch_losses(module, x, y, BATCH)
    return train_stack(start, losses, rates, steps, 0.0, optimiser).double().cpu()


if __name__ == "__main__":
    main()
