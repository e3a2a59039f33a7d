"""One source for title, authors, version, date and licence; one setting for the address."""

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from tests.small_project import commit, git
from xsquared_book.metadata import citation, how_to_cite, pages_of, revision, set_addresses
from xsquared_book.project import Project

PROJECT = Project(Path(__file__).parents[2])
SAID = citation(PROJECT)
CONFIG = yaml.safe_load((PROJECT.root / "_config.yml").read_text())


def test_what_the_project_says_of_itself_agrees() -> None:
    package = tomllib.loads((PROJECT.root / "pyproject.toml").read_text())["project"]
    meta = json.loads((PROJECT.root / "codemeta.json").read_text())
    authors = [author["name"] for author in SAID["authors"]]
    assert authors == [author["name"] for author in package["authors"]]
    assert authors == [author["name"] for author in meta["author"]] == [CONFIG["author"]]
    assert SAID["version"] == package["version"] == meta["version"]
    assert SAID["license"] == package["license"] == meta["license"].rpartition("/")[2]
    assert SAID["title"] == meta["name"]
    assert SAID["title"].partition(":")[0] == package["name"] == CONFIG["title"]
    assert str(SAID["date-released"]) == meta["datePublished"]
    assert str(SAID["date-released"])[:4] == str(CONFIG["copyright"])
    address = CONFIG["repository"]["url"]
    assert SAID.get("repository-code", "") == meta.get("codeRepository", "") == address
    entry = " ".join(how_to_cite(PROJECT).split())
    for said in ("The xsquared authors", SAID["version"], SAID["title"].partition(": ")[2]):
        assert said in entry
    assert ("url" in entry) == ("repository-code" in SAID)


@pytest.mark.parametrize(
    ("repository", "pages"),
    [
        ("https://github.com/Owner/book", "https://owner.github.io/book/"),
        ("https://gitlab.com/owner/book/", "https://owner.gitlab.io/book/"),
        ("https://example.org/owner/book", ""),
        ("", ""),
    ],
)
def test_where_a_forge_publishes(repository: str, pages: str) -> None:
    assert pages_of(repository) == pages


@pytest.mark.parametrize("repository", ["", "https://github.com/owner/book"])
def test_addresses_are_there_where_one_is_set_and_only_there(repository: str) -> None:
    options = {"repository_url": repository}
    config = SimpleNamespace(html_theme_options=options, html_context={}, html_baseurl="")
    app = SimpleNamespace(srcdir=PROJECT.book)
    set_addresses(app, config)  # type: ignore[arg-type]
    options, context = config.html_theme_options, config.html_context
    assert options.get("use_repository_button", False) == bool(repository)
    assert bool(options.get("launch_buttons")) == bool(repository)
    assert context["repository"] == repository
    assert context["base_url"] == config.html_baseurl == pages_of(repository)


def test_the_state_of_a_checkout(tmp_path: Path) -> None:
    assert revision(tmp_path) == {}
    (tmp_path / "a").write_text("1")
    git(Project(tmp_path), "init")
    commit(Project(tmp_path))
    clean = revision(tmp_path)
    assert clean["dirty"] is False
    assert len(clean["date"]) == 10
    (tmp_path / "a").write_text("2")
    assert revision(tmp_path) == clean | {"dirty": True}
