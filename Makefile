# `make help` lists what there is. Everything lives in .venv: the first run builds it, later runs
# only look at the stamps in it.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
PY := $(VENV)/bin/python
NATIVE := $(wildcard native/foyer_native/*.pyx)
PIP := $(PY) -m pip --disable-pip-version-check --no-input
export PIP_ROOT_USER_ACTION := ignore

# The distribution's interpreter first: Debian's CPython ran foyer 9 to 13 % faster than one built
# without PGO. `make PYTHON=…` overrides.
PYTHONS := $(if $(PYTHON),$(PYTHON),/usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11)

# 3.11, venv with pip, and the headers that the extension needs.
USABLE := import sys, sysconfig, pathlib, ensurepip, venv; \
	sys.exit(sys.version_info < (3, 11) or sys.implementation.name != "cpython" \
	or not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists())

# The environment serves this folder: not one that was copied, nor another Python than it was built for.
SOUND := import sys, pathlib, foyer_native.base64url as one, foyer_native.inflate as other; \
	here = pathlib.Path("native").resolve(); \
	sys.exit(not all(pathlib.Path(module.__file__).is_relative_to(here) for module in (one, other)))

# Branch coverage, in percent. Here and not in pyproject.toml, so that a part of the tests can be run alone.
FLOOR := 90

RUN := $(VENV)/.foyer-run
DEV := $(VENV)/.foyer-dev
E2E := $(VENV)/.foyer-e2e
FUZZ := $(VENV)/.foyer-fuzz

# For each target. Their names, as `python -m tests.fuzz --help` has them; none are all.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?=
# A number of inputs for each target: the same ones every time, and nothing at random behind them.
FUZZ_INPUTS ?=

# A stamp over an environment that is not sound is worth nothing.
ifneq ($(wildcard $(VENV)/.foyer-*),)
ifneq ($(shell $(PY) -Ic '$(SOUND)' 2>/dev/null && echo sound),sound)
$(info foyer: $(VENV) no longer fits this folder and is set up again)
$(shell rm -f $(VENV)/.foyer-*)
endif
endif

.PHONY: help demo test conformance check format format-check lint types imports coverage e2e fuzz bench memory rehearsal clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | sort | expand -t 15

demo: $(RUN) ## set everything up and run the demonstration
	@echo "foyer: starting the demonstration"
	@exec $(VENV)/bin/foyer demo

# Coverage is collected here, so that `check` does not run the tests twice. And bytecode is kept: the tests
# start foyer some hundreds of times, and compiling it takes twice as long as starting it.
test: $(DEV) ## set up and run the tests
	@echo "test: pytest, on every core"
	@rm -f .coverage .coverage.*
	@env -u PYTHONDONTWRITEBYTECODE $(PY) -m pytest -n auto --durations=10 --cov --cov-report= $(PYTEST)

# That imports point one way is a test too (tests/test_imports.py).
check: $(E2E) format-check lint types test coverage ## the whole gate: format, lint, types, imports, tests, coverage
	@echo "check: all good"

format: $(DEV) ## format the code
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix --quiet .

format-check: $(DEV)
	@echo "check: format"
	@$(PY) -m ruff format --check .

lint: $(DEV) ## look for mistakes
	@echo "check: lint"
	@$(PY) -m ruff check .

# The end-to-end tests are checked as well, and import Playwright.
types: $(E2E) ## check the types
	@echo "check: types (mypy --strict)"
	@$(PY) -m mypy

imports: $(DEV) ## check that imports point one way
	@echo "check: imports"
	@$(PY) -m pytest --quiet tests/test_imports.py

# A stream's own watch and a shared one: as machines, and over sockets in all four pairings.
CONFORMANCE := $(foreach room,streams pairings,$(wildcard tests/$(room)/test_*conformance.py))

conformance: $(DEV) ## run the public krm-stream conformance data: make conformance DATA=<folder>
	@echo "conformance: krm-stream's scenarios and scopes"
	@FOYER_CONFORMANCE_DATA="$(abspath $(DATA))" $(PY) -m pytest $(CONFORMANCE)

coverage: $(DEV) ## report what the last `make test` covered, against the floor
	@echo "check: branch coverage"
	@$(PY) -m coverage report --fail-under=$(FLOOR)

e2e: $(E2E) ## drive the demonstration in a browser
	@echo "e2e: the demonstration in a browser"
	@if [ -f tests/e2e/run ]; then PATH="$(CURDIR)/$(VENV)/bin:$$PATH" bash tests/e2e/run; \
	else $(PY) -m pytest tests/e2e; fi

fuzz: $(FUZZ) ## look for inputs that break a property
	@echo "fuzz: libFuzzer, $(FUZZ_SECONDS) s a target"
	@$(PY) -m tests.fuzz --seconds $(FUZZ_SECONDS) $(FUZZ_INPUTS:%=--inputs %) $(FUZZ_TARGETS)
ifeq ($(FUZZ_INPUTS),)
	@echo "fuzz: whole exchanges, $(FUZZ_SECONDS) s a pairing"
	@FUZZ_SECONDS=$(FUZZ_SECONDS) $(PY) -m pytest --quiet -n auto tests/pairings/test_stateful.py
endif

bench: $(DEV) ## measure, as ratios; BENCH="small floods" for some of it (bench/README.md)
	@echo "bench: ratios within one run"
	@$(PY) -m bench $(BENCH)

# PEOPLE is how many, 64 unless given; MEMORY="--quick fleet" for a part of it (python -m bench.memory_proof --help).
memory: $(DEV) ## foyer held to 256 MiB, and more people than that is enough for
	@echo "memory: 64 people who each ask for 20 MiB"
	@$(PY) -m bench.memory_proof $(MEMORY)

# SIZE is people, 200 unless given; REAL=1 takes a real API server and issuer (python -m bench.rehearsal --help).
rehearsal: $(DEV) ## 1,800 watches or streams on one replica, and everything back; SIZE=20 for a tenth
	@echo "rehearsal: foyer at its own bounds"
	@$(PY) -m bench.rehearsal $(REHEARSAL)

clean: ## remove what was built, the environment too
	@rm -rf $(VENV) build dist ./*.egg-info .coverage .coverage.* htmlcov .mypy_cache .ruff_cache \
		.pytest_cache .hypothesis native/foyer_native/*.c native/foyer_native/*.so
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# An existing environment is kept when its Python will do, whoever made it.
define ensure-venv
	@if ! $(PY) -c '$(USABLE)' 2>/dev/null || ! $(PY) -m pip --version >/dev/null 2>&1; then \
		if ! command -v cc >/dev/null && ! command -v gcc >/dev/null; then \
			echo "foyer needs a C compiler for its native modules. Debian, Ubuntu: apt-get install gcc libc6-dev;" \
				"Fedora: dnf install gcc" >&2; exit 1; \
		fi; \
		for python in $(PYTHONS); do \
			if $$python -c '$(USABLE)' 2>/dev/null; then found=$$python; break; fi; \
		done; \
		if [ -z "$$found" ]; then \
			echo "foyer needs CPython 3.11 or newer with its headers and venv; tried: $(PYTHONS)." \
				"Debian, Ubuntu: apt-get install python3-dev python3-venv; Fedora: dnf install python3-devel." \
				"Or name one: make PYTHON=/path/to/python3" >&2; exit 1; \
		fi; \
		echo "setup: $(VENV) with $$($$found --version)"; \
		$$found -m venv --clear $(VENV); \
	fi
endef

$(RUN): pyproject.toml $(NATIVE)
	$(ensure-venv)
	@echo "setup: foyer, its libraries and its native modules (a minute the first time)"
	@$(PIP) install --quiet --editable .
	@touch $@

$(DEV): pyproject.toml $(NATIVE)
	$(ensure-venv)
	@echo "setup: foyer, its native modules, and what the tests and checks need (a minute or two the first time)"
	@$(PIP) install --quiet --editable '.[dev]'
	@touch $(RUN) $@

$(E2E): pyproject.toml $(NATIVE)
	$(ensure-venv)
	@echo "setup: what drives a browser"
	@$(PIP) install --quiet --editable '.[dev,e2e]'
	@touch $(RUN) $(DEV) $@

$(FUZZ): pyproject.toml $(NATIVE)
	$(ensure-venv)
	@echo "setup: libFuzzer for Python (wheels alone: building it needs clang)"
	@$(PIP) install --quiet --only-binary atheris --editable '.[dev,fuzz]'
	@touch $(RUN) $(DEV) $@
