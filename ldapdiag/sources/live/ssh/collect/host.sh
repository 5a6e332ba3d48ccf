# ---- The host.

# know_host: set the facts that all namespaces of the host share.
know_host() {
    HOST_NAME=`uname -n`
    HOST_SYSTEM=`uname -srm`
    HOST_BOOTED=`boot_time`
    HOST_MACHINE=
    if test -r /proc/sys/kernel/random/boot_id; then HOST_MACHINE=`cat /proc/sys/kernel/random/boot_id`; fi
}

host() {
    section . host.txt "uname, date, ip addr, ip route" describe .
}

# describe NAMESPACE NUMBER
describe() {
    echo "ldapdiag-host 1"
    echo "name: $HOST_NAME"
    echo "system: $HOST_SYSTEM"
    echo "clock: `precise_clock`"
    echo "user: $USER_ID"
    echo "booted: $HOST_BOOTED"
    test -z "$HOST_MACHINE" || echo "machine: $HOST_MACHINE"
    if test "$1" != .; then
        echo "namespace: net:[$2]"
    elif test -n "$OWN_NAMESPACE"; then
        echo "namespace: $OWN_NAMESPACE"
        echo "namespaces-read: $NAMESPACES_READ"
        echo "namespaces-unread: $NAMESPACES_UNREAD"
    fi
    addresses "$1"
    routes "$1"
    test "$1" != . || kernel_lines
}

# precise_clock: with a fraction, where date supports %N.
precise_clock() {
    clock_text=`date -u +%Y-%m-%dT%H:%M:%S.%NZ 2>/dev/null`
    case $clock_text in
        *.[0-9]*[0-9]Z) echo "$clock_text" ;;
        *) now ;;
    esac
}

boot_time() {
    if test -r /proc/stat && grep '^btime ' /proc/stat >/dev/null 2>&1; then
        sed -n 's/^btime //p' /proc/stat
    elif has kstat; then
        kstat -p unix:0:system_misc:boot_time | awk '{ print $2 }'
    else
        sysctl -n kern.boottime 2>/dev/null || who -b
    fi
}

# addresses NAMESPACE: print a line for each address.
addresses() {
    if has ip; then
        within "$1" ip -o addr show | awk '$3 ~ /^inet6?$/ { sub("/.*", "", $4); print "address: " $4 }'
    elif has ifconfig; then
        within "$1" ifconfig -a 2>/dev/null | awk '
            { for (i = 1; i < NF; i++) if ($i ~ /^inet6?$/) {
                address = $(i + 1)
                if (address == "addr:") address = $(i + 2)
                sub("^addr:", "", address); sub("/.*", "", address); sub("%.*", "", address)
                if (address ~ /^[0-9A-Fa-f:.]+$/) print "address: " address
            } }'
    elif test -r /proc/net/fib_trie; then
        within "$1" cat /proc/net/fib_trie | awk '
            $1 == "|--" { address = $2 }
            $1 == "/32" && $2 == "host" && $3 == "LOCAL" && !seen[address]++ { print "address: " address }'
    fi
}

# routes NAMESPACE: print a line for each route; of a table with more than MOST_ROUTES none, for which route applies to an
# address is only known with all of them.
MOST_ROUTES=2000

routes() {
    has ip || return 0
    for routes_family in -4 -6; do
        within "$1" ip -o "$routes_family" route show 2>/dev/null </dev/null | head -`expr $MOST_ROUTES + 1` |
            awk -v most=$MOST_ROUTES '
                { line[NR] = substr($0, 1, 280) }
                END { for (i = 1; i <= NR && NR <= most; i++) print "route: " line[i] }'
    done
}

# kernel_lines: print kernel settings that sysctl does not list.
kernel_lines() {
    case $SYSTEM in
        SunOS) ndd_lines tcp_keepalive_interval tcp_keepalive_abort_interval tcp_conn_req_max_q tcp_conn_req_max_q0 ;;
        HP-UX) ndd_lines tcp_keepalive_interval tcp_keepalives_kill tcp_conn_request_max ;;
        AIX) limited no -a 2>/dev/null </dev/null |
            awk '$1 ~ /^(tcp_keep[a-z]*|somaxconn)$/ { print "kernel: " $1 " = " $3 }' ;;
    esac
    return 0
}

ndd_lines() {
    for ndd_name do
        ndd_value=`limited ndd -get /dev/tcp "$ndd_name" 2>/dev/null </dev/null` && echo "kernel: $ndd_name = $ndd_value"
    done
}

# ---- Network namespaces: OTHERS is a list of NAME:INODE:FILE.

# network_of FILE: the namespace that a link points to, as in net:[4026531840].
network_of() {
    privileged ls -l "$1" 2>/dev/null </dev/null | sed -n 's/.* -> \(net:\[[0-9]*\]\).*/\1/p'
}

find_namespaces() {
    OTHERS=
    NAMESPACES_GAP=
    NAMESPACES_HOW=
    NAMESPACES_READ=1
    NAMESPACES_UNREAD=unknown
    OWN_NAMESPACE=`ls -l /proc/self/ns/net 2>/dev/null | sed -n 's/.* -> \(net:\[[0-9]*\]\).*/\1/p'`
    test -n "$OWN_NAMESPACE" && test "$NAMESPACES" = 1 || return 0
    if test $ROOT = 0; then
        NAMESPACES_GAP="cannot list its other network namespaces (containers): not root"
        NAMESPACES_HOW="use --sudo, or connect as root"
    elif has nsenter; then
        OTHERS=`list_namespaces | name_namespaces`
        count_namespaces
    else
        NAMESPACES_GAP="cannot read its other network namespaces (containers): nsenter is not installed"
        NAMESPACES_HOW="install util-linux there"
    fi
}

