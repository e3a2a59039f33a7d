"""Training many seeds at once against the paper's listing, corrected, one seed at a
time.
"""

import numpy as np
import pytest
import torch
from torch import nn

from xsquared.features.learned import (
    Protocol,
    TwoNetworks,
    draw_pairs,
    initial_networks,
    optimal_networks,
    pair_rmse,
    train,
)

SMALL = Protocol(d=3, m=5, n_pairs=150, hidden=7)


def nothing(_: TwoNetworks) -> np.ndarray:
    return np.zeros(0)


def as_listed(layers: tuple[torch.Tensor, ...], seed: int) -> nn.Sequential:
    """A network of the listing with the given initial weights."""
    w1, b1, w2, b2 = (layer[seed].detach() for layer in layers)
    first, second = nn.Linear(*w1.shape), nn.Linear(*w2.shape)
    net = nn.Sequential(first, nn.ReLU(), second).double()
    with torch.no_grad():
        for layer, weight, bias in ((first, w1, b1), (second, w2, b2)):
            layer.weight.copy_(weight.T)
            layer.bias.copy_(bias[0])
    return net


@pytest.mark.parametrize("seed", [0, 2])
def test_a_seed_in_the_batch_trains_as_the_corrected_listing_does(seed: int) -> None:
    together = train(SMALL, [0, 1, 2], 9, nothing, [])
    start = initial_networks(SMALL, [0, 1, 2])
    phi, psi = as_listed(start.phi_layers, seed), as_listed(start.psi_layers, seed)
    optimiser = torch.optim.Adam([*psi.parameters(), *phi.parameters()], lr=1e-3)
    criterion = nn.MSELoss()
    W, x, y = (part[0] for part in draw_pairs(3, 150, [[1, seed]]))
    order = np.random.default_rng([2, seed])
    losses = []
    for _ in range(3):
        for chosen in torch.from_numpy(order.permutation(150)).split(64):
            optimiser.zero_grad()
            w_prime = phi(W[chosen].reshape(-1, 3)).reshape(len(chosen), 3, -1)
            x_prime = psi(x[chosen])
            predicted = torch.bmm(w_prime, x_prime.unsqueeze(-1)).squeeze(-1)
            loss = criterion(predicted, y[chosen])
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    np.testing.assert_allclose(together.losses[:, seed], losses, rtol=1e-9)


def test_measuring_happens_after_the_steps_asked_for() -> None:
    W, x, y = draw_pairs(3, 6, [[7]])
    torch.testing.assert_close(
        y, nn.functional.gelu(torch.einsum("snij,snj->sni", W, x))
    )
    long, short = (
        train(
            SMALL, [0, 1], steps, lambda networks: pair_rmse(networks, W, x, y), [2, 5]
        )
        for steps in (5, 2)
    )
    assert sorted(long.measured) == [2, 5]
    np.testing.assert_array_equal(long.measured[2], short.measured[2])
    expected = (
        long.networks.predict(W.expand(2, -1, -1, -1), x.expand(2, -1, -1)) - y
    ) ** 2
    np.testing.assert_allclose(long.measured[5], expected.mean(dim=2).sqrt().numpy())


def test_initial_weights_are_spread_as_in_a_linear_layer() -> None:
    wide = initial_networks(Protocol(d=4, m=50, hidden=100), range(3))
    for layer, fan_in in zip(wide.phi_layers, (4, 4, 100, 100), strict=True):
        assert float(layer.abs().max()) <= fan_in**-0.5
        assert float(layer.abs().max()) > 0.97 * fan_in**-0.5
        assert abs(float(layer.mean())) < 0.1 * fan_in**-0.5


def test_training_lowers_the_loss_and_the_optimal_start_is_ahead() -> None:
    for n_pairs in (1024, None):
        protocol = Protocol(n_pairs=n_pairs)
        run = train(protocol, [0, 1], 150, nothing, [])
        assert (run.losses[-20:].mean(axis=0) < 0.5 * run.losses[:5].mean(axis=0)).all()
        ahead = train(
            protocol, [0, 1], 5, nothing, [], optimal_networks(protocol, [0, 1])
        )
        assert (ahead.losses.mean(axis=0) < run.losses[-20:].mean(axis=0)).all()
