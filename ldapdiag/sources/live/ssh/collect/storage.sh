# ---- The storage of directory servers: mounts, volumes, disks, and how their database files lie on them.
#
# Nothing of the content of a database is read. A volume that hangs must not stop the collection: so this comes last, and
# what touches a volume has a time limit of a third of LIMIT.

MOST_PLACES=32
MOST_FILES=200
MOST_NAMES=100000
MOST_LINES=20000

# storage FOLDER NETWORK: print the storage of the directory servers there.
storage() {
    storage_found=
    servers "$1" "$2" storage_of
    test -z "$storage_found" || storage_of_host "$1"
}

# storage_of PID PROGRAM INSTANCE: storage_pairs are PATH:PLACE of its folders, PLACE the path on this host.
storage_of() {
    test "$2" != haproxy || return 0
    storage_found=1
    if test -r "/proc/$1/mountinfo"; then
        section "$servers_folder" "mountinfo$server_nth.txt" "cat /proc/$1/mountinfo" cat "/proc/$1/mountinfo"
    fi
    storage_pairs=
    storage_read=
    storage_gaps=
    for storage_path in `folders_of "$@"`; do reach "$storage_path"; done
    test -z "$storage_pairs" ||
        section "$servers_folder" "file-system-space$server_nth.txt" "df of the volumes of process $1" volumes
    test -n "$storage_read" || return 0
    storage_sizes=`directory_sizes`
    section "$servers_folder" "directory-sizes$server_nth.txt" "ls -f | wc -l, in the folders of process $1" echo "$storage_sizes"
    test "$SYSTEM" = Linux || return 0
    storage_files=`database_files`
    if test -z "$storage_files"; then
        return 0
    elif test "$EXTENTS" = 0; then
        section "$servers_folder" "database-files$server_nth.txt" "the database files of process $1" echo "$storage_files"
    elif has filefrag; then
        section "$servers_folder" "file-extents$server_nth.txt" "filefrag -v, of the database files of process $1" file_extents
    else
        gap "$servers_folder" "cannot read the extents of the database files of process $1: filefrag is not installed there" \
            "install e2fsprogs there"
    fi
}

# folders_of PID PROGRAM INSTANCE: print the folders that its configuration names, as the server sees them. What is not
# readable of the configuration is a gap of the settings already.
folders_of() {
    case $2 in
        ns-slapd) find_ns_slapd "$1" >/dev/null && ns_slapd_folders ;;
        slapd) find_openldap "$1" >/dev/null && openldap_folders ;;
        java)
            java_config=`in_root "$3"`
            file_for_it "$java_config" && contents "$java_config" | java_folders "`expr "$3" : '\(.*\)/[^/]*/[^/]*$'`" ;;
    esac 2>/dev/null | grep '^/[A-Za-z0-9._/-]*$' | sed 's,//*$,,' | grep / | sort -u | head -$MOST_PLACES
}

ns_slapd_folders() {
    contents "$slapd_config" |
        ldif_values "nsslapd-directory nsslapd-db-logdirectory nsslapd-db-home-directory nsslapd-changelogdir"
    for folders_log in nsslapd-accesslog nsslapd-errorlog nsslapd-auditlog nsslapd-auditfaillog; do dse_value $folders_log; done |
        sed 's,/[^/]*$,,'
}

openldap_folders() {
    if test -n "$openldap_folder"; then
        privileged ls "$openldap_config/cn=config" </dev/null | grep '^olcDatabase=[{}0-9A-Za-z_-]*\.ldif$' | head -$MOST_PLACES |
            while read folders_name; do
                folders_file=`follow "$openldap_folder/cn=config/$folders_name"`
                file_for_it "$folders_file" && contents "$folders_file" | ldif_values olcdbdirectory
            done
        contents "`follow "$openldap_folder/cn=config.ldif"`" | ldif_values olclogfile | sed 's,/[^/]*$,,'
    else
        contents "$openldap_config" | awk '
            { gsub(/"/, "", $2); name = tolower($1) }
            name == "logfile" { sub("/[^/]*$", "", $2) }
            name == "directory" || name == "logfile" { print $2 }'
    fi
}

# java_folders ROOT: from the LDIF on stdin; a backend has a folder of its own in its db-directory.
java_folders() {
    awk -v root="$1/" '
        function placed(path) { print (path ~ "^/" ? "" : root) path }
        function ended() { if (folder != "") { placed(folder); if (id != "") placed(folder "/" id) }; folder = id = "" }
        { sub(/\r$/, ""); name = tolower($1) }
        $0 == "" { ended() }
        name == "ds-cfg-db-directory:" { folder = $2 }
        name == "ds-cfg-backend-id:" { id = $2 }
        name == "ds-cfg-replication-db-directory:" { placed($2) }
        name == "ds-cfg-log-file:" && sub("/[^/]*$", "", $2) { placed($2) }
        END { ended() }'
}

# reach PATH: note a folder that exists, and whether it may be read for the current process; of folders that may not, the
# first is a gap.
reach() {
    reach_at=`in_root "$1"`
    test -n "$reach_at" && test -z "$server_hidden" || return 0
    $SUDO $TRYING test -d "$reach_at" 2>/dev/null </dev/null
    case $? in
        0) ;;
        124 | 137)
            gap "$servers_folder" "the file system of $1, a folder of process $server_pid, does not answer" \
                "check there whether it hangs: df $1"
            return 0 ;;
        *) return 0 ;;
    esac
    storage_pairs="$storage_pairs $1:$reach_at"
    if $SUDO $TRYING test -r "$reach_at" </dev/null && granted "$reach_at" 8 r; then
        storage_read="$storage_read $reach_at"
    elif test -z "$storage_gaps"; then
        storage_gaps=1
        unreadable "process $server_pid" "$1"
    fi
}

