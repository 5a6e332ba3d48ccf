# ---- Servers: directories and proxies.

# servers FOLDER NETWORK FUNCTION: call the function for each server there.
servers() {
    servers_folder=$1
    servers_seen=' '
    servers_count=0
    for servers_one in `servers_in "$2"`; do
        if test $servers_count -ge $MOST_PROCESSES; then
            test "$3" != settings_of || gap "$1" "it has more than $MOST_PROCESSES directory servers; only the first were read" \
                "name the others: ldap://..."
            break
        fi
        server "`expr "$servers_one" : '\([0-9]*\):'`" "`expr "$servers_one" : '[0-9]*:\(.*\)'`" "$3"
    done
}

# servers_in NETWORK: print PID:PROGRAM of each server there.
servers_in() {
    for in_one in $SERVERS; do
        in_its=`expr "$in_one" : '[0-9]*:[^:]*:\(.*\)'`
        test "$in_its" != "$1" || expr "$in_one" : '\([0-9]*:[^:]*\):'
    done
}

# find_servers: print PID:PROGRAM:NAMESPACE of each, in one pass over all processes. A server whose namespace is not
# readable belongs to no folder; one that has ended, and that its parent has not removed, is none.
find_servers() {
    if test -r /proc/self/comm; then
        grep -lxE 'ns-slapd|slapd|haproxy|java' /proc/[0-9]*/comm 2>/dev/null </dev/null | while read find_file; do
            find_pid=`expr "$find_file" : '/proc/\([0-9]*\)/'`
            grep '^State:[[:blank:]]*[ZX]' "/proc/$find_pid/status" >/dev/null 2>&1 && continue
            find_network=`network_of "/proc/$find_pid/ns/net"`
            test -n "$find_network" || find_network=`own_network "$find_pid"`
            # The process may have ended; and a name may contain line ends.
            find_name=`cat "$find_file" 2>/dev/null`
            case $find_name in ns-slapd | slapd | haproxy | java) echo "$find_pid:$find_name:$find_network" ;; esac
        done | sort -n
    else
        limited ps -A -o pid= -o comm= 2>/dev/null </dev/null | awk '
            { program = $2; sub(".*/", "", program) }
            program ~ /^(ns-slapd|slapd|haproxy|java)$/ { print $1 ":" program ":" }'
    fi
}

# own_network PID: print the current namespace if the process is in it: to any user, both show one table of sockets.
own_network() {
    own_table=`socket_table_of "$1"`
    test -n "$own_table" && test "$own_table" = "`socket_table_of self`" && printf '%s\n' "$OWN_NAMESPACE"
}

socket_table_of() {
    ls -i "/proc/$1/net/tcp" 2>/dev/null | awk '{ print $1 }'
}

# unplaced_servers: print a gap for each server whose namespace is not readable.
unplaced_servers() {
    test -n "$OWN_NAMESPACE" || return 0
    for unplaced_one in $SERVERS; do
        test -z "`expr "$unplaced_one" : '[0-9]*:[^:]*:\(.*\)'`" || continue
        unplaced_pid=`expr "$unplaced_one" : '\([0-9]*\):'`
        unplaced_program=`expr "$unplaced_one" : '[0-9]*:\([^:]*\):'`
        test "$unplaced_program" != java || test -n "`java_instance "$unplaced_pid"`" || continue
        gap . "cannot read the network namespace of $unplaced_program, process $unplaced_pid: it is unknown where it listens" \
            "use --sudo, or connect as root"
    done
}

# server PID PROGRAM FUNCTION: call the function with PID, PROGRAM, and the configuration file of a server in Java.
server() {
    server_instance=
    if test "$2" = java; then
        server_instance=`java_instance "$1"`
        test -n "$server_instance" || return 0
    fi
    if test "$2" != haproxy; then
        know_process "$1"
        # A second server on a host has numbered files: proc-limits-2.txt.
        servers_count=`expr $servers_count + 1`
        server_nth=
        test $servers_count = 1 || server_nth=-$servers_count
    fi
    "$3" "$1" "$2" "$server_instance"
}

