#!/bin/sh
# Make .venv, with a pip that knows dependency groups. The Makefile calls it; PYTHON names the interpreter.
set -eu

python=${PYTHON:-python3}

stop() {
    echo "setup: $1" >&2
    exit 1
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    stop "ldapdiag needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."

# Debian ships python3 without ensurepip, and then `python3 -m venv` leaves a broken .venv behind: ask before.
can_make_venv() {
    "$python" -c 'import ensurepip, venv' 2>/dev/null
}

if ! can_make_venv; then
    command -v apt-get >/dev/null ||
        stop "$python lacks the modules venv and ensurepip; install your system's package for them, then try again"
    [ "$(id -u)" -eq 0 ] ||
        stop "$python lacks the module ensurepip; run 'sudo apt-get install python3-venv', then try again"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update --quiet
    apt-get install --yes --quiet --no-install-recommends -o DPkg::Lock::Timeout=300 python3-venv
    can_make_venv ||
        stop "$python still lacks the module ensurepip although python3-venv is installed; name another: make PYTHON=/usr/bin/python3 ..."
fi

.venv/bin/python -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear .venv
.venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