# places: print the places of storage_pairs.
places() {
    for places_one in $storage_pairs; do expr "$places_one" : '[^:]*:\(.*\)'; done
}

# mount_points: print the mount points of the places of storage_pairs, in the mounts of the process.
mount_points() {
    awk -v pairs="$storage_pairs" -v root="$server_root" '
        { mounted[$5] = 1 }
        END {
            n = split(pairs, list, " ")
            for (i = 1; i <= n; i++) {
                path = substr(list[i], index(list[i], ":") + length(root) + 1)
                while (!(path in mounted) && path ~ "/.") if (!sub("/[^/]*$", "", path) || path == "") path = "/"
                if (!printed[path]++) print root path
            }
        }' "/proc/$server_pid/mountinfo"
}

# volumes: print the free space and the free inodes. In other mounts df would take the numbers of one volume for those of another.
volumes() {
    # shellcheck disable=SC2046  # a list of files
    if test -n "$server_root"; then
        $SUDO $TRYING stat -f `mount_points` </dev/null | sed "s,File: \"$server_root,File: \","
    elif test "$SYSTEM" = Linux; then
        { $SUDO $TRYING df -PkT `places`; $SUDO $TRYING df -PiT `places`; } </dev/null | once
    else
        $SUDO $TRYING df -k `places` </dev/null | once
    fi
}

# once: print each line of stdin once.
once() {
    awk '!seen[$0]++ { print } END { exit !NR }'
}

# directory_sizes: print PATH, number of names, path without links, and a remark, separated by tabs.
directory_sizes() {
    # shellcheck disable=SC2016  # the shell of root expands it
    $SUDO $TRYING sh -c '
        most=$1 unsorted=-f
        ls -f /dev/null >/dev/null || unsorted=-a
        shift
        for at do cd "$at" && echo "`ls $unsorted | head -$most | wc -l` $at `env pwd`"; done' \
        sh "`expr $MOST_NAMES + 2`" $storage_read 2>/dev/null </dev/null |
        awk -v pairs="$storage_pairs" -v root="$server_root" -v most="$MOST_NAMES" '
            { names[$2] = $1 > 2 ? $1 - 2 : 0; real[$2] = root == "" ? $3 : substr($2, length(root) + 1) }
            END {
                n = split(pairs, list, " ")
                for (i = 1; i <= n; i++) {
                    split(list[i], part, ":"); at = part[2]
                    remark = (at in names) ? (names[at] < most ? "" : "at least") : "not read"
                    if (real[at] !~ /^\/[A-Za-z0-9._\/-]*$/) real[at] = root == "" ? "" : substr(at, length(root) + 1)
                    print part[1] "\t" ((at in names) ? names[at] : "-") "\t" real[at] "\t" remark
                }
            }'
}

# database_files: print BYTES PLACE of each file of a database that may be read, the largest first; from storage_sizes the
# paths of the folders without links.
database_files() {
    files_folders=`echo "$storage_sizes" | awk -v root="$server_root" '$2 != "-" && $3 ~ "^/" { print root $3 "/" }' | sort -u`
    test -n "$files_folders" || return 0
    $SUDO $TRYING ls -ln /dev/null $files_folders 2>/dev/null </dev/null |
        awk -v uid="$server_uid" -v trusted="$server_trusted" '
            NF == 1 && /:$/ { at = substr($0, 1, length($0) - 1) }
            NF != 9 || $1 !~ /^-/ || $9 !~ /^[A-Za-z0-9._-]+$/ { next }
            !trusted && $3 != uid && substr($1, 8, 1) != "r" { next }
            $9 ~ /(^data\.mdb|\.(db[0-9]*|bdb|jdb)|^log\.[0-9]+)$/ { print $5 " " at $9 }' |
        sort -k1,1nr | head -`expr $MOST_FILES + 1`
}

