"""SOAP and Muon for stacks of networks: classes that turn gradients into directions.

Weights and gradients of K networks are matrices (K, P), a row a network in the order of
its module's parameters. :func:`xsquared.training.adamw.train_stack` subtracts rates
times a direction. Where an optimiser wants matrices, a weight (m, n) and the bias (m,)
behind it are one (m, n + 1).
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from xsquared.training.adamw import Adam

#: Decay of SOAP's averages, its authors' choice.
_SOAP_BETA = 0.95
#: Steps of SOAP between two updates of its bases, its authors' choice: with 50 the
#: errors of ReLU beside its square and of SiLU on Friedman's first function are 1.5 and
#: 1.2 times larger.
SOAP_EVERY = 10
#: Momentum of Muon, and the quintic of its Newton-Schulz iteration, its author's
#: choice.
_MOMENTUM = 0.95
_QUINTIC = (3.4445, -4.7750, 2.0315)
#: Steps of that iteration.
_ITERATIONS = 5
#: Root mean square of AdamW's direction, to which Muon's is brought (Moonlight, arXiv
#: 2502.16982).
_ADAM_SIZE = 0.2


class Soap:
    """SOAP: Adam in the eigenbases of Shampoo's averages G G' and G' G.

    The first gradient only makes the bases. They are updated by a step of orthogonal
    iteration. Reference: arXiv 2409.11321.
    """

    def __init__(self, module: nn.Module) -> None:
        self.layers = Layers(module)
        self.states = [_Rotated() for _ in self.layers.shapes]

    def __call__(self, slope: Tensor) -> Tensor:
        """Give the direction; zero at the first step."""
        pairs = zip(self.states, self.layers.matrices(slope), strict=True)
        return self.layers.flat(
            [state.direction(gradient) for state, gradient in pairs]
        )


class _Rotated:
    """SOAP's averages and bases of one layer, whose gradients are (K, m, n).

    Averages of G G' and G' G are needed when the bases are updated only, so that
    gradients are kept till then and multiplied out at once.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.bases: list[Tensor] = []  # orthogonal, (K, m, m) and (K, n, n)
        self.recent: list[Tensor] = []

    def direction(self, slope: Tensor) -> Tensor:
        """Give Adam's direction in the bases, then update these by the gradient."""
        if not self.bases:
            self.mean = torch.zeros_like(slope)
            self.square = torch.zeros_like(slope)
            self.grams = [gram.mul_(1 - _SOAP_BETA) for gram in _grams(slope[:, None])]
            self.bases = [
                torch.linalg.eigh(gram).eigenvectors.flip(2) for gram in self.grams
            ]
            return torch.zeros_like(slope)
        self.steps += 1
        left, right = self.bases
        turned = left.mT @ slope @ right
        self.mean.lerp_(turned, 1 - _SOAP_BETA)
        self.square.lerp_(turned.square(), 1 - _SOAP_BETA)
        correction = 1 - _SOAP_BETA**self.steps
        scaled = self.mean / self.square.sqrt().add_(1e-8)
        self.recent.append(slope)
        if len(self.recent) == SOAP_EVERY:
            self.update()
        return left @ scaled @ right.mT * correction**-0.5

    def update(self) -> None:
        """Turn the bases by a step of orthogonal iteration, in order of eigenvalues."""
        count = len(self.recent)
        shares = [
            (1 - _SOAP_BETA) * _SOAP_BETA ** (count - 1 - k) for k in range(count)
        ]
        recent = torch.stack(self.recent, dim=1)  # (K, count, m, n)
        recent = recent * torch.tensor(shares).to(recent).sqrt()[:, None, None]
        left, right = self.bases
        mean = left @ self.mean @ right.mT
        for side, added in enumerate(_grams(recent)):
            gram = self.grams[side]
            basis = self.bases[side]
            gram.mul_(_SOAP_BETA**count).add_(added)
            product = gram @ basis
            eigenvalues = (basis * product).sum(dim=1)  # (K, m)
            order = eigenvalues.argsort(dim=1, descending=True)
            rows = order[:, :, None] if side == 0 else order[:, None, :]
            self.square = self.square.gather(side + 1, rows.expand_as(self.square))
            ordered = product.gather(2, order[:, None, :].expand_as(product))
            self.bases[side] = torch.linalg.qr(ordered).Q
        left, right = self.bases
        self.mean = left.mT @ mean @ right
        self.recent = []


def _grams(slopes: Tensor) -> list[Tensor]:
    """Sum G G' and G' G over several gradients (K, count, m, n)."""
    side_by_side = slopes.transpose(1, 2).flatten(2)  # (K, m, count n)
    stacked = slopes.flatten(1, 2)  # (K, count m, n)
    return [side_by_side @ side_by_side.mT, stacked.mT @ stacked]


class Muon:
    """Muon on the matrices inside residual blocks, Adam on all other parameters.

    The direction is that of the momentum with its singular values brought near one, of
    the size of Adam's (Jordan, 2024; arXiv 2502.16982).
    """

    def __init__(self, module: nn.Module, weights: Tensor) -> None:
        self.adam = Adam(weights)
        self.shapes = [p.shape for p in module.parameters()]
        names = [name for name, _ in module.named_parameters()]
        self.inside = [
            name.startswith("blocks") and len(shape) == 2
            for name, shape in zip(names, self.shapes, strict=True)
        ]
        self.momentum = torch.zeros_like(weights)

    def __call__(self, slope: Tensor) -> Tensor:
        """Orthogonalise what Nesterov's momentum gives for each matrix."""
        self.momentum.lerp_(slope, 1 - _MOMENTUM)
        ahead = slope.lerp(self.momentum, _MOMENTUM)
        sizes = [shape.numel() for shape in self.shapes]
        directions = list(self.adam(slope).split(sizes, dim=1))
        for k, part in enumerate(ahead.split(sizes, dim=1)):
            if self.inside[k]:
                matrices = part.unflatten(1, self.shapes[k])
                directions[k] = _muon_direction(matrices).flatten(1)
        return torch.cat(directions, dim=1)


def _muon_direction(momentum: Tensor) -> Tensor:
    """Bring singular values of matrices (K, m, n) near one, and the size to Adam's."""
    a, b, c = _QUINTIC
    wide = momentum.shape[1] <= momentum.shape[2]
    x = momentum if wide else momentum.mT
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    size = _ADAM_SIZE * max(momentum.shape[1:]) ** 0.5
    return size * (x if wide else x.mT)


class Layers:
    """A module's parameters as matrices (m, n + 1): a weight and the bias behind it."""

    def __init__(self, module: nn.Module) -> None:
        self.shapes = [weight.shape for weight in [*module.parameters()][::2]]

    def matrices(self, weights: Tensor) -> Iterator[Tensor]:
        """Cut weights (K, P) into matrices (K, m, n + 1)."""
        sizes = [m * (n + 1) for m, n in self.shapes]
        for (m, n), part in zip(self.shapes, weights.split(sizes, dim=1), strict=True):
            weight, bias = part.split([m * n, m], dim=1)
            yield torch.cat([weight.unflatten(1, (m, n)), bias[:, :, None]], dim=2)

    def flat(self, matrices: list[Tensor]) -> Tensor:
        """Join matrices (K, m, n + 1) into weights (K, P)."""
        parts = (
            (matrix[:, :, :-1].flatten(1), matrix[:, :, -1]) for matrix in matrices
        )
        return torch.cat([piece for pair in parts for piece in pair], dim=1)
