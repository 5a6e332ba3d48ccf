# ---- The kernel's messages on errors of disks and file systems.

# kernel_errors COMMAND: print the number of lines read, and of those on errors of disks and file systems the last 1000,
# among them the last 200 on mounts: a message from before a mount may be about another file system of that name.
kernel_errors() {
    $SUDO $TRYING $1 | awk -v of="$1" '
        NR == 1 && /Linux version / { boot = ", from boot" }
        /I\/O (error|Cmd)|I\/O .* timeout|([Mm]edium|target|nexus|transport|protection|offline|resource|allocation|timeout) error,/ ||
        /[Rr]emounting filesystem|lost .*page write|[Ww]riteback error|Write error at byte|Aborting journal|FAILED Result/ ||
        /(EXT[234]-fs|XFS|BTRFS|JBD2?).*([Ee]rror|[Ss]hut|[Cc]orrupt|[Ff]ail|panic|crit|csum|errs:|readonly|lost|IO error)/ ||
        /Sense: |Sense Key|Unhandled (error|sense)|rejecting I\/O|[Dd]evice offlined|ata[0-9.]+: (failed|exception|error|status)/ ||
        /nvme.*(is down|not ready|Removing|Abort)|md\/.*(Disk failure|unrecoverable)|device-mapper: (multipath|thin): / ||
        /nfs: server .* not responding/ {
            line[++n % 1000] = substr($0, 1, 400)
            at[n % 1000] = NR
        }
        /EXT[234]-fs .*: mounted filesystem|XFS .*: Mounting |BTRFS.*: first mount / {
            mount[++m % 200] = substr($0, 1, 400)
            mounted[m % 200] = NR
        }
        END {
            sub(/ -k .*/, " -k", of)
            print "# " NR " lines of " of " read" boot
            i = n > 1000 ? n - 999 : 1
            for (j = m > 200 ? m - 199 : 1; j <= m; j++) {
                while (i <= n && at[i % 1000] < mounted[j % 200]) print line[i++ % 1000]
                print mount[j % 200]
            }
            while (i <= n) print line[i++ % 1000]
        }'
}
