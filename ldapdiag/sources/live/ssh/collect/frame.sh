# ldapdiag: what this host knows of its TCP connections, for `ldapdiag diagnose`.
# It reads and prints; it changes nothing, writes no file, and needs nothing installed. Run it:  sh collect.sh > HOST.txt
# Keys, passwords and their hashes are never printed: of a configuration only the settings named here are, by name.
#
# Any sh will do, Solaris' old one too: hence backquotes, expr, and no `local`. No here-documents: some shells keep
# them in files.
# Everything stands in functions, and `main` at the very end, so that the shell has read it all before it begins.
# Settings that may stand before it: NONCE, a word no file can know; DIALOG=1, to be told on stdin what to do (look, rest,
# logs: those alone are more than settings, and are read in no other way);
# SUDO="sudo -n"; LOOKS=0, no socket tables; MONITORS=0, no cn=monitor; NAMESPACES=0, this network namespace only;
# PAUSE, seconds between two looks; LIMIT, seconds for one command; MORE_PATH, where else programs are.

NONCE=${NONCE-collection$$}
DIALOG=${DIALOG-0}
SUDO=${SUDO-}
LOOKS=${LOOKS-1}
MONITORS=${MONITORS-1}
NAMESPACES=${NAMESPACES-1}
PAUSE=${PAUSE-5}
LIMIT=${LIMIT-10}
PATH=/usr/xpg4/bin:$PATH${MORE_PATH-:/usr/sbin:/sbin:/usr/local/sbin:/usr/local/bin:/usr/local/libexec}
LC_ALL=C
LDAPNOINIT=1
export PATH LC_ALL LDAPNOINIT
MOST_NAMESPACES=64
MOST_PROCESSES=8

# ---- The frame: sections between markers.

now() {
    date -u +%Y-%m-%dT%H:%M:%SZ
}

# section FOLDER FILE "WHAT WAS RUN" COMMAND...: what the command prints; the end marker follows at once.
section() {
    section_mark=$1\ $2
    section_ran=$3
    shift; shift; shift
    printf '%s\n' "$NONCE begin $section_mark `now` $section_ran"
    "$@" </dev/null 2>/dev/null
    section_exit=$?
    printf '%s\n' "$NONCE end $section_exit `now`"
    return $section_exit
}

# gap FOLDER "REASON" "WHAT TO DO"
gap() {
    printf '%s\n' "$NONCE gap $1 $2${3:+ | $3}"
}

# first_gap NUMBER FOLDER "REASON" "WHAT TO DO": in the first look only; later ones fail as it did.
first_gap() {
    test "$1" = 1 || return 0
    shift
    gap "$@"
}

# has PROGRAM: whether it is there. `command -v` and `type` are not everywhere, or answer differently.
has() {
    has_found=1
    has_ifs=$IFS
    IFS=:
    for has_folder in $PATH; do
        if test -x "$has_folder/$1" && test -f "$has_folder/$1"; then has_found=0; break; fi
    done
    IFS=$has_ifs
    return $has_found
}

# limited COMMAND...: no longer than LIMIT seconds, where timeout(1) is there.
limited() {
    $TIMEOUT "$@"
}

# privileged COMMAND...: as root, where we may.
privileged() {
    $SUDO $TIMEOUT "$@"
}

choose_timeout() {
    TIMEOUT=
    TRYING=
    LONGER=
    for choose_options in "--foreground -k 1" "-k 1" ""; do
        # shellcheck disable=SC2086  # options are several words, here and wherever TIMEOUT or SUDO stand bare
        if timeout $choose_options 5 true </dev/null >/dev/null 2>&1; then
            TIMEOUT="timeout $choose_options $LIMIT"
            TRYING="timeout $choose_options `expr $LIMIT / 3 + 1`"
            LONGER="timeout $choose_options `expr $LIMIT + $LIMIT`"
            return
        fi
    done
}

choose_rights() {
    USER_ID=`id -u 2>/dev/null`
    test -n "$USER_ID" || USER_ID=unknown
    ROOT=0
    if test "$USER_ID" = 0; then
        ROOT=1
        SUDO=
    elif test -n "$SUDO"; then
        if $SUDO true </dev/null >/dev/null 2>&1; then
            ROOT=1
        else
            SUDO=
            SUDO_REFUSED=1
        fi
    fi
}

# within NAMESPACE COMMAND...: in a network namespace, named by its file; `.` is our own.
within() {
    within_file=$1
    shift
    if test "$within_file" = .; then
        $TIMEOUT "$@"
    else
        $SUDO $TIMEOUT nsenter "--net=$within_file" "$@"
    fi
}

# try_within NAMESPACE COMMAND...: whether it works, and soon.
try_within() {
    if test "$1" = .; then
        shift
        $TRYING "$@"
    else
        try_file=$1
        shift
        $SUDO $TRYING nsenter "--net=$try_file" "$@"
    fi </dev/null >/dev/null 2>&1
}

# as_root_within NAMESPACE COMMAND...
as_root_within() {
    if test "$1" = .; then
        shift
        $SUDO $TIMEOUT "$@"
    else
        within "$@"
    fi
}
