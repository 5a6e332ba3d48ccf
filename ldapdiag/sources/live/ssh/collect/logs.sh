# ---- Access logs, located by the configuration of the servers. They are listed first; then a file is printed by its
# number in that list, so that no path comes from outside.

MOST_ROTATED=100
# Text in a line of an access log of any supported server. A file without it is not printed.
LOG_LINE='conn=[0-9I]|"conn_id"|"connection-id"|"connectionI[Dd]"|"connId"'

# logs: print a list for each namespace: lines of NUMBER SERVER BYTES PATH, the newest file of each server first.
logs() {
    LOG_FILES=$LOG
    logs_count=0
    if test -n "$LOG"; then
        logs_list=1:1:0:$LOG
        section . access-logs.txt "the log that was named" logs_listed
        return
    fi
    SERVERS=`find_servers`
    logs_in . "$OWN_NAMESPACE"
    for logs_one in `current_others`; do
        other "$logs_one"
        logs_in "ns:$OTHER_NAME" "net:[$OTHER_NUMBER]"
    done
}

# logs_in FOLDER NETWORK
logs_in() {
    logs_list=
    servers "$1" "$2" log_of
    test -z "$logs_list" || section "$1" access-logs.txt "ls -t, of the servers' access logs" logs_listed
}

logs_listed() {
    for logs_one in $logs_list; do echo "$logs_one" | tr ':' ' '; done
}

# log NUMBER BYTES: print the last BYTES of a file, 0 for all.
log() {
    log_file "$1"
    section . "access-log-$1" "tail -c $2 $log_one" log_content "$log_one" "$2"
}

log_file() {
    # shellcheck disable=SC2086  # a list of paths without blanks
    log_one=`echo $LOG_FILES | cut -d " " -f "$1"`
}

log_content() {
    log_sample "$1" 2>/dev/null </dev/null | grep -E "$LOG_LINE" >/dev/null || return 9
    if test "$2" = 0; then
        $SUDO $LONGER cat "$1"
    else
        $SUDO $LONGER tail -c "$2" "$1"
    fi
}

# log_sample FILE: print its beginning and its end; of a compressed file its beginning.
log_sample() {
    case $1 in
        *.gz) privileged dd "if=$1" bs=65536 count=1 | gzip -dc ;;
        *)
            privileged dd "if=$1" bs=65536 count=1
            privileged tail -c 65536 "$1" ;;
    esac
}

# log_of PID PROGRAM INSTANCE
log_of() {
    case $2 in
        ns-slapd) ns_slapd_log "$1" ;;
        slapd) openldap_log "$1" ;;
        java) java_log "$1" "$3" ;;
    esac
}

ns_slapd_log() {
    find_ns_slapd "$1" || return 0
    if test "`dse_value nsslapd-accesslog-logging-enabled`" = off; then
        gap "$servers_folder" "ns-slapd, process $1, writes no access log" "set nsslapd-accesslog-logging-enabled: on"
    else
        list_log ns-slapd "`dse_value nsslapd-accesslog`"
    fi
}

openldap_log() {
    log_path=
    log_known=
    if find_openldap "$1"; then
        log_known=1
        if test -n "$openldap_folder"; then
            log_config=`follow "$openldap_folder/cn=config.ldif"`
            log_path=`contents "$log_config" | ldif_value olclogfile`
        else
            log_path=`contents "$openldap_config" | awk 'tolower($1) == "logfile" { gsub(/"/, "", $2); print $2; exit }'`
        fi
    fi
    test -n "$log_path" || log_path=`error_file "$1"`
    if test -n "$log_path"; then
        list_log slapd "$log_path"
    elif test -n "$log_known"; then
        gap "$servers_folder" "slapd, process $1, logs to syslog; its configuration does not name the file" \
            "find the file of facility local4 (grep -r local4 /etc/*syslog*), and name it: ssh://HOST/PATH"
    fi
}

