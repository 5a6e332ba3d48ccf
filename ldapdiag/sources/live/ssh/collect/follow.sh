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
    more_now=`inode_and_size "$1"`
    case $more_now in
        "$2 "*) ;;
        *)
            more_in=`expr "$1" : '\(.*/\)'`
            more_as=`expr "$1" : '.*/\(.*\)'`
            more_as=`privileged ls -lniL "$more_in" | with_inode "$2" | rotated "$more_as" | sed 's/^[0-9]*://'`
            if test -z "$more_as"; then
                echo "${more_now:-0 0}"
                test -z "$more_now" || log_sample "$1" | grep -E "$LOG_LINE" >/dev/null || return 9
                return 0
            fi
            more_file=$more_in$more_as ;;
    esac
    echo "${more_now:-0 0} `inode_and_size "$more_file" | sed 's/.* //'`"
    privileged dd "if=$more_file" bs=4096 "skip=$3" "count=$4"
}

inode_and_size() {
    privileged ls -lniL "$1" | awk 'NR == 1 { print $1, $6 }'
}

# with_inode NUMBER: from `ls -i` on stdin, the line of that file, without its number.
with_inode() {
    awk -v inode="$1" '$1 == inode && sub(/^ *[0-9]+ +/, "") { print; exit }'
}
