# ---- A snapshot: sockets first, because their time matters most.

# snapshot NUMBER: where WHOLE is empty without counters and threads, and with the addresses of each namespace.
snapshot() {
    test "$SOCKETS" = 1 && list_sockets . . "$1"
    for snapshot_one in `current_others`; do
        other "$snapshot_one"
        case $1/$WHOLE in
            1/* | */) section "ns:$OTHER_NAME" host.txt "uname, ip addr, ip route" describe "$OTHER_FILE" "$OTHER_NUMBER" ;;
        esac
        test "$SOCKETS" = 1 && list_sockets "ns:$OTHER_NAME" "$OTHER_FILE" "$1"
        counters "ns:$OTHER_NAME" "$OTHER_FILE" "$1"
    done
    counters . . "$1"
    SERVERS=`find_servers`
    threads . "$OWN_NAMESPACE" "$1"
    middlebox . . "$OWN_NAMESPACE" "$1"
    for snapshot_one in `current_others`; do
        other "$snapshot_one"
        threads "ns:$OTHER_NAME" "net:[$OTHER_NUMBER]" "$1"
        middlebox "ns:$OTHER_NAME" "$OTHER_FILE" "net:[$OTHER_NUMBER]" "$1"
    done
}

# tables NUMBER: print what changes with each connection, from now on. Containers come and go: their namespaces are
# looked for again.
tables() {
    find_namespaces
    WHOLE=
    snapshot "$1"
    host
}

# middlebox FOLDER NAMESPACE NETWORK NUMBER: print the connections of a firewall and a proxy on this host, in each
# snapshot: their clients and servers are sampled at the same time.
middlebox() {
    flows "$1" "$2" "$4"
    sessions "$1" "$3" "$4"
}

# list_sockets FOLDER NAMESPACE NUMBER: print the best socket table available.
list_sockets() {
    test -n "$TABLE" || choose_table
    if test "$TABLE" = none; then
        gap "$1" "cannot list its sockets: neither ss nor netstat works there" "install iproute2 (ss) or net-tools (netstat) there"
    else
        # As root, the table includes the owners.
        # shellcheck disable=SC2086  # a command of several words
        section "$1" "sockets-$3.txt" "$TABLE" as_root_within "$2" $TABLE
    fi
}

# choose_table: set TABLE to the command, once; on Linux the first that works for a small query.
choose_table() {
    case $SYSTEM in
        Linux) choose_table_of_linux ;;
        SunOS) TABLE="netstat -an -P tcp" ;;
        FreeBSD | DragonFly) TABLE="netstat -anW -p tcp" ;;
        Darwin) TABLE="netstat -anl -p tcp" ;;
        *BSD) TABLE="netstat -an -p tcp" ;;
        *) TABLE="netstat -an" ;;
    esac
}

choose_table_of_linux() {
    if has ss && try_within . ss -ltn; then
        TABLE="ss -tanoiep"
    elif has netstat && try_within . netstat -tlnoepW; then
        TABLE="netstat -tanoepW"
    elif has netstat && try_within . netstat -tlnW; then
        TABLE="netstat -tanW"
    elif has netstat && try_within . netstat -tln; then
        TABLE="netstat -tan"
    elif test -r /proc/net/tcp6; then
        TABLE="cat /proc/net/tcp /proc/net/tcp6"
    elif test -r /proc/net/tcp; then
        TABLE="cat /proc/net/tcp"
    else
        TABLE=none
    fi
}

# counters FOLDER NAMESPACE NUMBER
counters() {
    test -n "$WHOLE" && test -r /proc/net/netstat || return 0
    section "$1" "counters-$3.txt" "cat /proc/net/netstat /proc/net/snmp" within "$2" cat /proc/net/netstat /proc/net/snmp
}

# ---- The configuration, printed once: kernel settings, processes, servers, their storage.

configuration() {
    SERVERS=`find_servers`
    configuration_in . . "$OWN_NAMESPACE"
    unplaced_servers
    for configuration_one in `current_others`; do
        other "$configuration_one"
        configuration_in "ns:$OTHER_NAME" "$OTHER_FILE" "net:[$OTHER_NUMBER]"
    done
    storage . "$OWN_NAMESPACE"
    for configuration_one in `current_others`; do
        other "$configuration_one"
        storage "ns:$OTHER_NAME" "net:[$OTHER_NUMBER]"
    done
}

# configuration_in FOLDER NAMESPACE NETWORK
configuration_in() {
    settings "$1" "$2"
    rules "$1" "$2"
    processes "$1" "$3"
    servers "$1" "$3" settings_of
}

SETTINGS="tcp_keepalive_time tcp_keepalive_intvl tcp_keepalive_probes tcp_retries2 tcp_orphan_retries tcp_fin_timeout
    tcp_max_syn_backlog tcp_syncookies ip_forward ip_local_port_range ip_local_reserved_ports tcp_tw_reuse tcp_timestamps"

