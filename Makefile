# Every target sets up what it needs: Python 3.11+, make and a package index are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test check docs bench faults faults-soak soak papers clean

help:            ## what can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*##/\t/' | expand -t 16

setup: $(READY)  ## a virtual environment with fedclust, its extras and the developer's tools

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("fedclust needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[all]' --group dev
	touch $(READY)

demo: setup      ## cluster the penguins of three islands, none of which sees the others' birds
	$(BIN)/fedclust demo

check: setup     ## format, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check      ## all checks and all tests but the slow ones, with coverage
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --cov --cov-report=term:skip-covered
	$(BIN)/python tests/coverage_floor.py

docs: $(VENV)/.docs  ## the site, in build/site; warnings are errors
	$(BIN)/sphinx-build -q -W --keep-going -j 2 -c docs/site . build/site
	$(BIN)/pytest -q -n 0 tests/docs

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --group docs
	touch $(VENV)/.docs

faults: setup    ## faults in a federation of real processes, ten drawn schedules among them (half an hour)
	$(BIN)/pytest -m e2e tests/e2e

faults-soak: setup ## 100 drawn schedules of up to three faults over real processes (two to three hours)
	FEDCLUST_NEMESIS=100 $(BIN)/pytest -m e2e tests/e2e/test_nemesis.py

soak: setup      ## 10,000 schedules of faults, 100,000 damaged messages, 200 kills; slow tests (an hour and more)
	FEDCLUST_DRAWS=system FEDCLUST_SCHEDULES=10000 FEDCLUST_MUTATIONS=100000 FEDCLUST_KILLS=200 $(BIN)/pytest -n auto \
	  tests/channels/test_schedules.py tests/core/test_wire.py tests/study/test_kills.py
	$(BIN)/pytest -n auto -m slow --ignore=tests/papers tests

papers: setup    ## the papers' experiments: runs that are missing (hours if all are); writes docs/papers.md
	$(BIN)/python -m papers run all --out docs/papers
	$(BIN)/python -m papers page docs/papers --out docs/papers.md
	$(BIN)/pytest -n auto -m slow tests/papers

bench: setup     ## speed and memory, as ratios; writes docs/benchmarks.md
	$(BIN)/python -m benchmarks

clean:           ## remove everything that was made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache \
	  .coverage* dist build docs/examples fedclust-demo.png
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
