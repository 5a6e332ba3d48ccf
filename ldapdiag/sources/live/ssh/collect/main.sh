# ---- The main program.

wait_for_orders() {
    printf '%s\n' "$NONCE waiting"
    while read wait_order; do
        case $wait_order in
            snapshot | tables)
                $wait_order $next_snapshot
                next_snapshot=`expr $next_snapshot + 1` ;;
            configuration) configuration ;;
            logs) logs ;;
            "log "* | "more "*)
                # shellcheck disable=SC2086  # the name of a function, and numbers
                set -- $wait_order
                "$@" ;;
            *) break ;;
        esac
        printf '%s\n' "$NONCE waiting"
    done
}

# Ends what still runs once the session is over: ssh tells the host's programs nothing. The group is that of the session
# (sshd and ldapdiag start one), so that no other program is in it; where $$ leads none, nothing happens.
end_with_session() {
    { test -n "$PPID" && kill -0 "$PPID"; } 2>/dev/null || return 0
    (
        trap '' HUP PIPE TERM
        while kill -0 "$PPID" && kill -0 $$; do sleep 2; done
        kill -TERM -$$
        sleep 1
        kill -KILL -$$
    ) </dev/null >/dev/null 2>&1 &
}

main() {
    SYSTEM=`uname -s 2>/dev/null`
    test -n "$SYSTEM" || SYSTEM=unknown
    # A sh on Windows (Git's, Cygwin's) does not see what PowerShell does, which is asked next.
    case $INTERACTIVE$SYSTEM in 1MINGW* | 1MSYS* | 1CYGWIN*) exit 1 ;; esac
    printf '%s\n' "ldapdiag-collection 1 $NONCE"
    choose_timeout
    choose_rights
    find_namespaces
    know_host
    TABLE=
    host
    test -z "$SUDO_REFUSED" ||
        gap . "sudo -n failed: it needs a password, or is not permitted" "allow sudo without a password (test: sudo -n true), or connect as root"
    test -z "$NAMESPACES_GAP" || gap . "$NAMESPACES_GAP" "$NAMESPACES_HOW"
    next_snapshot=1
    WHOLE=1
    if test "$INTERACTIVE" = 1; then
        end_with_session
        wait_for_orders
    else
        snapshot 1
        configuration
        sleep "$PAUSE"
        snapshot 2
    fi
    printf '%s\n' "$NONCE bye"
    exit 0
}

main
