# ---- A log that is being written, in pieces: only in the script of a session that follows one.

# more NUMBER INODE BLOCK COUNT: of a log that is being written, print the INODE and BYTES of the file that has its name,
# the BYTES of that with INODE, which may have been rotated, and COUNT blocks of 4 KiB of it from BLOCK on. Without one,
# only the first line is printed; a new file without a line of an access log fails.
more() {
    log_file "$1"
    section . "access-log-$1" "dd if=$log_one" more_of "$log_one" "$2" "$3" "$4"
}

more_of() {
    more_file=$1
    more_inode=$2
    more_from=$3
    more_count=$4
    # shellcheck disable=SC2046  # two numbers, or none
    set -- `inode_and_size "$more_file"`
    more_now="${1:-0} ${2:-0}"
    more_size=$2
    if test "$1" != "$more_inode"; then
        more_in=`expr "$more_file" : '\(.*/\)'`
        more_as=`expr "$more_file" : '.*/\(.*\)'`
        more_as=`privileged ls -lniL "$more_in" | with_inode "$more_inode" | rotated "$more_as" | sed 's/^[0-9]*://'`
        if test -z "$more_as"; then
            echo "$more_now"
            test -z "$1" || log_sample "$more_file" | grep -E "$LOG_LINE" >/dev/null || return 9
            return 0
        fi
        more_file=$more_in$more_as
        more_size=`inode_and_size "$more_file" | sed 's/.* //'`
    fi
    echo "$more_now $more_size"
    privileged dd "if=$more_file" bs=4096 "skip=$more_from" "count=$more_count"
}

inode_and_size() {
    privileged ls -lniL "$1" | awk 'NR == 1 { print $1, $6 }'
}

# with_inode NUMBER: from `ls -i` on stdin, the line of that file, without its number.
with_inode() {
    awk -v inode="$1" '$1 == inode && sub(/^ *[0-9]+ +/, "") { print; exit }'
}