settings() {
    if test -d /proc/sys/net; then
        section "$1" sysctl.txt "sysctl net.ipv4.tcp_keepalive_time ..." linux_settings "$2"
    elif has sysctl; then
        section "$1" sysctl.txt "sysctl net.inet.tcp" bsd_settings
    fi
}

linux_settings() {
    settings_files=/proc/sys/net/core/somaxconn
    for settings_name in $SETTINGS; do settings_files="$settings_files /proc/sys/net/ipv4/$settings_name"; done
    for settings_name in /proc/sys/net/netfilter/nf_conntrack_*; do
        if test -f "$settings_name"; then settings_files="$settings_files $settings_name"; fi
    done
    # shellcheck disable=SC2086  # a list of files
    within "$1" grep '' $settings_files /dev/null | awk '
        { at = index($0, ":"); name = substr($0, 11, at - 11); gsub("/", ".", name); print name " = " substr($0, at + 1); n++ }
        END { exit n == 0 }'
}

bsd_settings() {
    limited sysctl net.inet.tcp | grep -E '^net\.inet\.tcp\.(keep|always_keepalive|maxtcptw|msl|syncookies|tcp_keep)'
    limited sysctl kern.ipc.somaxconn kern.ipc.soacceptqueue kern.somaxconn 2>/dev/null
    return 0
}

# rules FOLDER NAMESPACE: print the packet filter of a host that forwards packets.
rules() {
    rules_forward=`within "$2" cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding 2>/dev/null </dev/null`
    case $rules_forward in *[1-9]*) ;; *) return 0 ;; esac
    if test $ROOT = 0; then
        gap "$1" "cannot read the rules of its packet filter: not root" "use --sudo"
        return 0
    fi
    if has nft; then section "$1" nft-ruleset.txt "nft list ruleset" rules_of_nft "$2"; fi
    # nft does not list the tables of iptables-legacy.
    rules_tables=`as_root_within "$2" cat /proc/net/ip_tables_names /proc/net/ip6_tables_names 2>/dev/null </dev/null`
    test -n "$rules_tables" || ! has nft || return 0
    for rules_program in iptables ip6tables; do
        rules_command=$rules_program-save
        test -z "$rules_tables" || ! has $rules_program-legacy-save || rules_command=$rules_program-legacy-save
        if has $rules_command; then
            section "$1" $rules_program-save.txt "$rules_command" rules_of_iptables "$2" $rules_command
        fi
    done
}

# rules_of_nft NAMESPACE: print the ruleset, and after all of it a last line: an empty one is a ruleset as well.
rules_of_nft() {
    { as_root_within "$1" nft list ruleset </dev/null && echo "# end of ruleset"; } |
        awk -v most="$MOST_LINES" 'NR <= most || /^# end of ruleset$/ { print; n++ } END { exit !n }'
}

# rules_of_iptables NAMESPACE COMMAND
rules_of_iptables() {
    as_root_within "$1" "$2" </dev/null | awk -v most="$MOST_LINES" 'NR <= most { print; n++ } END { exit !n }'
}

# flows FOLDER NAMESPACE NUMBER: print the connection tracking table, an empty one as well: the count of a namespace may be
# 0 while its table has rows.
flows() {
    test -r /proc/sys/net/netfilter/nf_conntrack_count || return 0
    flows_count=`within "$2" cat /proc/sys/net/netfilter/nf_conntrack_count 2>/dev/null </dev/null`
    test -n "$flows_count" || return 0
    if test $ROOT = 0; then
        test "$flows_count" != 0 || return 0
        first_gap "$3" "$1" "cannot read its connection tracking table ($flows_count entries): not root" "use --sudo"
    elif test -f /proc/net/nf_conntrack; then
        section "$1" "conntrack-$3.txt" "cat /proc/net/nf_conntrack" flows_by "$2" cat /proc/net/nf_conntrack
    elif has conntrack; then
        section "$1" "conntrack-$3.txt" "conntrack -L -p tcp" flows_by "$2" conntrack -L -p tcp
    elif test "$flows_count" != 0; then
        first_gap "$3" "$1" "cannot read its connection tracking table ($flows_count entries): conntrack is not installed" \
            "install conntrack"
    fi
}

# flows_by NAMESPACE COMMAND...: print the flows of TCP that a command lists. If it could be read to its end, the last line
# is their number, and whether packets without an entry were seen there: an empty table may also be one that is not used.
flows_by() {
    flows_in=$1
    shift
    {
        as_root_within "$flows_in" "$@" 2>/dev/null </dev/null && echo "# read"
        # shellcheck disable=SC2016  # awk expands it
        within "$flows_in" awk 'NR > 1 { print "# invalid", $5 }' /proc/net/stat/nf_conntrack 2>/dev/null </dev/null
    } | awk '
        $0 == "# read" { read = 1; next }
        $1 == "#" && $2 == "invalid" { if ($3 !~ /^0*$/) seen = "; packets without an entry were seen"; next }
        $1 == "tcp" || $3 == "tcp" { print; n++ }
        END { if (read) print "# " n + 0 " flow entries" seen; exit !read }'
}
