#!/bin/sh
# The Makefile calls it.
#   setup.sh            make .venv, with a pip that knows dependency groups; PYTHON names the interpreter
#   setup.sh servers    install what the live tests need: directory servers, and what makes a laboratory of hosts; without it they
#                       are skipped, or fail where LDAPDIAG_REQUIRE_LAB is set, as in CI
#   setup.sh native     build the native log scanner (native/) and install it into .venv, where there is cargo; where it cannot be
#                       built, a line says so and logs are read by the scanner in Python, more slowly
#   setup.sh check-native       run cargo's checks of it; fails where it could not be built, or there is no cargo and
#                       LDAPDIAG_REQUIRE_LAB is set
set -eu

python=${PYTHON:-python3}

stop() {
    echo "setup: $1" >&2
    exit 1
}

apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update --quiet
    apt-get install --yes --quiet --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

# Debian starts a server when it is installed; nobody asked for one to run on this machine.
apt_install_stopped() {
    policy=/usr/sbin/policy-rc.d
    if [ -e "$policy" ]; then
        apt_install "$@"
    else
        printf '#!/bin/sh\nexit 101\n' > "$policy"
        chmod 755 "$policy"
        trap 'rm -f "$policy"' EXIT
        apt_install "$@"
    fi
}

all_there() {
    for tool; do command -v "$tool" >/dev/null || return 1; done
}

if [ "${1:-}" = servers ]; then
    packages="389-ds-base python3-lib389 libnss3-tools slapd ldap-utils haproxy iproute2 openssl procps"
    packages="$packages openssh-server openssh-client sudo nftables conntrack util-linux socat"
    if all_there ns-slapd dscreate pk12util slapd ldapmodify haproxy ip openssl sysctl sshd ssh sudo nft conntrack nsenter socat; then
        exit 0
    elif command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ] && apt_install_stopped $packages; then
        exit 0
    fi
    echo "setup: no directory servers or no laboratory here, so live tests will be skipped; on Debian: apt-get install $packages" >&2
    exit 0
fi

export CARGO_TARGET_DIR="$PWD/.venv/native-target"
export PYO3_PYTHON="$PWD/.venv/bin/python"

if [ "${1:-}" = native ]; then
    if ! all_there cargo; then
        echo "setup: no cargo here, so logs are read by the scanner in Python, more slowly; rustup.rs brings it" >&2
    elif .venv/bin/python -m pip install --quiet --force-reinstall --no-deps ./native > .venv/native.log 2>&1; then
        touch .venv/native
    else
        rm -f .venv/native
        echo "setup: cargo cannot build native/ (see .venv/native.log), so logs are read by the scanner in Python, more slowly" >&2
    fi
    exit 0
fi

if [ "${1:-}" = check-native ]; then
    if ! all_there cargo; then
        [ -z "${LDAPDIAG_REQUIRE_LAB:-}" ] || stop "no cargo here, and LDAPDIAG_REQUIRE_LAB is set: the native scanner must be tested, too"
        exit 0
    fi
    [ -e .venv/native ] || stop "the native scanner could not be built: see .venv/native.log"
    cd native
    cargo fmt --check
    cargo clippy --quiet --all-targets --all-features -- -D warnings
    cargo test --quiet
    cargo test --quiet --release --test memory
    if all_there c++; then
        sh fuzz/run.sh 60
    elif [ -n "${LDAPDIAG_REQUIRE_LAB:-}" ]; then
        stop "no C++ compiler here, and LDAPDIAG_REQUIRE_LAB is set: the native scanner must be fuzzed, too"
    else
        echo "setup: no C++ compiler here, so the native scanner is not fuzzed" >&2
    fi
    exit 0
fi

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
    apt_install python3-venv
    can_make_venv ||
        stop "$python still lacks the module ensurepip although python3-venv is installed; name another: make PYTHON=/usr/bin/python3 ..."
fi

.venv/bin/python -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear .venv
.venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