# error_file PID: the file that its standard error is redirected to.
error_file() {
    error_path=`privileged ls -l "/proc/$1/fd/2" 2>/dev/null </dev/null | sed -n 's/.* -> //p'`
    error_at=`in_root "$error_path"`
    if file_for_it "$error_at"; then echo "$error_path"; fi
}

java_log() {
    java_config=`in_root "$2"`
    if file_for_it "$java_config"; then
        java_path=`contents "$java_config" | java_log_file`
        case $java_path in
            /* | '') ;;
            *) java_path=`expr "$2" : '\(.*\)/[^/]*/[^/]*$'`/$java_path ;;
        esac
        list_log java "$java_path"
    else
        unreadable java "$2"
    fi
}

# java_log_file: from the LDIF on stdin, the file of a publisher that logs all accesses; of several, a plain text log.
java_log_file() {
    awk '
        function ended(    worth) {
            if (file == "" && folder != "") file = folder "/" (stem == "" ? "ldap-access" : stem) ".audit.json"
            worth = 1 + !filtered + (file ~ /(^|\/)access$/)
            if (publishes && enabled && file != "" && worth > best) { best = worth; chosen = file }
            publishes = enabled = filtered = 0
            file = folder = stem = ""
        }
        function judge(line,    at, name, value) {
            if (line == "") { ended(); return }
            at = index(line, ":")
            name = tolower(substr(line, 1, at - 1)); value = substr(line, at + 1); sub(/^ */, "", value)
            if (name == "objectclass") {
                value = tolower(value)
                if (value ~ /access-log-publisher$/ && value != "ds-cfg-access-log-publisher" && value !~ /http/) publishes = 1
            }
            else if (name == "ds-cfg-enabled") enabled = value == "true"
            else if (name == "ds-cfg-filtering-policy") filtered = value != "no-filtering"
            else if (name == "ds-cfg-log-file") file = value
            else if (name == "ds-cfg-log-directory") folder = value
            else if (name == "ds-cfg-log-file-name-prefix") stem = value
        }
        { sub(/\r$/, "") }
        /^[ \t]/ { if (length(whole) < 65536) whole = whole substr($0, 2); next }
        { if (NR > 1) judge(whole); whole = $0 }
        END { judge(whole); ended(); print chosen }'
}

# list_log WHAT PATH: add the file, and the rotated files beside it, to the list.
list_log() {
    list_at=`in_root "$2"`
    if test -z "$2"; then
        gap "$servers_folder" "$1, process $server_pid, has no access log in its configuration" "name the file: ssh://HOST/PATH"
    elif file_for_it "$list_at"; then
        list_folder=`expr "$list_at" : '\(.*/\)'`
        list_name=`expr "$list_at" : '.*/\(.*\)'`
        list_first=$logs_count
        for list_one in `privileged ls -lnLt "$list_folder" 2>/dev/null </dev/null | rotated "$list_name"`; do
            list_file=$list_folder`expr "$list_one" : '[0-9]*:\(.*\)'`
            file_for_it "$list_file" || continue
            logs_count=`expr $logs_count + 1`
            LOG_FILES="$LOG_FILES $list_file"
            logs_list="$logs_list $logs_count:$servers_count:`expr "$list_one" : '\([0-9]*\):'`:$list_file"
        done
        test `expr $logs_count - $list_first` -lt $MOST_ROTATED ||
            gap "$servers_folder" "only the newest $MOST_ROTATED files of its access log $list_at were read" "name the others, too"
    else
        unreadable "$1" "$2"
    fi
}

# rotated NAME: from `ls -l` on stdin, BYTES:NAME of each plain file with this name, alone or with a date or a number.
rotated() {
    awk -v name="$1" -v most=$MOST_ROTATED '
        $1 !~ /^-/ || NF != 9 || index($9, name) != 1 || n >= most { next }
        substr($9, length(name) + 1) ~ /^([.-][0-9][0-9TZ._-]*(gz|bz2|xz|zst)?)?$/ { print $5 ":" $9; n++ }'
}
