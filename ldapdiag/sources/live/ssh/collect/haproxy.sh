# ---- HAProxy.

# haproxy_of PID: print its settings; of several processes with one configuration, those of the first.
haproxy_of() {
    know_proxy "$1"
    for haproxy_file in `argument "$1" -f`; do
        case $servers_seen in *" $server_mounts$haproxy_file "*) continue ;; esac
        servers_seen="$servers_seen$server_mounts$haproxy_file "
        haproxy_path=`in_root "$haproxy_file"`
        if file_for_it "$haproxy_path"; then
            section "$servers_folder" haproxy.cfg "the timeouts and addresses in $haproxy_path" haproxy_settings "$haproxy_path"
        else
            unreadable haproxy "$haproxy_file"
        fi
    done
}

# know_proxy PID: locate its files. HAProxy changes its root (chroot) after reading them; with the mounts of this host,
# they are in the root of this host.
know_proxy() {
    know_process "$1"
    test -z "$server_jailed" || server_root=
}

# haproxy_settings FILE: one or two words of each keyword listed here, without the remainder, which may be a password.
haproxy_settings() {
    contents "$1" | awk '
        { sub(/\r$/, "") }
        $1 ~ /^(global|defaults|frontend|backend|listen|userlist|peers|resolvers|cache|ring|mailers)$/ {
            print $1 ($2 ~ /^[A-Za-z0-9_.:-]+$/ ? " " $2 : "")
            next
        }
        $1 == "timeout" && $3 ~ /^[0-9]+(us|ms|s|m|h|d)?$/ { print "    " $1 " " $2 " " $3 }
        $1 ~ /^(clitimeout|srvtimeout|contimeout)$/ && $2 ~ /^[0-9]+/ { print "    " $1 " " $2 }
        $1 ~ /^(mode|default_backend|use_backend|bind|source|maxconn)$/ && $2 != "" { print "    " $1 " " $2 }
        $1 == "option" && $2 ~ /^(tcpka|clitcpka|srvtcpka|tcplog)$/ { print "    option " $2 }
        $1 == "server" && $3 != "" { print "    server " $2 " " $3 }'
}

# sessions FOLDER NETWORK NUMBER: print the sessions of the proxies there, each configuration once.
sessions() {
    servers_folder=$1
    sessions_seen=' '
    for sessions_one in `servers_in "$2"`; do
        case $sessions_one in *:haproxy) ;; *) continue ;; esac
        know_proxy "`expr "$sessions_one" : '\([0-9]*\):'`"
        for sessions_file in `argument "$server_pid" -f`; do
            case $sessions_seen in *" $server_mounts$sessions_file "*) continue ;; esac
            sessions_seen="$sessions_seen$server_mounts$sessions_file "
            sessions_path=`in_root "$sessions_file"`
            file_for_it "$sessions_path" && haproxy_sessions "`haproxy_socket "$sessions_path"`" "$3"
        done
    done
}

# haproxy_socket FILE: the first stats socket with a plain path; addresses and abstract names are not supported.
haproxy_socket() {
    contents "$1" | awk '$1 == "stats" && $2 == "socket" {
        sub(/^unix@/, "", $3)
        if ($3 ~ /^\/[A-Za-z0-9._\/-]+$/) { print $3; exit }
    }'
}

# haproxy_sessions PATH NUMBER: by socat, else by perl. in_root permits only characters without a meaning to socat.
haproxy_sessions() {
    if test -z "$1"; then
        first_gap "$2" "$servers_folder" \
            "cannot read the sessions of HAProxy: its configuration names no stats socket with a plain path" \
            "add one: stats socket PATH"
        return 0
    fi
    haproxy_at=`in_root "$1"`
    haproxy_asked="show sess all, asked of $1"
    if socket_for_it "$haproxy_at"; then
        if has socat; then
            section "$servers_folder" "haproxy-sessions-$2.txt" "$haproxy_asked" ask_socat "$haproxy_at"
        elif has perl; then
            section "$servers_folder" "haproxy-sessions-$2.txt" "$haproxy_asked" ask_perl "$haproxy_at"
        else
            first_gap "$2" "$servers_folder" \
                "cannot read the sessions of HAProxy: neither socat nor perl is installed there" \
                "install socat, or save the output of: echo 'show sess all' | socat - UNIX-CONNECT:$1"
        fi
    else
        first_gap "$2" "$servers_folder" "cannot read the sessions of HAProxy: $1 is not an accessible socket" \
            "use --sudo, and check that the socket exists"
    fi
}

ask_socat() {
    echo "show sess all" | $SUDO $TRYING socat -t 5 - "UNIX-CONNECT:$1"
}

ask_perl() {
    # shellcheck disable=SC2016  # Perl expands these
    $SUDO $TRYING perl -MIO::Socket::UNIX \
        -e '$s = IO::Socket::UNIX->new($ARGV[0]) or exit 1; print $s "show sess all\n"; print while <$s>' "$1"
}
