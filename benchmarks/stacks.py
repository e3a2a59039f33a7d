"""Steps of training a second: networks stacked, against one by one with torch's AdamW.

Run from the root: ``python benchmarks/stacks.py [--count 60] [--steps 300]``. One
thread, float32, batches of 64 of 1,000 points, about 120 parameters; steps are counted
for each network.
"""

import argparse
import time

import torch

from xsquared.training.adamw import batch_losses, torch_start, train_stack
from xsquared.units import build, parameter_count

POINTS = 1000
BATCH = 64


def main() -> None:
    """Print a line for each unit and number of inputs."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--count", type=int, default=60, help="networks in a stack")
    asked.add_argument("--steps", type=int, default=300)
    arguments = asked.parse_args()
    torch.set_num_threads(1)
    for unit in ("mlp", "mlp:gelu", "glu", "swiglu", "gqu"):
        for dim in (1, 2, 5):
            n = round(119 / (parameter_count(unit, dim, 1) - 1))
            module = build(unit, dim, n).float()
            x = torch.randn(arguments.count, POINTS, dim)
            y = torch.sin(3 * x).sum(dim=2, keepdim=True)
            weights = torch_start(module, range(arguments.count))
            losses = batch_losses(module, x, y, BATCH)
            rates = torch.full((len(x),), 0.01)
            begun = time.process_time()
            train_stack(weights, losses, rates, arguments.steps, 0.0)
            stacked = arguments.count * arguments.steps / (time.process_time() - begun)
            optimizer = torch.optim.AdamW(module.parameters())
            begun = time.process_time()
            for _ in range(arguments.steps):
                rows = torch.randint(POINTS, (BATCH,))
                optimizer.zero_grad()
                (module(x[0, rows]) - y[0, rows]).square().mean().backward()
                optimizer.step()
            single = arguments.steps / (time.process_time() - begun)
            speeds = f"{stacked:.0f} stacked, {single:.0f} alone"
            ratio = f"{stacked / single:.1f} times"
            print(f"{unit}, {dim} inputs, {n} neurons: {speeds}, {ratio}")


if __name__ == "__main__":
    main()
