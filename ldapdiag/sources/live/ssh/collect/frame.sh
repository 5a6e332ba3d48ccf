# ldapdiag: collect the TCP connections of this host and what explains them, for `ldapdiag diagnose`.
# The script reads and prints; it changes nothing, writes no file, and needs no installation. sh collect.sh > HOST.txt
# Keys, passwords and their hashes are never printed: of a configuration, only the settings listed below are, by name.
#
# Portable to any sh, the old one of Solaris included: hence backquotes, expr, and no `local`. No here-documents: some
# shells store them in files.
# All code is in functions, and `main` is called at the very end, so that the shell reads the whole script first.
# Settings, as assignments before the script: NONCE, a word that no file can contain by chance; INTERACTIVE=1, read
# orders from stdin (snapshot, tables, configuration, logs, log, more; access logs are printed on order only);
# LOG, a file to print instead of those of the servers;
# SUDO="sudo -n"; SOCKETS=0, no socket tables; MONITORS=0, no cn=monitor; NAMESPACES=0, this network namespace only;
# EXTENTS=0, database files are listed without their extents;
# PAUSE, seconds between the snapshots; LIMIT, seconds for one command; MORE_PATH, further folders of programs.

NONCE=${NONCE-collection$$}
INTERACTIVE=${INTERACTIVE-0}
LOG=${LOG-}
SUDO=${SUDO-}
SOCKETS=${SOCKETS-1}
MONITORS=${MONITORS-1}
NAMESPACES=${NAMESPACES-1}
EXTENTS=${EXTENTS-1}
PAUSE=${PAUSE-5}
LIMIT=${LIMIT-10}
PATH=/usr/xpg4/bin:$PATH${MORE_PATH-:/usr/sbin:/sbin:/usr/local/sbin:/usr/local/bin:/usr/local/libexec}
LC_ALL=C
LDAPNOINIT=1
export PATH LC_ALL LDAPNOINIT
MOST_NAMESPACES=64
MOST_PROCESSES=64

# ---- The output format: sections between markers.

now() {
    date -u +%Y-%m-%dT%H:%M:%SZ
}

# section FOLDER FILE "WHAT WAS RUN" COMMAND...: print the output of a command between two markers.
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

# first_gap NUMBER FOLDER "REASON" "WHAT TO DO": in the first snapshot only; later ones fail alike.
first_gap() {
    test "$1" = 1 || return 0
    shift
    gap "$@"
}

# has PROGRAM: whether it is installed. `command -v` and `type` are not portable.
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

# limited COMMAND...: for at most LIMIT seconds, where timeout(1) is installed.
limited() {
    $TIMEOUT "$@"
}

# privileged COMMAND...: as root, where permitted.
privileged() {
    $SUDO $TIMEOUT "$@"
}

choose_timeout() {
    TIMEOUT=
    TRYING=
    LONGER=
    for choose_options in "--foreground -k 1" "-k 1" ""; do
        # shellcheck disable=SC2086  # several words, here and wherever TIMEOUT or SUDO are not quoted
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

# within NAMESPACE COMMAND...: in a network namespace, given by its file; `.` is the current one.
within() {
    within_file=$1
    shift
    if test "$within_file" = .; then
        $TIMEOUT "$@"
    else
        $SUDO $TIMEOUT nsenter "--net=$within_file" "$@"
    fi
}

# try_within NAMESPACE COMMAND...: whether it succeeds within a third of LIMIT.
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