# list_namespaces: print `INODE FILE` for each namespace with a name or a process; `hidden PID` for each process whose
# namespace is not readable.
list_namespaces() {
    # shellcheck disable=SC2016  # the shell of root expands it: the current user may not list those folders
    privileged sh -c 'ls -Lid /run/netns/* /var/run/netns/*; ls -ld /proc/[0-9]* /proc/[0-9]*/ns/net' </dev/null 2>/dev/null |
        awk -v own="$OWN_NAMESPACE" '
            $2 ~ "^(/var)?/run/netns/[^:]*$" && NF == 2 { if (!($1 in file)) { file[$1] = $2; order[++n] = $1 }; next }
            $(NF - 1) == "->" && $NF ~ /^net:\[/ {
                id = $NF; gsub(/[^0-9]/, "", id); split($(NF - 2), part, "/"); seen[part[3]] = 1
                if (!(id in file)) order[++n] = id
                # A name takes precedence, then the lowest process.
                if (!(id in file) || ((id in lowest) && part[3] + 0 < lowest[id])) {
                    lowest[id] = part[3] + 0
                    file[id] = "/proc/" part[3] "/ns/net"
                }
                next
            }
            $NF ~ "^/proc/[0-9]+$" { split($NF, part, "/"); process[part[3]] = 1 }
            END {
                gsub(/[^0-9]/, "", own)
                for (i = 1; i <= n; i++) if (order[i] != own) print order[i], file[order[i]]
                for (pid in process) if (!(pid in seen)) print "hidden", pid
            }'
}

# name_namespaces: print NAME:INODE:FILE for each, and `hidden` once if even root cannot read the namespace of a process.
name_namespaces() {
    while read name_id name_file; do
        case $name_id in
            hidden)
                # A process that has ended, and a kernel thread, have no command line.
                if test -z "$name_hidden" && test -n "`tr -d '\000' 2>/dev/null <"/proc/$name_file/cmdline"`"; then
                    name_hidden=1
                    echo hidden
                fi
                continue ;;
        esac
        case $name_file in
            /proc/*)
                name_pid=`expr "$name_file" : '/proc/\([0-9]*\)/'`
                name_name=`plain 2>/dev/null <"/proc/$name_pid/comm"`
                # The process has ended.
                test -n "$name_name" || continue
                name_name=$name_name-$name_pid ;;
            *)
                # A deleted namespace may leave a plain file.
                privileged nsenter "--net=$name_file" true </dev/null >/dev/null 2>&1 || continue
                name_name=`expr "$name_file" : '.*/\(.*\)'`
                case $name_name in
                    [!A-Za-z0-9]* | *[!A-Za-z0-9._-]*) name_name=`printf '%s' "$name_name" | plain` ;;
                esac ;;
        esac
        echo "$name_name:$name_id:$name_file"
    done
}

# plain: convert stdin to one word for a marker.
plain() {
    tr -c 'A-Za-z0-9._\n-' '-' | sed 's/^[^A-Za-z0-9]/x/' | cut -c1-60
}

count_namespaces() {
    NAMESPACES_UNREAD=0
    count_list=
    for count_one in $OTHERS; do
        if test "$count_one" = hidden; then
            NAMESPACES_UNREAD=unknown
            NAMESPACES_GAP="cannot read the network namespace of some processes, even as root"
            NAMESPACES_HOW="run on the host itself: root in a container may not see them"
        elif test $NAMESPACES_READ -gt $MOST_NAMESPACES; then
            test "$NAMESPACES_UNREAD" = unknown || NAMESPACES_UNREAD=`expr $NAMESPACES_UNREAD + 1`
            NAMESPACES_GAP="it has more than $MOST_NAMESPACES network namespaces; only the first were read"
            NAMESPACES_HOW="run ldapdiag there, and name the others: netns:NAME"
        else
            NAMESPACES_READ=`expr $NAMESPACES_READ + 1`
            count_list="$count_list $count_one"
        fi
    done
    OTHERS=$count_list
}

# current_others: print the entries of OTHERS that are unchanged. A process may have ended, and its number may have been
# reused.
current_others() {
    test -n "$OTHERS" || return 0
    current_files=
    for current_one in $OTHERS; do
        other "$current_one"
        current_files="$current_files $OTHER_FILE"
    done
    # shellcheck disable=SC2086,SC2116  # a list of files; entries on one line
    privileged ls -Lid $current_files 2>/dev/null </dev/null | awk -v entries="`echo $OTHERS`" '
        BEGIN {
            n = split(entries, list, " ")
            for (i = 1; i <= n; i++) { split(list[i], part, ":"); entry[part[3]] = list[i]; number[part[3]] = part[2] }
        }
        ($2 in entry) && $1 == number[$2] { print entry[$2] }'
}

# other ENTRY: split an entry of OTHERS into OTHER_NAME, OTHER_NUMBER and OTHER_FILE.
other() {
    other_ifs=$IFS
    IFS=:
    # shellcheck disable=SC2086  # its parts contain no blanks
    set -- $1
    IFS=$other_ifs
    OTHER_NAME=$1
    OTHER_NUMBER=$2
    OTHER_FILE=$3
}
