"""Stacked SOAP and Muon against those of libraries, network by network."""

import pytest
import torch
from pytorch_optimizer import SOAP
from torch import Tensor, nn

from xsquared.studies.blocks import ResidualNetwork, block_neurons
from xsquared.studies.optimisers import SOAP_EVERY, Layers, Muon, Soap, _muon_direction
from xsquared.training.adamw import as_parameters
from xsquared.units import build, find_unit

COUNT, STEPS, RATE = 2, 2 * SOAP_EVERY + 10, 0.003
UNITS = pytest.mark.parametrize("name", ["mlp", "pair", "gqu"])


def gradients(module: nn.Module) -> Tensor:
    """Draw gradients (STEPS, COUNT, P) that change slowly, as those of a descent do."""
    size = sum(p.numel() for p in module.parameters())
    draw = torch.Generator().manual_seed(0)
    return torch.randn(STEPS, COUNT, size, generator=draw, dtype=torch.float64).cumsum(
        dim=0
    )


@UNITS
def test_soap_is_a_librarys_on_matrices_of_weights_and_biases(name: str) -> None:
    # Square matrices: the first gradient leaves no eigenvectors of the eigenvalue 0 to
    # choose.
    module = build(name, 3, 4, 4 * find_unit(name).numbers + 1)
    layers, slopes = Layers(module), gradients(module)
    stack = [torch.zeros_like(matrix) for matrix in layers.matrices(slopes[0])]
    optimiser = Soap(module)
    for slope in slopes:
        moves = layers.matrices(optimiser(slope))
        stack = [
            matrix - RATE * move for matrix, move in zip(stack, moves, strict=True)
        ]
    for k in range(COUNT):
        alone = [nn.Parameter(torch.zeros_like(matrix[k])) for matrix in stack]
        library = SOAP(
            alone, lr=RATE, weight_decay=0.0, precondition_frequency=SOAP_EVERY
        )
        for slope in slopes:
            for parameter, matrix in zip(alone, layers.matrices(slope), strict=True):
                parameter.grad = matrix[k].clone()
            library.step()
        for parameter, matrix in zip(alone, stack, strict=True):
            # The library casts to single precision where it updates its bases.
            torch.testing.assert_close(
                matrix[k], parameter.detach(), rtol=1e-3, atol=1e-6
            )


@UNITS
def test_layers_are_cut_and_joined_without_loss(name: str) -> None:
    module = build(name, 3, 5, n_out=2)
    slope = gradients(module)[0]
    layers = Layers(module)
    assert torch.equal(layers.flat([*layers.matrices(slope)]), slope)


def test_muon_is_torchs_inside_blocks_and_adam_elsewhere() -> None:
    unit = find_unit("glu")
    module = ResidualNetwork(unit, 3, 6, block_neurons(unit, 6), 2, 1)
    slopes, optimiser = gradients(module), Muon(module, gradients(module)[0])
    ended = -RATE * torch.stack([optimiser(slope) for slope in slopes]).sum(dim=0)
    for k in range(COUNT):
        torch.nn.utils.vector_to_parameters(
            torch.zeros_like(slopes[0, k]), module.parameters()
        )
        named = dict(module.named_parameters())
        inside = [p for name, p in named.items() if "blocks" in name and p.ndim == 2]
        assert len(inside) == 6
        outside = [p for p in named.values() if all(p is not other for other in inside)]
        muon = torch.optim.Muon(
            inside, lr=RATE, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"
        )
        adam = torch.optim.Adam(outside, lr=RATE)
        for slope in slopes:
            for name, part in as_parameters(module, slope[k]).items():
                named[name].grad = part.clone()
            muon.step()
            adam.step()
        for name, part in as_parameters(module, ended[k]).items():
            wanted = named[name].detach()
            # Torch's iteration rounds to eight bits.
            close = 0.05 if any(named[name] is p for p in inside) else 1e-9
            assert (part - wanted).norm() < close * wanted.norm()


@pytest.mark.parametrize("shape", [(4, 9), (9, 4)])
def test_muon_brings_singular_values_near_one(shape: tuple[int, int]) -> None:
    draw = torch.Generator().manual_seed(1)
    momentum = torch.randn(COUNT, *shape, generator=draw, dtype=torch.float64)
    size = 0.2 * max(shape) ** 0.5
    found = _muon_direction(momentum) / size
    assert torch.linalg.svdvals(found).min() > 0.6
    assert torch.linalg.svdvals(found).max() < 1.3
    left, _, right = torch.linalg.svd(momentum, full_matrices=False)
    # Of the same singular vectors: a product with the polar factor's transpose is
    # symmetric.
    product = found @ (left @ right).mT
    torch.testing.assert_close(product, product.mT, rtol=0, atol=1e-10)
