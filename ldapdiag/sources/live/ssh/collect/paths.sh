# ---- Files that a server's process names: their paths on this host, and whether root may read them for it.
#
# Any user may name a process slapd, and name any file in its arguments. So a path must consist of plain characters, and
# for an account that is not a server's, root reads only files that this account owns or that all users may read. Even
# of those, only settings are printed, by name.

SERVER_ACCOUNTS=" root haproxy dirsrv ldap openldap slapd opendj "

# know_process PID: set server_root, the root of its files (empty: the root of this host), and its account.
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
        # A container: it has another process number there, and its files are not those of this host.
        server_hidden=1
    fi
}

mounts_of() {
    privileged ls -l "/proc/$1/ns/mnt" 2>/dev/null </dev/null | sed -n 's/.* -> \(mnt:\[[0-9]*\]\).*/\1/p'
}

# account_number PID: the real user ID, not the effective one: any user may start su under the name slapd.
account_number() {
    account_uid=`awk '$1 == "Uid:" { print $2; exit }' "/proc/$1/status" 2>/dev/null </dev/null`
    if test -n "$account_uid"; then
        echo "$account_uid"
    else
        # Other systems have no such file, or a different one of that name.
        account_user=`limited ps -p "$1" -o ruser= 2>/dev/null </dev/null | tr -d ' '`
        test -z "$account_user" || id -u "$account_user" 2>/dev/null
    fi
}

# account_name NUMBER: from /etc/passwd only; other names may come from the directory server, which may be failing.
account_name() {
    test -z "$1" || awk -F: -v uid="$1" '$3 == uid { print $1; exit }' /etc/passwd 2>/dev/null </dev/null
}

# in_root PATH: the path of a file of the process on this host; nothing for a path with other than plain characters.
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

# follow PATH: as in_root, with links resolved within the root of the process: the kernel would resolve the link
# /var/run -> /run of a container to /run of this host.
follow() {
    if test -z "$server_root"; then
        printf '%s\n' "$1"
    else
        privileged sh -c "$FOLLOW" sh "$server_root" "$1" 2>/dev/null </dev/null
    fi
}

# For another shell, on Linux only: no other system has /proc/PID/root.
# shellcheck disable=SC2016  # that shell expands it
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

# file_for_it PATH, socket_for_it PATH: whether it exists, and may be read or queried for the current process.
file_for_it() {
    test -n "$1" && test -z "$server_hidden" &&
        privileged test -f "$1" 2>/dev/null </dev/null && privileged test -r "$1" 2>/dev/null </dev/null &&
        granted "$1" 8 r
}

socket_for_it() {
    test -n "$1" && test -z "$server_hidden" && privileged test -S "$1" 2>/dev/null </dev/null && granted "$1" 9 w
}

# granted PATH COLUMN LETTER: whether its account is trusted, owns the file, or all users have this permission.
granted() {
    test $server_trusted = 1 && return 0
    privileged ls -lnLd "$1" 2>/dev/null </dev/null | awk -v uid="$server_uid" -v at="$2" -v right="$3" '
        NR == 1 && (substr($1, at, 1) == right || $3 == uid) { found = 1 }
        END { exit !found }'
}

# contents FILE: print its first 32 MiB, as root; no configuration is larger.
contents() {
    privileged dd "if=$1" bs=65536 count=512 2>/dev/null </dev/null
}

# unreadable WHAT PATH: print a gap with the reason. An invalid path is not repeated.
unreadable() {
    unreadable_path=$2
    plain_path "$2" || unreadable_path="a file without a plain path"
    if test -n "$server_hidden"; then
        gap "$servers_folder" "cannot read the files of $1, process $server_pid: they are in a container" \
            "use --sudo, or connect as root"
    elif test $ROOT = 1 && test $server_trusted = 0; then
        gap "$servers_folder" "$unreadable_path was not read for $1, process $server_pid: user $server_uid is not the account of a server" \
            "if this is a directory server, name the file: ssh://HOST/PATH"
    else
        gap "$servers_folder" "cannot read $unreadable_path" "use --sudo, or a user with access to it"
    fi
}