# settings_of PID PROGRAM INSTANCE: print its settings; of a directory server also limits, errors log and cn=monitor.
settings_of() {
    test "$2" = haproxy || process_of "$1"
    case $2 in
        haproxy) haproxy_of "$1" ;;
        ns-slapd) ns_slapd "$1" ;;
        slapd) openldap "$1" ;;
        java) java_directory "$1" "$3" ;;
    esac
}

# lines_of PID PROGRAM INSTANCE: print the listeners and the configuration of a server, for processes.txt.
lines_of() {
    listeners_of "$1"
    case $2 in
        ns-slapd) lines_path=`argument "$1" -D | head -1`/dse.ldif ;;
        slapd) lines_path=`argument "$1" -F | head -1`; test -n "$lines_path" || lines_path=`argument "$1" -f | head -1` ;;
        *) lines_path=$3 ;;
    esac
    if plain_path "$lines_path"; then echo "configuration: $1 $lines_path"; fi
}

# listeners_of PID: print its TCP listeners: of the sockets in its network namespace, those that it has open.
listeners_of() {
    test -r "/proc/$1/net/tcp" || return 0
    # The kernel prints addresses as words of this machine.
    listeners_swap=`printf '\001\000' | od -An -tu2 2>/dev/null | tr -d ' '`
    # shellcheck disable=SC2016  # the shell of root expands it
    privileged sh -c 'ls -l "/proc/$1/fd"; cat "/proc/$1/net/tcp" "/proc/$1/net/tcp6"' sh "$1" 2>/dev/null </dev/null |
        awk -v pid="$1" -v swap="$listeners_swap" '
            function number(hex,    i, sum) {
                for (i = 1; i <= length(hex); i++) sum = 16 * sum + index("123456789ABCDEF", substr(hex, i, 1))
                return sum + 0
            }
            function word(hex,    i, bytes) {
                for (i = 7; i > 0; i -= 2) bytes = swap == 1 ? bytes substr(hex, i, 2) : substr(hex, i, 2) bytes
                return bytes
            }
            function address(hex,    i, bytes, text) {
                for (i = 1; i < length(hex); i += 8) bytes = bytes word(substr(hex, i, 8))
                if (length(bytes) == 8)
                    return number(substr(bytes, 1, 2)) "." number(substr(bytes, 3, 2)) "." \
                        number(substr(bytes, 5, 2)) "." number(substr(bytes, 7, 2))
                for (i = 1; i < 32; i += 4) text = text (i > 1 ? ":" : "") substr(bytes, i, 4)
                return text
            }
            $(NF - 1) == "->" && match($NF, /^socket:\[[0-9]+\]$/) { owned[substr($NF, 9, length($NF) - 9)] = 1; next }
            $4 == "0A" && ($10 in owned) { split($2, end, ":"); print "listener: " pid " " address(end[1]) " " number(end[2]) }'
}

process_of() {
    if test -r "/proc/$1/limits"; then
        section "$servers_folder" "proc-limits$server_nth.txt" "cat /proc/$1/limits" cat "/proc/$1/limits"
    fi
    test -d "/proc/$1/fd" || return 0
    if privileged ls "/proc/$1/fd" </dev/null >/dev/null 2>&1; then
        section "$servers_folder" "proc-fd-count$server_nth.txt" "ls /proc/$1/fd | wc -l" count_descriptors "$1"
    else
        gap "$servers_folder" "cannot list the descriptors of process $1: only its user and root may" "use --sudo"
    fi
}

count_descriptors() {
    privileged ls "/proc/$1/fd" | wc -l | tr -d ' '
}

# arguments PID: its command line, one word per line. Never printed: it may contain passwords.
arguments() {
    if test -r "/proc/$1/cmdline"; then
        tr '\000' '\n' <"/proc/$1/cmdline"
    else
        limited ps -p "$1" -o args= 2>/dev/null </dev/null | tr ' ' '\n'
    fi
}

# argument PID OPTION: the word after each occurrence of an option.
argument() {
    arguments "$1" | awk -v option="$2" '
        after { print; after = 0; next }
        $0 == option { after = 1; next }
        index($0, option) == 1 { print substr($0, length(option) + 1) }' | grep '^[/A-Za-z0-9._-]*$'
}

# settings_section STEM ENDING PATH FUNCTION: print the settings of connections and indexes in a configuration.
# settings_note states what is known of the process besides.
settings_note=
settings_section() {
    section "$servers_folder" "$1$server_nth$2" \
        "the settings of connections and indexes in $3, of process $server_pid$settings_note" "$4" "$3"
}

