# Every target makes its own .venv from a bare python3 with pip; the stamps keep it from being made again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CASES ?= tests/cases
DEMO_PROJECT ?= tests/cases/oom-one-rank-skips-batch-nccl-timeout/project
DEMO_RUN ?= mt-big-17
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test check docs bench score clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

demo: $(VENV)/.run ## debug a bundled failing run and print the answer
	$(BIN)/experiment-debugger debug $(DEMO_RUN) --project $(DEMO_PROJECT)

test: $(VENV)/.dev ## ruff, mypy and all tests; a complaint of the first two does not hide the third
	@status=0; $(MAKE) --no-print-directory check || status=1; $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal || status=1; exit $$status

check: $(VENV)/.dev ## ruff and mypy only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.run ## render the generated blocks of references/ again
	$(BIN)/python -m experiment_debugger.report.tables references/coverage.md

bench: $(VENV)/.bench ## cost of the first answer, of the log scan and of the readers, as ratios
	$(BIN)/python tests/benchmarks/bench.py
	$(BIN)/python tests/benchmarks/event_files.py 2000000
	$(BIN)/python tests/benchmarks/wandb_files.py

score: $(VENV)/.run ## score classify-failure on the bundled cases
	$(BIN)/python tests/score.py $(CASES) --command $(BIN)/experiment-debugger

clean: ## remove the environment and the caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist

# Some distributions ship python3 without ensurepip; virtualenv needs only pip.
$(VENV)/.made:
	$(PYTHON) -m venv $(VENV) 2>/dev/null || { rm -rf $(VENV); $(PYTHON) -m pip install --quiet --user virtualenv && $(PYTHON) -m virtualenv --quiet $(VENV); }
	@touch $@

# An editable install compiles nothing, and where bytecode may not be written every start would do it anew.
$(VENV)/.run: pyproject.toml | $(VENV)/.made
	$(PIP) --editable .
	$(BIN)/python -m compileall -q server
	@$(BIN)/experiment-debugger explain oom >/dev/null  # puts the compiled rules into the user's cache
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	$(PIP) --editable '.[dev]'
	$(BIN)/python -m compileall -q server
	@touch $@ $(VENV)/.run

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) --editable '.[bench]'
	@touch $@
