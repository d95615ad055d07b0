# Every target sets up what it needs: python3 (3.11 or newer, with venv) and make are enough.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DEMO   := .venv-demo
# One process more than can run at once: some tests wait, for a lock to get stale or for a screen.
JOBS   ?= $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')
PYTEST_ARGS ?=
QUICK := tests/rewrite tests/claude tests/plan tests/run tests/transfer tests/output tests/e2e tests/inspect tests/test_architecture.py tests/test_shape.py
CLIENT ?=
RUNS   ?= 1000000
TARGET ?=
MODULE ?=
BY_HAND ?=

# Nothing is written to the home directory, not even pip's cache.
export PIP_NO_CACHE_DIR := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Compiled tests are kept: else every worker compiles all of them again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help venv demo quick test test-all test-kill test-lives test-windows test-apfs check format test-client bench fuzz mutants dist man picture clean

help:
	@echo "make demo         the whole cycle on sample data in a temporary directory"
	@echo "make quick        the inner loop: tests of single modules and of the command line, under a minute"
	@echo "make test         tests without the client, sweeps as a sample (PYTEST_ARGS=..., JOBS=0 for one process)"
	@echo "make test-all     everything: every point and combination, and the client"
	@echo "make test-kill    moves and undos, killed at every call"
	@echo "make test-lives   300 lives: moves, undos and work in between in any order (CCMOVE_SEED=first)"
	@echo "make test-windows the suite under Wine, with a Windows Python"
	@echo "make test-apfs    shapes, end-to-end tests and crash samples where names are as on macOS"
	@echo "make check        ruff and mypy, one version everywhere, and what follows a schema"
	@echo "make format       let ruff fix what it can"
	@echo "make test-client  tests against the real client (CLIENT=version for one version)"
	@echo "make mutants      does some test notice each small fault? (MODULE=name for one module, BY_HAND=1 without mutmut)"
	@echo "make bench        measure (ROWS=growth for those rows alone)"
	@echo "make fuzz         a million inputs for each target (RUNS=..., TARGET=... for one of them)"
	@echo "make dist         build the packages, look into them, and try each in an empty environment"
	@echo "make man          rewrite manual page, completions and the README's list from the command line's help"
	@echo "make picture      redraw the README's pictures from a run of the demo"
	@echo "make clean        remove what the other targets made"

venv: $(READY)

# pip older than 25.1 does not know dependency groups, so the environment gets its own newer one.
# pip asks rustc for its version, and a rustup shim would write settings into the home directory.
$(READY): export RUSTUP_HOME := $(CURDIR)/$(VENV)/rustup
$(READY): pyproject.toml constraints-dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ccmove needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev --constraint constraints-dev.txt
	@touch $@

# Only what the program itself needs, in an environment of its own: the tools take most of a minute.
$(DEMO)/.ready: export RUSTUP_HOME := $(CURDIR)/$(DEMO)/rustup
$(DEMO)/.ready: pyproject.toml
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --editable .
	@touch $@

demo: $(DEMO)/.ready
	$(DEMO)/bin/ccmove demo

# No strace, no client, no sweeps: what a change breaks is mostly seen here.
quick: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) -m "not exhaustive and not client and not crash and not limits and not slow" $(QUICK) $(PYTEST_ARGS)

# One by one: some tests take a minute, and nobody should wait for one worker with a row of them.
test: $(READY)
	$(BIN)/python -m pytest -n $(JOBS) --maxschedchunk 1 -m "not exhaustive and not client" $(PYTEST_ARGS)

# Without npm there is no client, without Wine none for Windows: their tests are skipped then, and say why.
test-all: $(READY)
	-scripts/install-clients
	-PYTHON=$(BIN)/python scripts/install-windows-client
	CCMOVE_EXHAUSTIVE=1 $(BIN)/python -m pytest -n $(JOBS) --maxschedchunk 1 $(PYTEST_ARGS)

# An unpack is killed at a sample of its calls, by `make test`.
test-kill: $(READY)
	CCMOVE_EXHAUSTIVE=1 $(BIN)/python -m pytest tests/crash/test_kill.py -n $(JOBS) --maxschedchunk 1 -k "not unpack" $(PYTEST_ARGS)

test-lives: $(READY)
	CCMOVE_EXHAUSTIVE=1 $(BIN)/python -m pytest tests/lives -n $(JOBS) --maxschedchunk 1 $(PYTEST_ARGS)

test-windows: $(READY)
	scripts/test-windows $(PYTEST_ARGS)

test-apfs: $(READY)
	scripts/test-apfs $(PYTEST_ARGS)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict
	$(BIN)/python scripts/shape --gate
	$(BIN)/python scripts/version check
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
	$(BIN)/check-jsonschema --quiet --check-metaschema docs/ccmove.schema.json

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test-client: $(READY)
	scripts/install-clients $(CLIENT)
	-PYTHON=$(BIN)/python scripts/install-windows-client
	CLIENT='$(CLIENT)' $(BIN)/python -m pytest tests/client -m client -n $(JOBS) $(PYTEST_ARGS)

mutants: $(READY)
	$(BIN)/python -m pip install --quiet --group mutants
	$(BIN)/python -m tests.mutants.run $(if $(BY_HAND),--by-hand) $(MODULE)

bench: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" benchmarks/run $(if $(ROWS),--only "$(ROWS)")

# atheris is not among the others, since it can't be had everywhere.
$(VENV)/.fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --group fuzz
	@touch $@

fuzz: $(VENV)/.fuzz
	$(BIN)/python fuzz/run $(TARGET) --runs $(RUNS)

# Both are in the package, so that they are there once it is installed.
man: $(READY)
	$(BIN)/python man/make.py > man/ccmove.1.new
	mv man/ccmove.1.new man/ccmove.1
	$(BIN)/python man/make.py README.md > README.md.new
	mv README.md.new README.md
	$(BIN)/ccmove completion bash > completions/ccmove.bash
	$(BIN)/ccmove completion zsh > completions/_ccmove
	$(BIN)/ccmove completion fish > completions/ccmove.fish

$(VENV)/.dist: $(READY)
	$(BIN)/python -m pip install --quiet --group dist --constraint constraints-dev.txt
	@touch $@

dist: $(VENV)/.dist
	$(BIN)/python scripts/dist

picture: $(READY)
	$(BIN)/python docs/picture.py docs

clean:
	rm -rf $(VENV) $(DEMO) .venv-windows mutants dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
