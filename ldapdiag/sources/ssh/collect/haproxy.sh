# ---- HAProxy.

haproxy_of() {
    for haproxy_file in `argument "$1" -f`; do
        haproxy_path=$server_root$haproxy_file
        case $servers_told in *" $haproxy_file "*) continue ;; esac
        servers_told="$servers_told$haproxy_file "
        if readable "$haproxy_path" && privileged test -f "$haproxy_path" </dev/null; then
            section "$servers_folder" haproxy.cfg "the timeouts and addresses in $haproxy_file" haproxy_settings "$haproxy_path"
            haproxy_sessions "`haproxy_socket "$haproxy_path"`"
        else
            unreadable "$haproxy_path"
        fi
    done
}

# haproxy_settings FILE: of each keyword named here a word or two; what follows, where passwords stand, is left out.
haproxy_settings() {
    privileged cat "$1" | awk '
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

haproxy_socket() {
    privileged cat "$1" 2>/dev/null </dev/null | awk '$1 == "stats" && $2 == "socket" { print $3; exit }'
}

haproxy_sessions() {
    case $1 in
        /*) ;;
        *)
            gap "$servers_folder" "the sessions of HAProxy cannot be asked: its configuration names no stats socket" \
                "add one: stats socket PATH"
            return 0 ;;
    esac
    haproxy_said="show sess all, asked of $1"
    if has socat; then
        section "$servers_folder" haproxy-sessions.txt "$haproxy_said" ask_socat "$server_root$1"
    elif has perl; then
        section "$servers_folder" haproxy-sessions.txt "$haproxy_said" ask_perl "$server_root$1"
    else
        gap "$servers_folder" "the sessions of HAProxy cannot be asked there: neither socat nor perl is installed" \
            "echo 'show sess all' | socat - UNIX-CONNECT:$1"
    fi
}

ask_socat() {
    echo "show sess all" | $SUDO $TRYING socat -t 5 - "UNIX-CONNECT:$1"
}

ask_perl() {
    # shellcheck disable=SC2016  # these are words of Perl
    $SUDO $TRYING perl -MIO::Socket::UNIX \
        -e '$s = IO::Socket::UNIX->new($ARGV[0]) or exit 1; print $s "show sess all\n"; print while <$s>' "$1"
}
