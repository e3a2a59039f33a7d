"""Residual networks against their formula, and their numbers of parameters."""

import pytest
import torch

from xsquared.studies.blocks import ResidualNetwork, block_neurons
from xsquared.training.adamw import as_parameters, outputs, torch_start
from xsquared.units import find_unit

UNITS = pytest.mark.parametrize("name", ["mlp", "pair", "glu", "gqu"])


@UNITS
def test_a_block_adds_the_units_values_at_the_normed_stream(name: str) -> None:
    unit = find_unit(name)
    module = ResidualNetwork(unit, 3, 6, 4, 2, 2)
    start = torch_start(module, [0, 1]).double()
    x = torch.randn(
        2, 7, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64
    )
    found = outputs(module, start, x)
    for k in range(2):
        own = as_parameters(module, start[k])
        h = x[k] @ own["first.weight"].T + own["first.bias"]
        for block in ("blocks.0.", "blocks.1."):
            normed = h / (h**2).mean(dim=1, keepdim=True).add(1e-6).sqrt()
            z = normed @ own[f"{block}G"].T + own[f"{block}g"]
            hidden = torch.relu(z)
            for weight, bias in unit.factors:
                hidden = hidden * (normed @ own[block + weight].T + own[block + bias])
            if name == "pair":
                hidden = torch.cat([hidden, hidden**2], dim=1)
            h = h + hidden @ own[f"{block}D"].T + own[f"{block}d"]
        wanted = h @ own["last.weight"].T + own["last.bias"]
        torch.testing.assert_close(found[k], wanted, rtol=1e-10, atol=1e-10)


@UNITS
@pytest.mark.parametrize(("stream", "size"), [(15, 4000), (39, 25_000)])
def test_blocks_of_all_units_have_as_many_parameters(
    name: str, stream: int, size: int
) -> None:
    unit = find_unit(name)
    module = ResidualNetwork(unit, 8, stream, block_neurons(unit, stream), 2, 1)
    assert sum(p.numel() for p in module.parameters()) == pytest.approx(size, rel=0.04)
