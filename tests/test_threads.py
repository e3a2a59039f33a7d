"""Fits run on one thread, and leave the threads of whoever called as they were."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from xsquared import GatedRegressor, fit, grow
from xsquared.data import from_target
from xsquared.functions import target
from xsquared.threads import one_thread
from xsquared.training import FreeKnots, Growth

TABLE = np.linspace(-1, 1, 60)[:, None], np.linspace(-1, 1, 60) ** 2
PLANE = from_target(target("x*y"), points=50)
DOORS: dict[str, tuple[type, str, Callable[[], object]]] = {
    "fit": (FreeKnots, "train", lambda: fit(target("abs(x)"), "glu", 2)),
    "grow": (Growth, "grow", lambda: grow(PLANE, "glu", [1])),
    "GatedRegressor": (
        GatedRegressor, "_train", lambda: GatedRegressor("mlp", 1, ridge=0.1).fit(*TABLE),
    ),
}  # fmt: skip


def counts() -> list[int]:
    """Threads of torch, then of each library that threadpoolctl finds."""
    pools = [pool["num_threads"] for pool in threadpool_info()]
    return [torch.get_num_threads(), *pools]


@pytest.fixture
def two_threads() -> Iterator[list[int]]:
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        yield counts()
        torch.set_num_threads(before)


def test_inside_there_is_one_thread(two_threads: list[int]) -> None:
    assert 2 in two_threads[1:]
    with one_thread():
        assert {*counts()} == {1}
    assert counts() == two_threads


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("door", list(DOORS))
def test_a_fit_runs_on_one_thread_and_puts_the_setting_back(
    door: str, fails: bool, two_threads: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, run = DOORS[door]
    trains = getattr(owner, name)
    seen: list[int] = []

    def watched(*arguments: object) -> object:
        seen.extend(counts())
        if fails:
            raise ValueError("as asked")
        return trains(*arguments)

    monkeypatch.setattr(owner, name, watched)
    if fails:
        with pytest.raises(ValueError, match="as asked"):
            run()
    else:
        run()
    assert {*seen} == {1}
    assert counts() == two_threads
