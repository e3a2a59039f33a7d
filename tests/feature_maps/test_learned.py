"""Training many seeds at once against the paper's listing, corrected, one seed at a time."""

import numpy as np
import pytest
import torch
from torch import nn

from xsquared.feature_maps.learned import (
    Protocol,
    TwoNetworks,
    draw_pairs,
    initial_networks,
    pair_rmse,
    train,
)

SMALL = Protocol(d=3, m=5, n_pairs=48, batch=16, hidden=7, rate=3e-3)


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


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_seed_in_the_batch_trains_as_the_corrected_listing_does(seed: int) -> None:
    together = train(SMALL, [0, 1, 2], 9, nothing, [])
    start = initial_networks(SMALL, [0, 1, 2])
    phi, psi = as_listed(start.phi_layers, seed), as_listed(start.psi_layers, seed)
    optimiser = torch.optim.Adam([*psi.parameters(), *phi.parameters()], lr=SMALL.rate)
    criterion = nn.MSELoss()
    W, x, y = (part[0] for part in draw_pairs(3, 48, [[1, seed]]))
    order = np.random.default_rng([2, seed])
    losses = []
    for _ in range(3):
        for chosen in torch.from_numpy(order.permutation(48)).split(16):
            optimiser.zero_grad()
            w_prime = phi(W[chosen].reshape(-1, 3)).reshape(len(chosen), 3, -1)
            x_prime = psi(x[chosen])
            predicted = torch.bmm(w_prime, x_prime.unsqueeze(-1)).squeeze(-1)
            loss = criterion(predicted, y[chosen])
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    np.testing.assert_allclose(together.losses[:, seed], losses, rtol=1e-9)


def test_a_seeds_run_does_not_depend_on_the_others() -> None:
    alone, together = (train(SMALL, seeds, 7, nothing, []) for seeds in ([4], [9, 4]))
    np.testing.assert_allclose(alone.losses[:, 0], together.losses[:, 1], rtol=1e-10)


def test_prediction_is_the_product_of_the_feature_maps() -> None:
    networks = initial_networks(SMALL, [1, 2])
    W, x, _ = draw_pairs(3, 6, [[7], [8]])
    product = torch.einsum("snim,snm->sni", networks.phi(W), networks.psi(x))
    assert networks.phi(W).shape == (2, 6, 3, 5)
    torch.testing.assert_close(networks.predict(W, x), product)


def test_targets_and_pair_rmse() -> None:
    W, x, y = draw_pairs(3, 6, [[7]])
    torch.testing.assert_close(y, nn.functional.gelu(torch.einsum("snij,snj->sni", W, x)))
    networks = initial_networks(SMALL, [1, 2])
    errors = pair_rmse(networks, W, x, y)
    one = TwoNetworks(
        tuple(p[1:] for p in networks.phi_layers), tuple(p[1:] for p in networks.psi_layers)
    )
    expected = (one.predict(W, x) - y).pow(2).mean(dim=2).sqrt()[0]
    np.testing.assert_allclose(errors[1], expected.numpy())
    assert errors.shape == (2, 6)


def test_initial_weights_are_spread_as_in_a_linear_layer() -> None:
    wide = initial_networks(Protocol(d=4, m=50, hidden=100), range(3))
    for layer, fan_in in zip(wide.phi_layers, (4, 4, 100, 100), strict=True):
        assert float(layer.abs().max()) <= fan_in**-0.5
        assert float(layer.abs().max()) > 0.97 * fan_in**-0.5
        assert abs(float(layer.mean())) < 0.1 * fan_in**-0.5


def test_training_lowers_the_loss_on_fresh_and_on_fixed_pairs() -> None:
    for n_pairs in (1024, None):
        run = train(Protocol(n_pairs=n_pairs), [0, 1], 150, nothing, [])
        assert (run.losses[-20:].mean(axis=0) < 0.5 * run.losses[:5].mean(axis=0)).all()


def test_measuring_happens_after_the_steps_asked_for() -> None:
    def first_weight(networks: TwoNetworks) -> np.ndarray:
        return networks.phi_layers[0][:, 0, 0].detach().numpy().copy()

    run = train(SMALL, [0, 1], 5, first_weight, [2, 5])
    assert sorted(run.measured) == [2, 5]
    np.testing.assert_array_equal(
        run.measured[2], train(SMALL, [0, 1], 2, first_weight, [2]).measured[2]
    )
    assert (run.measured[2] != run.measured[5]).all()


def test_steps_per_epoch() -> None:
    assert Protocol().steps_per_epoch == 16
    assert Protocol(n_pairs=None).steps_per_epoch == 1
    assert Protocol(n_pairs=70).steps_per_epoch == 2
