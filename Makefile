# Everything a fresh machine needs is Python >= 3.11, make and a package registry.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORE ?= .venv-core
FLOORS ?= .venv-floors
RELEASE ?= .venv-release
CODE := packages tests benches examples adapters conftest.py
PACKAGES := packages/segarena packages/segarena-people packages/segarena-server packages/segarena-studio
EDITABLE := $(addprefix -e ,$(PACKAGES))
EXTRAS := -e 'packages/segarena[client,figures,models,radiology,ray]' -e 'packages/segarena-server[oidc,s3]' \
	packages/segarena/tests/plugin_package
# The group of pytest and what else the tests need.
TOOLS := packages/segarena/pyproject.toml:test
STAMP := $(VENV)/.installed

.PHONY: browser demo test install lint types contract tests core-tests docs bench clean help stress test-long \
	test-floors wheels

help:      ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: $(STAMP)      ## judge two segmenters on photographs, write a report, say where it lies
	$(BIN)/segarena demo

# Types take one core for a minute, and the companions' tests leave as much idle while they wait for servers and browsers.
# Both run to their end; what the type checkers print follows the tests, and a failure of either fails the target.
test: $(VENV)/.developed lint contract core-tests      ## style, types, contracts, and the tests that take a moment each: under 10 minutes on two cores
	@mkdir -p build
	@$(MAKE) --no-print-directory types >build/types.txt 2>&1 & checks=$$!; \
	$(MAKE) --no-print-directory tests; tests=$$?; \
	wait $$checks; types=$$?; \
	cat build/types.txt; \
	test $$types = 0 || echo "types failed: the errors are above and in build/types.txt"; \
	test $$tests = 0 || echo "tests failed: their summary is above the output of types"; \
	test $$types = 0 && test $$tests = 0

lint: $(VENV)/.developed      ## style
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

types: $(VENV)/.developed      ## strict types, of Python and of the studio's modules
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	@if command -v tsc >/dev/null; then tsc -p jsconfig.json; \
	else echo "no tsc here, and apt-get cannot install it: types of the studio's modules are not checked"; fi

contract: $(VENV)/.developed      ## lower folders never import higher ones
	$(BIN)/lint-imports

# Each process begins with its part of the tests, in order, so that what the tests of a file share is made once; who is
# done first takes over from the others. There are three on two cores for the core, and four for its companions, because
# tests of servers and browsers wait for a third of their time. Bytecode is kept, or every process that a test starts would compile the package anew.
# Coverage is of lines, by instructions that are taken out as soon as they have run: tracing doubles the time of the suite.
# Each part counts the lines of the packages whose tests it runs, because counting costs time wherever a module is imported.
# The table of coverage lies in build/, so that the last lines printed name what failed.
# Each has one thread: those of several processes on two cores would wait for each other.
# The files of tests that failed are run once more, in one process: among several processes a server or a browser may have
# waited too long for a busy machine. The first list of failures stays in the output, and what fails twice fails.
# The list is in a cache of its own, which begins empty: pytest's usual one also lists what failed in earlier runs, in other
# environments and in files that are gone. Without a list nothing is run again, and the target fails.
PROCESSES ?= 3
COMPANION_PROCESSES ?= 4
COMMA := ,
COMPANION_SOURCES := packages/segarena-people/src$(COMMA)packages/segarena-server/src$(COMMA)packages/segarena-studio/src
FAILED_FILES = import json, sys; print(*sorted({name.split("::")[0] for name in json.load(open(sys.argv[1]))}))
define run_tests
	mkdir -p build
	rm -rf build/cache-$(2)
	$(1) -m slipcover --immediate --source $(4) --out build/coverage-$(2).txt -m pytest -o cache_dir=$(CURDIR)/build/cache-$(2) \
		-n $(5) --dist worksteal $(6) $(3) \
	|| { test $$? = 1 && files=$$($(1) -c '$(FAILED_FILES)' build/cache-$(2)/v/cache/lastfailed) \
		&& test -n "$$files" && $(1) -m pytest $(6) $$files; }
	@tail -n 1 build/coverage-$(2).txt
endef
tests core-tests test-long: export PYTHONDONTWRITEBYTECODE =
tests core-tests test-long: export OMP_NUM_THREADS = 1
tests core-tests test-long: export OPENBLAS_NUM_THREADS = 1
tests core-tests test-long: export POLARS_MAX_THREADS = 1
tests: $(VENV)/.developed browser      ## tests of the companion packages and of the repository, with coverage
	$(call run_tests,$(BIN)/python,companions,packages/segarena-people/tests packages/segarena-server/tests \
	packages/segarena-studio/tests tests,$(COMPANION_SOURCES),$(COMPANION_PROCESSES))

# The core is tested where no companion package is installed: what it needs, it has to bring.
core-tests: $(CORE)/.developed browser      ## tests of the core, in an environment with nothing but the core
	$(call run_tests,$(CORE)/bin/python,core,packages/segarena/tests,packages/segarena/src,$(PROCESSES))

# Pages are tested in a real browser. Where none can be had, these tests are skipped, and say so.
browser:      ## install Debian's Chromium for the tests of pages, where there is no such browser
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	root="sudo -n"; test "$$(id -u)" != 0 || root=; \
	{ $$root apt-get update -qq && $$root apt-get install -qq -y --no-install-recommends chromium >/dev/null; } 2>/dev/null \
	|| echo "no Chromium here, and apt-get cannot install it: tests of pages are skipped until one is on the PATH"

