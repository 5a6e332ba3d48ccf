# ---- Files that a server's process names: where they are from here, and whether root reads them for it.
#
# Anybody may call a process slapd and name any file in its arguments, and read his own configuration out to us. So a
# path has plain characters or is none, and for an account that is no server's, root lends its rights to nothing but
# what is that account's own or everybody's. What is read is not printed even so, but for settings, by name.

SERVER_ACCOUNTS=" root haproxy dirsrv ldap openldap slapd opendj "

# know_process PID: where its files are (server_root; empty: where ours are), and who runs it.
know_process() {
    server_pid=$1
    server_root=
    server_mounts=
    server_hidden=
    server_jailed=
    server_uid=`account_number "$1"`
    server_trusted=0
    case $SERVER_ACCOUNTS in *" `account_name "$server_uid"` "*) server_trusted=1 ;; esac
    if privileged test -d "/proc/$1/root/." 2>/dev/null </dev/null; then
        server_mounts=`mounts_of "$1"`
        if test "$server_mounts" != "`mounts_of self`"; then
            server_root=/proc/$1/root
        elif privileged test ! "/proc/$1/root/." -ef /. 2>/dev/null </dev/null; then
            server_root=/proc/$1/root
            server_jailed=1
        fi
    elif awk '$1 == "NSpid:" && NF > 2 { found = 1 } END { exit !found }' "/proc/$1/status" 2>/dev/null </dev/null; then
        # In a container, by its other number there: our own file of the same name is another machine's.
        server_hidden=1
    fi
}

mounts_of() {
    privileged ls -l "/proc/$1/ns/mnt" 2>/dev/null </dev/null | sed -n 's/.* -> \(mnt:\[[0-9]*\]\).*/\1/p'
}

# account_number PID: who started it. Not whose rights it has: anybody may start su, and call it slapd.
account_number() {
    account_uid=`awk '$1 == "Uid:" { print $2; exit }' "/proc/$1/status" 2>/dev/null </dev/null`
    if test -n "$account_uid"; then
        echo "$account_uid"
    else
        # Other systems have no such file, or another one of that name.
        account_user=`limited ps -p "$1" -o ruser= 2>/dev/null </dev/null | tr -d ' '`
        test -z "$account_user" || id -u "$account_user" 2>/dev/null
    fi
}

# account_name NUMBER: as this host's own file has it. A directory that is in trouble may be where other names come from.
account_name() {
    test -z "$1" || awk -F: -v uid="$1" '$3 == uid { print $1; exit }' /etc/passwd 2>/dev/null </dev/null
}

# in_root PATH: the same path from here; nothing for one with other than plain characters.
in_root() {
    plain_path "$1" || return 1
    in_root_found=`follow "$1"`
    plain_path "$in_root_found" && printf '%s\n' "$in_root_found"
}

plain_path() {
    case $1 in
        *[!A-Za-z0-9._/-]*) return 1 ;;
        /*) return 0 ;;
        *) return 1 ;;
    esac
}

# follow PATH: from here, links followed within the process' root, where absolute ones begin: by itself the kernel would
# follow a container's /var/run -> /run into our own /run.
follow() {
    if test -z "$server_root"; then
        printf '%s\n' "$1"
    else
        privileged sh -c "$FOLLOW" sh "$server_root" "$1" 2>/dev/null </dev/null
    fi
}

# What another shell does, on Linux only: nowhere else is there a root to be within.
# shellcheck disable=SC2016  # it expands these
FOLLOW='
    left=$2 done= steps=0
    while test -n "$left"; do
        steps=$((steps + 1))
        test $steps -le 100 || exit 1
        part=${left%%/*}
        case $left in */*) left=${left#*/} ;; *) left= ;; esac
        case $part in
            "" | .) continue ;;
            ..) done=${done%/*}; continue ;;
        esac
        if test -h "$1$done/$part"; then
            link=$(readlink "$1$done/$part") || exit 1
            left=$link/$left
            case $link in /*) done= ;; esac
        else
            done=$done/$part
        fi
    done
    printf "%s\n" "$1$done"
'

# file_for_it PATH, socket_for_it PATH: whether it is there, and may be read, or asked, for the process at hand.
file_for_it() {
    test -n "$1" && test -z "$server_hidden" &&
        privileged test -f "$1" 2>/dev/null </dev/null && privileged test -r "$1" 2>/dev/null </dev/null &&
        granted "$1" 8 r
}

socket_for_it() {
    test -n "$1" && test -z "$server_hidden" && privileged test -S "$1" 2>/dev/null </dev/null && granted "$1" 9 w
}

# granted PATH COLUMN LETTER: it is trusted, or the file is its own, or everybody has this right.
granted() {
    test $server_trusted = 1 && return 0
    privileged ls -lnLd "$1" 2>/dev/null </dev/null | awk -v uid="$server_uid" -v at="$2" -v right="$3" '
        NR == 1 && (substr($1, at, 1) == right || $3 == uid) { found = 1 }
        END { exit !found }'
}

# contents FILE: as root, and no more of it than a configuration may have.
contents() {
    privileged dd "if=$1" bs=65536 count=512 2>/dev/null </dev/null
}

# unreadable WHAT PATH: why not. A path that is none is not repeated.
unreadable() {
    unreadable_path=$2
    plain_path "$2" || unreadable_path="a file without a plain path"
    if test -n "$server_hidden"; then
        gap "$servers_folder" "the files of $1, process $server_pid, are in a container, hidden from this user" \
            "ask with --sudo, or as root"
    elif test $ROOT = 1 && test $server_trusted = 0; then
        gap "$servers_folder" "$unreadable_path was not read for $1, process $server_pid, of user $server_uid: no server's account" \
            "if it is a server of yours, name the file: ssh://HOST/PATH"
    else
        gap "$servers_folder" "cannot read $unreadable_path" "ask with --sudo, or as a user who may read it"
    fi
}
