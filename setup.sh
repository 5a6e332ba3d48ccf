#!/bin/sh
# The Makefile calls it.
#   setup.sh            make .venv, with a pip that knows dependency groups; PYTHON names the interpreter
#   setup.sh servers    install what the laboratory tier needs: directory servers, and what makes a laboratory of hosts; without
#                       it that tier fails
#   setup.sh native     build the native log scanner (native/) and install it into .venv, where there is cargo; where it cannot be
#                       built, a line says so and logs are read by the scanner in Python, more slowly
#   setup.sh check-native       run cargo's checks of it; where LDAPDIAG_REQUIRE_LAB is set, its memory test, too;
#                       a line names what cannot be run, without cargo or the crates, and fails in that case
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

# The S3 server of the laboratory is a Go module; the tests that need it fail without it.
build_s3_server() {
    [ ! -x .venv/bin/versitygw ] || return 0
    echo "setup: compiling the S3 server of the laboratory (about 2 min)"
    all_there go && GOBIN="$PWD/.venv/bin" GOCACHE="$PWD/.venv/go-cache" go install github.com/versity/versitygw/cmd/versitygw@v1.8.0 > .venv/go.log 2>&1 && rm -rf .venv/go-cache ||
        echo "setup: no S3 server here, so its tests will fail; it needs Go (see .venv/go.log)" >&2
}

# It is compiled, against libkrb5-dev.
install_gssapi() {
    .venv/bin/python -c "import gssapi, cryptography" 2>/dev/null || .venv/bin/python -m pip install --quiet gssapi cryptography > .venv/gssapi.log 2>&1 ||
        echo "setup: no gssapi here, so its test will fail (see .venv/gssapi.log)" >&2
}

if [ "${1:-}" = servers ]; then
    build_s3_server
    packages="389-ds-base python3-lib389 libnss3-tools slapd ldap-utils haproxy iproute2 openssl procps"
    packages="$packages openssh-server openssh-client sudo nftables conntrack util-linux socat nslcd libnss-ldapd python3-ldap default-jdk-headless zsh fish mandoc"
    packages="$packages e2fsprogs xfsprogs btrfs-progs fio gcc libc6-dev libfuse3-dev lvm2 mdadm kmod systemd chromium prometheus icinga2-bin curl tmux"
    packages="$packages samba samba-ad-provision samba-dsdb-modules samba-vfs-modules ldb-tools krb5-user libkrb5-dev rpm"
    case $(uname -m) in x86_64) packages="$packages user-mode-linux" uml=linux.uml ;; *) uml= ;; esac # there is no other
    if all_there ns-slapd dscreate pk12util slapd ldapmodify haproxy ip openssl sysctl sshd ssh sudo nft conntrack nsenter socat nslcd javac zsh fish mandoc tune2fs mkfs.xfs mkfs.btrfs fio cc lvm mdadm modprobe systemd-analyze chromium promtool icinga2 curl tmux samba samba-tool ldbsearch kinit krb5-config rpm $uml && [ -e /usr/include/fuse3/fuse.h ] && [ -e /usr/lib/*/samba/vfs/acl_xattr.so ] && /usr/bin/python3 -c "import ldap" 2>/dev/null; then
        install_gssapi
        exit 0
    elif command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ] && apt_install_stopped $packages; then
        install_gssapi
        exit 0
    fi
    echo "setup: no directory servers or no laboratory here, so its tests will fail; on Debian: apt-get install $packages" >&2
    exit 0
fi

export CARGO_TARGET_DIR="$PWD/.venv/native-target"
export PYO3_PYTHON="$PWD/.venv/bin/python"

if [ "${1:-}" = native ]; then
    if ! all_there cargo; then
        echo "setup: no cargo here, so logs are read by the scanner in Python, more slowly; rustup.rs brings it" >&2
        exit 0
    fi
    echo "setup: compiling the native log scanner (about 40 s)"
    if .venv/bin/python -m pip install --quiet --force-reinstall --no-deps ./native > .venv/native.log 2>&1; then
        touch .venv/native
    else
        rm -f .venv/native
        .venv/bin/python -m pip uninstall --quiet --yes ldapdiag-native >> .venv/native.log 2>&1
        echo "setup: cargo cannot build native/ (see .venv/native.log), so logs are read by the scanner in Python, more slowly" >&2
    fi
    exit 0
fi

not_here() {
    [ -z "${LDAPDIAG_REQUIRE_LAB:-}" ] || stop "$1, and LDAPDIAG_REQUIRE_LAB is set: the native scanner must be $2, too"
    echo "setup: $1, so the native scanner is not $2" >&2
}

# What is needed here, of what Cargo.lock names.
have_crates() {
    cargo fetch --quiet --locked --target "$(rustc -vV | sed -n 's/^host: //p')" --manifest-path "$1" 2> .venv/crates.log
}

if [ "${1:-}" = check-native ]; then
    if ! all_there cargo; then
        not_here "no cargo here" tested
    elif ! have_crates native/Cargo.toml; then
        not_here "the crates of native/ are out of reach (see .venv/crates.log)" tested
    else
        (
            cd native
            cargo fmt --check
            cargo clippy --quiet --all-targets --all-features -- -D warnings
            cargo test --quiet
        )
        [ -e .venv/native ] || not_here "the wheel of native/ could not be built (see .venv/native.log)" "compared with the reference"
        [ -z "${LDAPDIAG_REQUIRE_LAB:-}" ] || (cd native && cargo test --quiet --release --test memory)
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

echo "setup: making .venv"
.venv/bin/python -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear .venv
.venv/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
