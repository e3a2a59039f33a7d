"""Build the book by plain Sphinx, without Jupyter Book, from _config.yml."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))

# Settings of Sphinx and its extensions, as _config.yml has them.
globals().update(CONFIG["sphinx"]["config"])
globals().update(CONFIG["parse"])

project = CONFIG["title"]
author = CONFIG["author"]
copyright = CONFIG["copyright"]
exclude_patterns = CONFIG["exclude_patterns"]
# What Jupyter Book loads, but for what is inert here.
extensions = [
    "myst_nb",
    "sphinx_book_theme",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_external_toc",
    "sphinx_multitoc_numbering",
    "sphinx_togglebutton",
    "sphinxcontrib.bibtex",
    *CONFIG["sphinx"]["extra_extensions"],
]
external_toc_path = str(ROOT / "_toc.yml")
external_toc_exclude_missing = CONFIG["only_build_toc_files"]
html_title = project
html_theme = "sphinx_book_theme"
html_favicon = str(ROOT / CONFIG["html"]["favicon"])
# Sphinx and its extensions look for these beside conf.py.
bibtex_bibfiles = [str(ROOT / path) for path in CONFIG["bibtex_bibfiles"]]
html_static_path = [
    str(ROOT / path) for path in CONFIG["sphinx"]["config"]["html_static_path"]
]
html_extra_path = [
    str(ROOT / path) for path in CONFIG["sphinx"]["config"]["html_extra_path"]
]
nb_execution_mode = CONFIG["execute"]["execute_notebooks"]
numfig = True
myst_url_schemes = ["mailto", "http", "https"]
suppress_warnings = ["myst.domains"]
