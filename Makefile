# A fresh machine with git, make and python3 needs two commands:
#
##   make demo    set up, then diagnose the incident in examples/incident
##   make test    set up with the developer's tools, then run every check of the house
##   make bench   set up, then measure how fast it reads and judges
##   make clean   remove what the commands above made
#
# Where there is cargo, the first three build the native log scanner, too (native/), and the second checks it; elsewhere the one in Python
# reads logs.
# All of it lands in .venv and in caches beside it. Only for root, setup.sh calls apt-get: for Python's venv where it is missing,
# and, before the tests, for the directory servers that some of them start.
# The stamps in .venv spare the second run the installation; a newer pyproject.toml asks for it again.

BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet

export PYTHON ?= python3
export PIP_CACHE_DIR ?= $(CURDIR)/.venv/pip-cache

.DEFAULT_GOAL := help
.PHONY: help demo test bench clean

help:
	@sed -n 's/^## //p' Makefile

# Findings at or above --fail-on (by default: high) end `ldapdiag diagnose` with 1, and the demo has a critical one.
# With `never` they end it with 0; a crashed check or a traceback still gives 1 and unreadable evidence 2: those fail here.
demo: .venv/installed .venv/native
	$(BIN)/ldapdiag diagnose examples/incident --fail-on never

test: .venv/developing .venv/servers .venv/native
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@sh setup.sh check-native
	$(BIN)/pytest

bench: .venv/developing .venv/servers .venv/native
	PYTHONPATH=tests $(BIN)/python bench/run.py

clean:
	rm -rf .venv dist .*_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/made:
	@sh setup.sh
	touch $@

.venv/installed: pyproject.toml .venv/made
	$(PIP) --editable .
	touch $@

# Without cargo there is no stamp, and the line that says so comes again.
.venv/native: native/pyproject.toml native/Cargo.toml native/Cargo.lock native/ldapdiag_native.pyi $(wildcard native/src/*.rs native/src/*/*.rs) .venv/made
	@sh setup.sh native

.venv/servers: setup.sh .venv/made
	@sh setup.sh servers
	touch $@

.venv/developing: pyproject.toml .venv/installed
	$(PIP) --group dev
	touch $@
