# The environment is .venv/ at the root, made on first use and again when the lock changes.
PYTHON ?= python3
VENV := .venv/bin

.PHONY: book test speedrun clean

book: .venv/installed
	$(VENV)/xsquared book

# One thread a process: two that spin for the same cores take many times as long. Chapters come first,
# as a long one at the end would keep one core waiting.
test: .venv/installed
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy
	OMP_NUM_THREADS=1 $(VENV)/python -m pytest book/chapters tests --nbval --nbval-current-env -n 2 --dist loadfile --no-loadscope-reorder

speedrun: .venv/installed
	$(VENV)/xsquared speedrun

clean:
	rm -rf _build .venv

.venv/installed: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(v < (3, 11) and f"Python 3.11 or newer is needed, {sys.executable} is {v[0]}.{v[1]}; name another with: make PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(VENV)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(VENV)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@
