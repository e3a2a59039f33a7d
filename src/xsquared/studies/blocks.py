"""Networks of residual blocks, whose blocks are the one-layer networks of a unit.

    h = A x + a;   h <- h + block(h / |h|), block by block;   y = D h + d

where |h| is the root mean square of h and a block is D (gate(G h + g) * (U h + u) ...)
+ d.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init

from xsquared.units import Unit, build

#: Keeps a zero from dividing.
_LEAST_SQUARE = 1e-6


class ResidualNetwork(nn.Module):
    """Blocks of one unit, of n_hidden neurons each, on a stream of so many numbers."""

    def __init__(
        self,
        unit: Unit,
        n_in: int,
        stream: int,
        n_hidden: int,
        blocks: int,
        n_out: int,
    ) -> None:
        super().__init__()
        self.first = skip_init(nn.Linear, n_in, stream, dtype=torch.float64)
        self.blocks = nn.ModuleList(
            build(unit, stream, n_hidden, stream) for _ in range(blocks)
        )
        self.last = skip_init(nn.Linear, stream, n_out, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        """Compute the network's values: (N, n_in) -> (N, n_out)."""
        h = self.first(x)
        for block in self.blocks:
            h = h + block(
                h * torch.rsqrt(h.square().mean(dim=-1, keepdim=True) + _LEAST_SQUARE)
            )
        return self.last(h)


def block_neurons(unit: Unit, stream: int) -> int:
    """Count the neurons of a block that has about 8 stream^2 parameters.

    That is 4 stream for a gate alone, 8/3 stream with a second number or a factor, 2
    with two.
    """
    return round(8 * stream / (1 + len(unit.factors) + unit.numbers))
