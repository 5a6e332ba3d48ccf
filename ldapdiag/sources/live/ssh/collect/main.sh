# ---- The course of it.

wait_for_orders() {
    printf '%s\n' "$NONCE waiting"
    while read wait_order; do
        case $wait_order in
            look) look $next_look; next_look=`expr $next_look + 1` ;;
            rest) rest ;;
            logs) logs ;;
            "log "*)
                # shellcheck disable=SC2086  # its number and a number of bytes
                set -- $wait_order
                log "$2" "$3" ;;
            *) break ;;
        esac
        printf '%s\n' "$NONCE waiting"
    done
}

main() {
    printf '%s\n' "ldapdiag-collection 1 $NONCE"
    SYSTEM=`uname -s 2>/dev/null`
    test -n "$SYSTEM" || SYSTEM=unknown
    choose_timeout
    choose_rights
    find_namespaces
    know_host
    TABLE=
    section . host.txt "uname, date, ip addr" describe .
    test -z "$SUDO_REFUSED" ||
        gap . "sudo asks for a password, or refuses" "allow it without a password (sudo -n true), or connect as root"
    test -z "$NAMESPACES_GAP" || gap . "$NAMESPACES_GAP" "$NAMESPACES_HOW"
    next_look=1
    if test "$DIALOG" = 1; then
        wait_for_orders
    else
        look 1
        rest
        sleep "$PAUSE"
        look 2
    fi
    printf '%s\n' "$NONCE bye"
    exit 0
}

main
