"""What least squares makes of a layer's pairs, against dense solvers, and a bound from below."""

import pytest
import torch
from torch import Tensor

from tests.studies.layer_pairs import D, learnt, normal
from xsquared.units import build
from xsquared_studies.language_models import FeedForward
from xsquared_studies.pairs import error, pairs_of, products, reduced, solved, unreachable


def test_solving_gives_what_a_dense_solver_gives() -> None:
    of = learnt()
    network = build("glu", D, 9, D, generator=torch.Generator().manual_seed(0)).float()
    skip, readout = solved(of, network.hidden)
    x = of.x["train"]
    dense = torch.cat([x, torch.ones(len(x), 1), network.hidden(x).detach()], dim=1).double()
    wanted = torch.linalg.lstsq(dense, of.y["train"].double()).solution
    left = [
        float((of.y["train"] - dense.float() @ w.float()).square().sum())
        for w in (torch.cat([skip, readout]), wanted)
    ]
    assert left[0] == pytest.approx(left[1], rel=1e-5)
    share = (left[1] / float((of.y["train"] - of.y["train"].mean(0)).square().sum())) ** 0.5
    assert error(of, "train", skip, network.hidden, readout) == pytest.approx(share, rel=1e-5)
    # The map alone is linear regression.
    alone = torch.linalg.lstsq(dense[:, : D + 1], of.y["train"].double()).solution
    assert of.skip.numpy() == pytest.approx(alone.numpy(), abs=1e-4)


def test_gates_that_never_open_do_no_harm() -> None:
    of = learnt()
    skip, readout = solved(of, lambda x: torch.zeros(len(x), 3))
    assert error(of, "test", skip) == error(of, "test", skip, lambda x: x[:, :3] * 0, readout)
    assert error(of, "test", skip) == pytest.approx(error(of, "test", of.skip.float()))


def test_products_represent_a_bilinear_layer() -> None:
    feed = FeedForward(normal(9, D), normal(D, 9, seed=1), normal(9, D, seed=2))
    of = learnt(feed, gate="hardtanh")  # no product
    x = {part: values * 1e-3 for part, values in of.x.items()}  # hardtanh is the identity here
    of = pairs_of(
        x, {part: feed(values, torch.nn.functional.hardtanh) for part, values in x.items()}
    )
    features = products(of, D * (D + 1) // 2)
    skip, readout = solved(of, features)
    assert len(readout) == D * (D + 1) // 2
    assert error(of, "test", of.skip.float()) > 0.1
    assert error(of, "test", skip, features, readout) < 1e-3


def test_a_map_of_less_rank_is_the_best_of_its_rank() -> None:
    of = learnt()
    fitted = torch.nn.functional.pad(of.x["train"], (0, 1), value=1.0).double() @ of.skip
    wanted = torch.linalg.svd(fitted, full_matrices=False).S[2:].square().sum()
    skip = reduced(of, 2).double()
    assert torch.linalg.matrix_rank(skip, rtol=1e-4) == 2
    made = torch.nn.functional.pad(of.x["train"], (0, 1), value=1.0).double() @ skip
    assert float((fitted - made).square().sum()) == pytest.approx(float(wanted), rel=1e-3)
    assert reduced(of, D).numpy() == pytest.approx(of.skip.numpy(), abs=1e-4)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_no_features_do_better_than_the_bound_and_the_best_ones_meet_it(n: int) -> None:
    of = learnt()
    here = pairs_of(dict.fromkeys(of.x, of.x["test"]), dict.fromkeys(of.y, of.y["test"]))
    bound = unreachable(here, "test", n)
    wide = torch.nn.functional.pad(here.x["test"], (0, 1), value=1.0)
    beside = here.y["test"] - wide @ here.skip.float()
    best = beside @ torch.linalg.svd(beside, full_matrices=False).Vh[:n].T

    def told(_: Tensor) -> Tensor:
        return best

    skip, readout = solved(here, told)
    assert error(here, "test", skip, told, readout) == pytest.approx(bound, rel=1e-3)
    for seed in range(5):
        features = build("swiglu", D, n, D, generator=torch.Generator().manual_seed(seed)).float()
        skip, readout = solved(here, features.hidden)
        assert error(here, "test", skip, features.hidden, readout) > bound
    assert unreachable(here, "test", D) == pytest.approx(0, abs=1e-6)
