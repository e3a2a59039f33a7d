"""environment.yml, requirements.lock and pyproject.toml describe one environment."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK_LINES = [
    line
    for line in (ROOT / "requirements.lock").read_text().splitlines()
    if line and not line.startswith("#")
]


def locked() -> dict[str, Version]:
    """Every pinned package and its version."""
    pins = {}
    for line in LOCK_LINES:
        name, _, version = line.partition("==")
        pins[canonicalize_name(name)] = Version(version)
    return pins


def declared() -> list[Requirement]:
    """Everything pyproject.toml asks for, extras included."""
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    return [Requirement(text) for requirements in lists for text in requirements]


@pytest.mark.parametrize("line", LOCK_LINES)
def test_every_line_of_the_lock_is_an_exact_pin(line: str) -> None:
    # No local version label such as +cpu: the public index would not know it.
    assert re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!]+", line)


@pytest.mark.parametrize("requirement", declared(), ids=lambda r: r.name)
def test_lock_satisfies_pyproject(requirement: Requirement) -> None:
    version = locked().get(canonicalize_name(requirement.name))
    assert version is not None, f"{requirement.name} is not in requirements.lock"
    assert version in requirement.specifier, f"{requirement} is locked at {version}"


def test_lock_is_closed_under_its_packages_needs() -> None:
    pins = locked()
    missing, unmet = [], []
    for name in pins:
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            missing.append(name)
            continue
        for need in map(Requirement, needs):
            if need.marker is not None and not need.marker.evaluate({"extra": ""}):
                continue
            version = pins.get(canonicalize_name(need.name))
            if version is None or not need.specifier.contains(version, prereleases=True):
                unmet.append(f"{name} needs {need}, locked is {version}")
    assert missing == [], "locked but not installed here"
    assert unmet == []


def test_installed_versions_are_the_locked_ones() -> None:
    wrong = {
        name: distribution(name).version
        for name, pin in locked().items()
        if Version(distribution(name).version).public != pin.public
    }
    assert wrong == {}


def test_environment_yml_points_at_the_lock_and_the_same_python() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["name"] == PROJECT["name"]
    plain = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (pip_section,) = [entry for entry in environment["dependencies"] if isinstance(entry, dict)]
    python = next(entry for entry in plain if entry.startswith("python="))
    assert python.partition("=")[2] in SpecifierSet(PROJECT["requires-python"])
    assert "pip" in plain
    assert pip_section == {"pip": ["-r requirements.lock"]}