# file_extents: print of each file the path, bytes, allocated bytes, extents, and a remark, separated by tabs.
file_extents() {
    extents_files=`echo "$storage_files" | head -$MOST_FILES | sed 's/^[0-9]* //'`
    # Without -s: nothing is written to the disk first.
    {
        $SUDO $TRYING stat -c 'stat %s %b %n' $extents_files
        $SUDO $TRYING filefrag -v $extents_files 2>&1
        test "$storage_files" = "`echo "$storage_files" | head -$MOST_FILES`" || echo more
    } </dev/null | awk -v root="$server_root" -v most="$MOST_FILES" '
        $1 == "stat" { bytes[$4] = $2; blocks[$4] = $3; file[++n] = $4; next }
        $1 == "more" { print "# only the largest " most " files"; next }
        /^File size of / { of = $4 }
        /^ *[0-9]+: / && /[ ,]encoded/ { coded[of] = 1 }
        / extents? found/ { of = $1; sub(/:$/, "", of); found[of] = $2 }
        / unsupported/ { of = $1; sub(/:$/, "", of); cannot[of] = 1 }
        END {
            for (i = 1; i <= n; i++) {
                of = file[i]
                reason = cannot[of] ? "the file system does not report extents" : (of in found) ? "" : "filefrag did not report it"
                if (reason == "" && coded[of]) reason = "compressed"
                printf "%s\t%s\t%.0f\t%s\t%s\n", substr(of, length(root) + 1), bytes[of], 512 * blocks[of], \
                    (of in found) ? found[of] : "-", reason
            }
        }'
}

# storage_of_host FOLDER: print what its volumes lie on, and the errors of its disks that the kernel has reported.
storage_of_host() {
    zfs_of_host "$1"
    if test "$SYSTEM" != Linux; then
        if test "$SYSTEM" = SunOS; then
            section "$1" mounts.txt "mount -v" limited mount -v
        else
            section "$1" mounts.txt mount limited mount
        fi
        return 0
    fi
    set -- "$1" /proc/fs/ext4/*/options
    test ! -f "$2" || section "$1" ext4-options.txt "grep '' /proc/fs/ext4/*/options" lines_of_files "$@"
    test ! -d /sys/block || section "$1" block-devices.txt "grep '' /sys/block/*/queue/write_cache ..." block_devices
    for host_command in dmesg "journalctl -k -b -q --no-pager -n $MOST_LINES"; do
        # shellcheck disable=SC2086  # a command of several words
        if test -n "`$SUDO $TRYING $host_command 2>/dev/null </dev/null | head -1`"; then
            section "$1" kernel-errors.txt "$host_command" kernel_errors "$host_command"
            return 0
        fi
    done
    if test $ROOT = 1; then
        gap "$1" "cannot read the messages of its kernel on errors of disks, even as root" \
            "run dmesg on the host itself: root in a container may not"
    else
        gap "$1" "cannot read the messages of its kernel on errors of disks: not root" "use --sudo, or connect as root"
    fi
}

# zfs_of_host FOLDER: print what ZFS does with writes; on Linux only where one is mounted.
ZFS_PROPERTIES=sync,logbias,atime,recordsize,compression,mountpoint

zfs_of_host() {
    has zfs || return 0
    test "$SYSTEM" != Linux || grep ' zfs ' /proc/mounts >/dev/null 2>&1 || return 0
    section "$1" zfs.txt "zfs get -H -t filesystem $ZFS_PROPERTIES" zfs_properties
}

zfs_properties() {
    $SUDO $TRYING zfs get -H -t filesystem "$ZFS_PROPERTIES" | head -$MOST_LINES | once
}

# lines_of_files FOLDER FILES...
lines_of_files() {
    shift
    grep '' "$@" /dev/null | head -$MOST_LINES
}

block_devices() {
    set -- . /sys/block/*/size /sys/block/*/dev /sys/block/*/ro /sys/block/*/*/partition /sys/block/*/*/dev \
        /sys/block/*/dm/name /sys/block/*/dm/uuid /sys/block/*/md/level /sys/block/*/loop/backing_file /sys/block/*/device/model
    for devices_name in write_cache rotational scheduler fua; do set -- "$@" /sys/block/*/queue/$devices_name; done
    lines_of_files "$@"
    ls -d /sys/block/*/slaves/*
    return 0
}
