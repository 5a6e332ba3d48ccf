# ---- The threads of directory servers: two readings show which of them run, and which wait for what.

MOST_THREADS=256

# threads FOLDER NETWORK NUMBER: print what the threads of each directory server there do, in each snapshot.
threads() {
    test -n "$WHOLE" && test -d /proc/self/task || return 0
    threads_left=$MOST_PROCESSES
    for threads_one in `servers_in "$2"`; do
        threads_pid=`expr "$threads_one" : '\([0-9]*\):'`
        case $threads_one in
            *:haproxy) continue ;;
            *:java) test -n "`java_instance "$threads_pid"`" || continue ;;
        esac
        test "$threads_left" -gt 0 || return 0
        threads_left=`expr "$threads_left" - 1`
        section "$1" "threads-$threads_pid-$3.txt" "stat, wchan and syscall of /proc/$threads_pid/task/*" \
            threads_and_samples_of "$threads_pid"
    done
}

threads_and_samples_of() {
    threads_of "$1" && samples_of "$1"
}

# threads_of PID: print its first MOST_THREADS threads. Only root may read what a thread waits for.
# The name of a thread may contain anything, line ends included; of the arguments of a system call three are printed.
threads_of() {
    uname -m
    # shellcheck disable=SC2016  # the shell of root expands it
    privileged sh -c 'grep "" /proc/uptime /proc/$1/stat /proc/$1/task/*/stat /proc/$1/task/*/wchan /proc/$1/task/*/syscall' \
        sh "$1" 2>/dev/null | awk -v most="$MOST_THREADS" '
        { at = index($0, ":"); path = substr($0, 1, at); text = substr($0, at + 1); n = split(path, part, "/") }
        part[4] == "task" {
            if (!(part[5] in seen) && count < most) { seen[part[5]] = 1; count++ }
            if (!(part[5] in seen)) next
        }
        part[n] == "stat:" {
            opened = index(text, "("); rest = text; sub(/.*\) /, "", rest)
            if (!opened || split(rest, field, " ") < 13) next
            name = substr(text, opened + 1, length(text) - opened - length(rest) - 2)
            gsub(/[^A-Za-z0-9._-]/, "-", name)
            printf "%s%d (%s)", path, text, name
            for (i = 1; i <= 13; i++) printf " %s", field[i]
            printf "\n"
            found = 1
            next
        }
        part[n] == "syscall:" { m = split(text, field, " "); text = field[1]; for (i = 2; i <= m && i < 5; i++) text = text " " field[i] }
        { print path text }
        END { exit !found }'
}

# samples_of PID: look 40 times, about 10 ms apart, at what its threads wait for, and print in how many samples at least
# one was in each system call. One that syncs a disk is seen in most samples, if all writes wait for it.
samples_of() {
    # shellcheck disable=SC2016  # the shell of root expands it
    privileged sh -c 'for i in 1 2 3 4 5; do for j in 1 2 3 4 5 6 7 8; do
            echo sample; cat /proc/$1/task/*/syscall; sleep 0.01
        done; done' sh "$1" 2>/dev/null | awk -v pid="$1" '
        $1 == "sample" { count++; next }
        last[$1] != count { last[$1] = count; if (in_call[$1]++ == 0 && kinds < 32) kind[++kinds] = $1 }
        END {
            if (!kinds) exit
            printf "/proc/%s/samples:%d", pid, count
            for (i = 1; i <= kinds; i++) printf " %s=%d", kind[i], in_call[kind[i]]
            printf "\n"
        }'
}
