"""environment.yml, requirements.lock and pyproject.toml describe one environment."""

import re
import tomllib
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path

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
# What the editor needs is as new as the reader likes.
UNLOCKED_EXTRA = "lab"
# torch's CUDA build brings its libraries along; which build arrives, the package index
# decides.
CUDA_LIBRARY = re.compile(r"nvidia-.+|cuda-.+|triton")


def locked() -> dict[str, Version]:
    """Every package that is pinned for this Python, and its version."""
    pins = dict[str, Version]()
    for requirement in map(Requirement, LOCK_LINES):
        if requirement.marker is None or requirement.marker.evaluate():
            (pin,) = requirement.specifier
            pins[canonicalize_name(requirement.name)] = Version(pin.version)
    return pins


def declared() -> dict[str, list[Requirement]]:
    """What pyproject.toml asks for, by extra; "" for what the package itself needs."""
    lists = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    return {
        extra: [Requirement(text) for text in texts] for extra, texts in lists.items()
    }


def to_lock() -> list[Requirement]:
    """List what the lock must satisfy; extras that name others of ours add nothing."""
    wanted = [needs for extra, needs in declared().items() if extra != UNLOCKED_EXTRA]
    return [need for needs in wanted for need in needs if need.name != PROJECT["name"]]


def unmet_needs(pins: Mapping[str, Version]) -> list[str]:
    """List needs of locked packages that the lock lacks, but torch's of CUDA."""
    unmet, waiting = [], [(name, frozenset({""})) for name in pins]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        for need in map(Requirement, distribution(name).requires or []):
            if need.marker and not any(
                need.marker.evaluate({"extra": e}) for e in extras
            ):
                continue
            target = canonicalize_name(need.name)
            if (
                target not in pins
                and name == "torch"
                and CUDA_LIBRARY.fullmatch(target)
            ):
                continue
            if target not in pins or not need.specifier.contains(
                pins[target], prereleases=True
            ):
                unmet.append(f"{name} needs {need}, there is {pins.get(target)}")
            elif (step := (target, frozenset({"", *need.extras}))) not in seen:
                seen.add(step)
                waiting.append(step)
    return unmet


def test_lock_satisfies_pyproject() -> None:
    pins = locked()
    unmet = [
        n
        for n in to_lock()
        if pins.get(canonicalize_name(n.name), "") not in n.specifier
    ]
    assert not unmet


def test_lock_is_closed_under_its_packages_needs() -> None:
    assert unmet_needs(locked()) == []
    without = {name: pin for name, pin in locked().items() if name != "sympy"}
    assert any(" needs sympy" in need for need in unmet_needs(without))


def test_installed_versions_are_the_locked_ones() -> None:
    found = {name: Version(distribution(name).version).public for name in locked()}
    assert found == {name: pin.public for name, pin in locked().items()}


def test_environment_yml_points_at_the_lock_and_the_same_python() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["name"] == PROJECT["name"]
    plain = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    (pip_section,) = [
        entry for entry in environment["dependencies"] if isinstance(entry, dict)
    ]
    python = next(entry for entry in plain if entry.startswith("python="))
    assert python.partition("=")[2] in SpecifierSet(PROJECT["requires-python"])
    assert "pip" in plain
    assert pip_section == {"pip": ["-r requirements.lock"]}


def test_colab_has_what_the_package_needs() -> None:
    """Else a chapter's first cell would change what is loaded there already."""
    lines = (ROOT / ".ci" / "colab.txt").read_text().splitlines()
    pins = {
        canonicalize_name(name): version
        for name, _, version in (
            line.partition("==") for line in lines if not line.startswith("#")
        )
    }
    needs = declared()[""]
    unmet = [
        need
        for need in needs
        if pins[canonicalize_name(need.name)] not in need.specifier
    ]
    assert unmet == []
