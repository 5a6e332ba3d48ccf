# ---- Processes: their names, and when they started; never their arguments.

MOST_LISTED=2000

# processes FOLDER NETWORK: print the processes of a network namespace.
processes() {
    if test -r /proc/self/stat && test -r /proc/uptime; then
        section "$1" processes.txt "cat /proc/PID/stat; ls -l /proc/PID/fd" processes_and_servers "$1" "$2"
    elif test "$1" = . && has ps; then
        section . processes.txt "ps -A -o pid -o etime -o comm" limited ps -A -o pid -o etime -o comm
    fi
}

# processes_and_servers FOLDER NETWORK: print the processes, then the listeners and configurations of the servers.
processes_and_servers() {
    processes_of_linux "$2"
    servers "$1" "$2" lines_of
}

# processes_of_linux NETWORK: servers first, then the oldest; none that is younger than this shell, whose own commands
# do not show the age of a namespace. A process with an unreadable namespace counts for the host's own.
processes_of_linux() {
    echo "ldapdiag-processes 1"
    # A name may contain line ends: grep prints the file before each line, and the lines of a file are joined.
    # shellcheck disable=SC2016  # the shell of root expands it
    privileged sh -c 'ls -ld /proc/[0-9]*/ns/net; grep "" /proc/uptime "/proc/$1/stat" /proc/[0-9]*/stat' sh $$ </dev/null 2>/dev/null |
        awk -v network="$1" -v own="$OWN_NAMESPACE" -v booted="$HOST_BOOTED" -v now="`date +%s`" \
            -v ticks="`getconf CLK_TCK 2>/dev/null || echo 100`" '
            function ended(    pid, field, its, program) {
                if (!match(line, /^[0-9]+ \(.*\) /) || split(substr(line, RLENGTH + 1), field, " ") < 20) return
                pid = file
                gsub(/[^0-9]/, "", pid)
                if (!shell) shell = field[20]
                if (field[20] + 0 >= shell + 0 || int(field[7] / 2097152) % 2) return
                its = (pid in of) ? of[pid] : "-"
                if (its != network && (its != "-" || network != own)) return
                program = substr(line, length(pid) + 3, RLENGTH - length(pid) - 4)
                gsub(/[^A-Za-z0-9._-]/, "-", program)
                printf "%d process: %d %s %s %.2f %s\n", program ~ /^(ns-slapd|slapd|haproxy|java)$/ ? 1 : 2, \
                    pid, program == "" ? "-" : program, field[1], booted + field[20] / ticks, its
            }
            $(NF - 1) == "->" && /^l/ { split($(NF - 2), part, "/"); of[part[3]] = $NF; next }
            {
                at = index($0, ":")
                if (substr($0, 1, at - 1) != file) { ended(); line = "" }
                file = substr($0, 1, at - 1)
                line = line substr($0, at + 1)
            }
            # In a container, /proc/uptime may be that of the container.
            file == "/proc/uptime" {
                clock = booted + line
                if (clock - now > 2 || now - clock > 2) clock = now
                printf "0 0 0 0 0 clock: %.2f\n", clock
            }
            END { ended() }' | sort -k1,1n -k6,6n | head -$MOST_LISTED | sed 's/^.* clock:/clock:/; s/^[12] //'
}
