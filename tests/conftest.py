"""What every test shares; what the proving tests found, written for the book."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import xsquared.units
from tests.small_project import small_project

# The same examples on every machine, and no time limit: speed lives in benchmarks.
settings.register_profile("xsquared", derandomize=True, deadline=None)
settings.load_profile("xsquared")

__all__ = ["small_project"]  # the fixture, for every test


@pytest.fixture(autouse=True)
def registered_units() -> Iterator[None]:
    """What a test registers is gone after it."""
    registries: tuple[dict[str, Any], ...] = (xsquared.units.GATES, xsquared.units.UNITS)
    before = [dict(registry) for registry in registries]
    yield
    for registry, kept in zip(registries, before, strict=True):
        registry.clear()
        registry.update(kept)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--proofs-to", type=Path, help="write the outcome of tests marked `proves` to this file"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[PROOFS] = {}


PROOFS = pytest.StashKey[dict[str, dict[str, Any]]]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Processes take files in this order: a long one at the end would keep the other cores waiting.
    long = ("test_installed.py", "chapters", "training")
    items.sort(
        key=lambda item: [name not in (item.path.parent.name, item.path.name) for name in long]
    )
    for item in items:
        for marker in item.iter_markers("proves"):
            item.user_properties.append(("proves", marker.args[0]))


class Recorder:
    """Collects outcomes; with xdist this runs in the controlling process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.outcome == "passed":
            return
        proofs = self.config.stash[PROOFS]
        properties: dict[str, Any] = {str(k): v for k, v in report.user_properties}
        if (key := properties.get("proves")) is None:
            return
        row = proofs.setdefault(key, {"tests": {}, "checks": 0, "as_printed": None, "links": []})
        row["tests"][report.nodeid] = report.outcome
        row["checks"] += properties.get("checks", 1)
        row["links"] += properties.get("links", [])
        if "as_printed" in properties:
            row["as_printed"] = properties["as_printed"]

    def pytest_sessionfinish(self) -> None:
        path: Path = self.config.getoption("--proofs-to")
        text = json.dumps(self.config.stash[PROOFS], indent=1, sort_keys=True, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if session.config.getoption("--proofs-to") and not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Recorder(session.config))
