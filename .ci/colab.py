"""Run chapters as Colab would: the cell that installs the package comes first.

Run from the root, in the book's environment: ``python .ci/colab.py FOLDER NAME ...``.
Notebooks are left in the folder, executed by the Python of the environment above it.
"""

import subprocess
import sys
from pathlib import Path

import nbformat

from xsquared.book.project import INSTALL, find_project

project = find_project(Path.cwd())
folder = Path(sys.argv[1]).resolve()
for name in sys.argv[2:]:
    notebook = nbformat.read(project.chapters / f"{name}.ipynb", as_version=4)
    install = INSTALL.format(project.root.as_uri())
    notebook.cells.insert(0, nbformat.v4.new_code_cell(install))
    path = folder / f"{name}.ipynb"
    nbformat.write(notebook, path)
    execute = folder.parent / "bin" / "jupyter-execute"
    command = [execute, "--inplace", "--kernel_name=python3", path]
    subprocess.run(command, cwd=folder, check=True)