# Tests of all packages run in one environment here: what the core does without the others, shorter tests check.
test-long: $(VENV)/.developed browser      ## the tests that take seconds each, such as walks through pages and killed servers
	$(call run_tests,$(BIN)/python,long,$(addsuffix /tests,$(PACKAGES)) tests,packages/segarena/src$(COMMA)$(COMPANION_SOURCES),\
	$(COMPANION_PROCESSES),-m long)

# Warnings are no errors here: old versions call what newer packages, which they require, deprecate.
FLOOR_TESTS := $(addprefix packages/segarena/tests/,arrays cli/test_run.py datasets files metrics protocol records \
	reports segmenters/learned statistics systems/volumes terminal) \
	packages/segarena-people/tests/formats packages/segarena-server/tests/challenges packages/segarena-server/tests/storage
test-floors: $(FLOORS)/.installed      ## the demo, a board and part of the tests, with the lowest versions of all packages
	$(FLOORS)/bin/segarena demo --out $(FLOORS)/demo
	$(FLOORS)/bin/segarena board $(FLOORS)/demo/graph $(FLOORS)/demo/grabcut --out $(FLOORS)/board
	$(FLOORS)/bin/python -m pytest -n 2 -W default -m 'not browser and not long' $(FLOOR_TESTS)

# The lowest versions of some packages have no wheels for newer Pythons.
$(FLOORS)/.installed: $(addsuffix /pyproject.toml,$(PACKAGES)) tests/version_floors.py
	rm -rf $(FLOORS)
	python3.11 -m venv $(FLOORS)
	$(FLOORS)/bin/python -m pip install --quiet --upgrade pip
	$(FLOORS)/bin/python -m pip install --quiet torch==2.13.0
	$(FLOORS)/bin/python tests/version_floors.py > $(FLOORS)/constraints.txt
	$(FLOORS)/bin/python -m pip install --quiet --constraint $(FLOORS)/constraints.txt $(EDITABLE) $(EXTRAS) --group $(TOOLS)
	@touch $@

stress: $(VENV)/.developed      ## damaged files for every reader and command, edited and killed runs: about an hour
	$(BIN)/python tests/stress
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -n 2 --dist worksteal -m 'hypothesis or long'

bench: $(VENV)/.developed      ## speed, as ratios: one table of figures, limits and changes, in about 25 minutes
	$(BIN)/python benches/run_all.py

docs: $(VENV)/.documented      ## renew what the pages take from the code, build the site into site/
	$(BIN)/python docs/reference.py
	$(BIN)/mkdocs build --strict

install: $(STAMP)      ## make the environment and install segarena into it

wheels: $(RELEASE)/.installed      ## build the wheel and the source distribution of each package into dist/, and check them
	rm -rf dist
	for package in $(PACKAGES); do $(RELEASE)/bin/python -m build --outdir dist $$package || exit 1; done
	$(RELEASE)/bin/twine check --strict dist/*

$(RELEASE)/.installed: pyproject.toml
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --upgrade pip
	$(RELEASE)/bin/python -m pip install --quiet --group release
	@touch $@

$(STAMP): $(addsuffix /pyproject.toml,$(PACKAGES))
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(EDITABLE)
	@touch $@

# torch is pinned here and only here: a range would fetch gigabytes of GPU libraries on a machine without one.
# PostgreSQL and bubblewrap are for tests of the server; where they cannot be installed, these run on SQLite alone, and
# those of strangers' programs are skipped. Node and tsc test the studio's modules and check their types; no user needs them.
$(VENV)/.developed: $(STAMP) pyproject.toml
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet $(EDITABLE) $(EXTRAS)
	$(BIN)/python -m pip install --quiet --group $(TOOLS) --group dev
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || apt-get install --quiet --yes postgresql || true
	command -v bwrap >/dev/null || apt-get install --quiet --yes bubblewrap || true
	command -v node >/dev/null || apt-get install --quiet --yes --no-install-recommends nodejs || true
	command -v tsc >/dev/null || apt-get install --quiet --yes --no-install-recommends node-typescript || true
	@touch $@

$(CORE)/.developed: packages/segarena/pyproject.toml pyproject.toml
	$(PYTHON) -m venv $(CORE)
	$(CORE)/bin/python -m pip install --quiet --upgrade pip
	$(CORE)/bin/python -m pip install --quiet torch==2.13.0
	$(CORE)/bin/python -m pip install --quiet -e 'packages/segarena[client,figures,models,radiology,ray]' \
		packages/segarena/tests/plugin_package --group $(TOOLS)
	@touch $@

# Not .developed: the pages need no torch, whose installation takes longer than everything else here.
$(VENV)/.documented: $(STAMP) pyproject.toml
	$(BIN)/python -m pip install --quiet $(EDITABLE) -e 'packages/segarena[client]' --group docs
	@touch $@

clean:      ## remove the environment and what tools leave
	rm -rf $(VENV) $(CORE) $(FLOORS) $(RELEASE) site build dist .pytest_cache .ruff_cache