# ldif_settings "NAMES" [PARENT]: from LDIF on stdin, print the entries with any of these attributes, and only those
# attributes, DN, objectClass and cn; PARENT is appended to a relative DN.
# Folded lines are joined first; attribute descriptions are compared without options and without case.
# Plug-in arguments may be anything and are left out, except for two plug-ins whose arguments are attribute names; access
# control instructions likewise, except for the subjects "all" and "anyone" of those of VLV searches.
ldif_settings() {
    # shellcheck disable=SC2116,SC2086  # one line: the awk of the BSDs accepts no line ends in -v
    awk -v names="`echo $1`" -v parent="$2" "$LDAP_URLS"'
        BEGIN { n = split(tolower(names), list, " "); for (i = 1; i <= n; i++) keep[list[i]] = 1 }
        function ended() {
            if (wanted != "" || main) {
                if (limited != "" && value_of != "") wanted = wanted value_of
                if (naming) wanted = wanted arguments
                if (listing) wanted = wanted access
                print head wanted
                printed = 1
            }
            head = wanted = value_of = limited = main = arguments = naming = listing = access = ""
        }
        function judge(line,    at, name, rest) {
            if (line == "") { ended(); return }
            if (line ~ /^#/) return
            at = index(line, ":")
            if (at < 2) return
            name = tolower(substr(line, 1, at - 1))
            sub(/;.*/, "", name)
            rest = substr(line, at + 1)
            if (name == "dn") {
                ended()
                if (parent != "" && rest !~ /^:/ && tolower(line) !~ /cn=config *$/) line = line "," parent
                head = line "\n"
                timed = tolower(line) ~ /,cn=ldbm database,cn=plugins,cn=config *$/
                # An attribute that is missing here has its default, which is evidence, too.
                if (tolower(line) ~ /^dn: *cn=config *$/) main = 1
                # This entry shows that the list of indexes is complete.
                if (tolower(line) ~ /^dn: *cn=index *,/) main = 1
            } else if (name == "objectclass" || name == "cn") head = head line "\n"
            else if (name ~ /^(createtimestamp|modifytimestamp|creatorsname)$/) { if (timed) head = head line "\n" }
            else if (name == "ds-cfg-value") { if (rest !~ /^:/) value_of = line "\n" }
            else if (name == "olcsyncrepl") {
                # The value also contains the password: only the bind DN is printed.
                shown = ""
                if (rest !~ /^:/ && match(tolower(rest), /binddn=("[^"]*"|[^" ]+)/)) shown = substr(rest, RSTART, RLENGTH)
                else if (rest !~ /^:/ && match(tolower(rest), /rid=[0-9]+/)) shown = substr(rest, RSTART, RLENGTH)
                if (shown != "") wanted = wanted "olcSyncrepl: " shown "\n"
            } else if (name ~ /^olc(access|authzregexp|authidrewrite)$/) {
                if (rest ~ /^:/) wanted = wanted name ": (withheld)\n"
                else if (urls(rest) != "") wanted = wanted name ": " urls(rest) "\n"
            } else if (name == "aci") {
                # It may name accounts, hosts and people in any form: only whether it is for all of them is printed.
                at = match(rest, /ldap:\/\/\/(all|anyone)["| ]/)
                access = access "aci: " (at ? substr(rest, at, RLENGTH - 1) : "(withheld)") "\n"
            } else if (name ~ /^nsslapd-pluginarg[0-9]+$/) arguments = arguments line "\n"
            else if (name in keep) {
                if (name == "nsslapd-plugininitfunc") naming = tolower(rest) ~ /^ *(nsuniqueattr|referint_postop)_init *$/
                if (name == "vlvbase") listing = timed
                if (name == "ds-cfg-attribute-type" && tolower(rest) ~ /ds-rlim-idle-time-limit/) limited = 1
                wanted = wanted line "\n"
            }
        }
        { sub(/\r$/, "") }
        /^[ \t]/ { if (length(whole) < 65536) whole = whole substr($0, 2); next }
        { if (NR > 1) judge(whole); whole = $0 }
        END { judge(whole); ended(); exit !printed }'
}
