"""What the book says of itself to machines: titles, descriptions, authors, versions, addresses.

``CITATION.cff`` is the source for title, authors, version, date and licence; ``repository.url`` in
``_config.yml`` for every address. Where that is empty no page names one.
"""

from __future__ import annotations

import html
import json
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from docutils import nodes

from xsquared_book.project import BookError, Project, git
from xsquared_book.search import plain

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config


def citation(project: Project) -> dict[str, Any]:
    """What ``CITATION.cff`` says."""
    text = (project.root / "CITATION.cff").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def revision(root: Path) -> dict[str, Any]:
    """Commit, its date, and whether tracked files differ from it; empty outside a git checkout."""
    try:
        commit, date = git(root, "log", "-1", "--format=%h %cs").split()
        dirty = bool(git(root, "status", "--porcelain", "-uno"))
        return {"commit": commit, "date": date, "dirty": dirty}
    except BookError:
        return {}


def pages_of(repository: str) -> str:
    """Where a forge publishes a repository's pages, with a slash; empty where that is not known."""
    host, _, path = repository.removeprefix("https://").rstrip("/").partition("/")
    owner, _, name = path.partition("/")
    forge = {"github.com": "github.io", "gitlab.com": "gitlab.io"}.get(host)
    return f"https://{owner.lower()}.{forge}/{name}/" if forge and name else ""


def how_to_cite(project: Project) -> str:
    """A BibTeX entry, in Markdown."""
    said = citation(project)
    name, _, rest = said["title"].partition(": ")
    address = said.get("repository-code", "")
    fields = {
        "title": f"{{{name}}}: {rest}",
        "author": " and ".join(f"{{{author['name']}}}" for author in said["authors"]),
        "year": str(said["date-released"])[:4],
        "howpublished": f"Jupyter Book, version {said['version']}",
    } | ({"url": address} if address else {})
    lines = [
        textwrap.fill(f"  {key:<12} = {{{value}}},", 72, subsequent_indent=" " * 18)
        for key, value in fields.items()
    ]
    return "\n".join(["```bibtex", f"@misc{{{name}{fields['year']},", *lines, "}", "```"])


def set_addresses(app: Sphinx, config: Config) -> None:
    """Give the pages the repository's address, if one is set, and the state they are made from."""
    project = Project(Path(app.srcdir).parent)
    options, repository = (
        config.html_theme_options,
        config.html_theme_options.get("repository_url", ""),
    )
    if repository:
        options["use_repository_button"] = True
        options["launch_buttons"] = {
            "binderhub_url": "https://mybinder.org",
            "notebook_interface": "jupyterlab",
        }
        config.html_baseurl = config.html_baseurl or pages_of(repository)
    said = citation(project)
    config.html_context |= {
        "repository": repository.rstrip("/"),
        "base_url": config.html_baseurl,
        "revision": revision(project.root),
        "title_of_book": said["title"].partition(":")[0],
        "release_of_book": said["version"],
    }


def description(document: nodes.document) -> str:
    """The page's first paragraph, up to 200 letters of whole words."""
    first = next((plain(p) for p in document.findall(nodes.paragraph) if len(plain(p)) > 40), "")
    words = " ".join(first.split())
    return words if len(words) <= 200 else words[:200].rpartition(" ")[0] + " …"


def add_metadata(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], document: nodes.document | None
) -> None:
    """Describe a page to search engines and to those who pass on its address."""
    if document is None:
        return
    said, base = citation(Project(Path(app.srcdir).parent)), app.config.html_baseurl
    authors = [author["name"] for author in said["authors"]]
    title = html.unescape(re.sub("<[^>]+>", "", context.get("title", "")))
    title = said["title"] if page == app.config.root_doc else title
    told = description(document)
    names = {
        "description": told,
        "citation_title": title,
        "citation_publication_date": str(said["date-released"]),
    }
    graph = {
        "og:title": title,
        "og:description": told,
        "og:type": "book" if page == app.config.root_doc else "article",
    }
    graph["og:site_name"] = said["title"]
    if base:
        graph |= {"og:url": f"{base}{page}.html", "og:image": f"{base}_static/convergence.png"}
    tags = [f'<meta name="{key}" content="{html.escape(value)}" />' for key, value in names.items()]
    tags += [
        f'<meta name="citation_author" content="{html.escape(author)}" />' for author in authors
    ]
    tags += [
        f'<meta property="{key}" content="{html.escape(value)}" />' for key, value in graph.items()
    ]
    if page == app.config.root_doc:
        record = {
            "@context": "https://schema.org",
            "@type": ["Book", "SoftwareSourceCode"],
            "name": said["title"],
            "description": told,
            "author": [{"@type": "Organization", "name": name} for name in authors],
            "version": said["version"],
            "datePublished": str(said["date-released"]),
            "inLanguage": "en",
            "license": f"https://spdx.org/licenses/{said['license']}",
        } | ({"url": base} if base else {})
        tags.append(f'<script type="application/ld+json">{json.dumps(record)}</script>')
    context["metatags"] += "\n    ".join(["", *tags])
    if repository := app.config.html_context["repository"]:
        chapter = page.startswith("chapters/")
        source = f"notebooks/{page.partition('/')[2]}.md" if chapter else f"book/{page}.md"
        if page.startswith("api/"):
            module = f"src/{page.partition('/')[2].replace('.', '/')}"
            source = (
                f"{module}.py"
                if Path(app.srcdir, "..", f"{module}.py").is_file()
                else f"{module}/__init__.py"
            )
        branch = app.config.html_theme_options.get("repository_branch", "main")
        context["source_url"] = f"{repository}/blob/{branch}/{source}"
