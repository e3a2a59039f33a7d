"""What every test shares."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# The same examples on every machine, and no time limit: speed lives in benchmarks.
settings.register_profile("xsquared", derandomize=True, deadline=None)
settings.load_profile("xsquared")


@pytest.fixture(autouse=True)
def registered_units() -> Iterator[None]:
    """What a test registers is gone after it."""
    from xsquared import (
        units,
    )  # brings torch, which who hands out tests need not wait for

    registries: tuple[dict[str, Any], ...] = (units.GATES, units.UNITS)
    before = [dict(registry) for registry in registries]
    yield
    for registry, kept in zip(registries, before, strict=True):
        registry.clear()
        registry.update(kept)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Processes take files in this order: a long one at the end would keep the other
    # cores waiting, and so would the site that test_render builds, were it first asked
    # for by two of them.
    long = ("test_render.py", "test_installed.py", "chapters", "training")
    items.sort(
        key=lambda item: [
            name not in (item.path.parent.name, item.path.name) for name in long
        ]
    )
