# ---- 389 Directory Server, and Directory Server Enterprise Edition.

DS389_SETTINGS="nsslapd-idletimeout nsslapd-tcp-keepalive-time nsslapd-maxdescriptors nsslapd-reservedescriptors
    nsslapd-conntablesize nsslapd-threadnumber nsslapd-maxthreadsperconn
    nsslapd-listen-backlog-size nsslapd-listenbacklog nsslapd-listen-backlog
    nsslapd-ldapilisten nsslapd-ldapifilepath nsslapd-maxconnections nsslapd-port nsslapd-secureport nsslapd-security nsslapd-versionstring nsslapd-rootdn
    nsslapd-ioblocktimeout
    nsslapd-numlisteners nsslapd-infolog-area nsslapd-infolog-level ds-maxheaphigh ds-maxheaplow ds-start-tls-enabled
    nsidletimeout nsds5replicabinddn nsds5replicabinddngroup"
# Indexes, and plug-ins that make the server search by itself.
DS389_INDEXES="nsindextype nsmatchingrule nsindexidlistscanlimit nssystemindex nssubstrbegin nssubstrmiddle nssubstrend
    nsslapd-allidsthreshold nsslapd-suffix nsslapd-require-index nsslapd-pluginversion nsslapd-pluginvendor
    nsslapd-idlistscanlimit nsslapd-pagedidlistscanlimit nsslapd-lookthroughlimit nsslapd-rangelookthroughlimit
    nsslapd-pagedlookthroughlimit nsslapd-timelimit nsslapd-backend-implement nsslapd-plugininitfunc nsslapd-pluginenabled
    referint-membership-attr uniqueness-attribute-name memberofgroupattr memberofattr dnatype linktype managedtype
    automembergroupingattr nssaslmapfiltertemplate automemberfilter dnafilter
    nsslapd-plugincontainerscope uniqueness-subtrees memberofentryscope dnascope referint-update-delay
    nsslapd-ldapimaptoentries nsslapd-ldapiuidnumbertype nsslapd-ldapigidnumbertype nsslapd-ldapientrysearchbase
    addn_filter dssearchfilter nsviewfilter nsrolefilter
    vlvbase vlvscope vlvfilter vlvsort vlvenabled vlvuses"
# Where the data is, and when changes are on the disk.
DS389_STORAGE="nsslapd-directory nsslapd-db-logdirectory nsslapd-changelogdir nsslapd-accesslog nsslapd-accesslog-logbuffering
    nsslapd-errorlog nsslapd-auditlog nsslapd-auditlog-logging-enabled nsslapd-auditfaillog nsslapd-auditfaillog-logging-enabled
    nsslapd-db-durable-transaction nsslapd-db-durable-transactions nsslapd-db-transaction-batch-val
    nsslapd-db-transaction-batch-max-wait nsslapd-db-checkpoint-interval
    nsslapd-disk-low-threshold nsslapd-disk-full-threshold
    nsslapd-disk-monitoring nsslapd-disk-monitoring-threshold nsslapd-disk-monitoring-grace-period
    nsslapd-disk-monitoring-logging-critical nsslapd-disk-monitoring-readonly-on-threshold"

ns_slapd() {
    find_ns_slapd "$1" || return 0
    settings_section dse .ldif "$slapd_config" ns_slapd_settings
    ns_slapd_errors "`dse_value nsslapd-errorlog`"
    test "`dse_value nsslapd-ldapilisten`" = on && ns_slapd_monitor "`dse_value nsslapd-ldapifilepath`"
}

# find_ns_slapd PID: set slapd_config to its configuration file, if readable.
find_ns_slapd() {
    slapd_home=`argument "$1" -D | head -1`
    test -n "$slapd_home" || return 1
    slapd_config=`in_root "$slapd_home/dse.ldif"`
    file_for_it "$slapd_config" || slapd_config=`in_root "$slapd_home/config/dse.ldif"`
    file_for_it "$slapd_config" && return 0
    unreadable ns-slapd "$slapd_home/dse.ldif"
    return 1
}

ns_slapd_settings() {
    contents "$1" | ldif_settings "$DS389_SETTINGS $DS389_INDEXES $DS389_STORAGE"
}

# dse_value NAME: the value of an attribute of cn=config; not for secrets.
dse_value() {
    contents "$slapd_config" | ldif_value "$1"
}

# ldif_value NAME: the first value of an attribute in the LDIF on stdin.
ldif_value() {
    ldif_values "$1" | head -1
}

# ldif_values "NAMES": the values of these attributes in the LDIF on stdin.
ldif_values() {
    awk -v names=" $1 " '
        function ended() {
            if (found) print value
            found = 0
        }
        /^ / { if (found && length(value) < 65536) value = value substr($0, 2); next }
        { ended() }
        index($1, ":") == length($1) && index(names, " " tolower(substr($1, 1, length($1) - 1)) " ") {
            value = $0; sub(/^[^:]*: */, "", value); sub(/\r$/, "", value); found = 1
        }
        END { ended() }'
}

# ns_slapd_errors FILE: print lines on listening, starts, ends and builds of indexes from the end of the errors logs, and the
# first line, which contains the version. Lines on builds end with a name, so that they contain no text of a client; those
# on an end are one of the server's by all that is before.
EVENT_LINES='Not listening for new connections|Listening for new connections again|istening on .* port'
EVENT_LINES=$EVENT_LINES'|slapd started|starting up|PR_Accept\(\) failed|[Mm]ax open connections reached'
EVENT_LINES=$EVENT_LINES'|- [A-Za-z0-9_.-]+: (Indexing attribute: [A-Za-z0-9_.;-]+|Finished indexing\.) *$'
EVENT_LINES=$EVENT_LINES'|- import [A-Za-z0-9_.-]+: Import complete\.|- task_index_thread - Index failed'
EVENT_LINES=$EVENT_LINES'|^\[[^]]*\] (- [A-Z]+ )?(- [A-Za-z_]+ )?- (slapd shutting down|slapd stopped|Detected Disorderly Shutdown)'

ns_slapd_errors() {
    test -n "$1" || return 0
    errors_file=`in_root "$1"`
    if file_for_it "$errors_file"; then
        if event_lines "$errors_file" | grep '^\[' >/dev/null 2>&1; then
            section "$servers_folder" "errors$server_nth" "lines on starts and builds of indexes in $errors_file, of process $server_pid" \
                errors_and_banner "$errors_file"
        fi
    else
        unreadable ns-slapd "$1"
    fi
}

# event_lines FILE: of the last 16 MiB of the errors log and the rotated files before it, oldest first. Nothing older than a
# file that cannot be read here is printed: a build in that file would be missed.
event_lines() {
    events_folder=`expr "$1" : '\(.*/\)'`
    events_name=`expr "$1" : '.*/\(.*\)'`
    events_left=16777216
    events_files=
    for events_one in `privileged ls -lnLt "$events_folder" 2>/dev/null </dev/null | rotated "$events_name"`; do
        events_file=$events_folder`expr "$events_one" : '[0-9]*:\(.*\)'`
        events_bytes=`expr "$events_one" : '\([0-9]*\):'`
        case $events_file in *.gz | *.bz2 | *.xz | *.zst) break ;; esac
        test "$events_left" -gt 0 && file_for_it "$events_file" || break
        events_files="$events_left:$events_file $events_files"
        events_left=`expr "$events_left" - "$events_bytes"`
    done
    for events_one in $events_files; do
        events_left=`expr "$events_one" : '\([0-9]*\):'`
        events_file=`expr "$events_one" : '[0-9]*:\(.*\)'`
        privileged tail -c "$events_left" "$events_file" 2>/dev/null </dev/null
    done | grep -E "$EVENT_LINES" | tail -n 2000
}

errors_and_banner() {
    privileged head -1 "$1" | grep -E '^[[:space:]]+[^ ]*-Directory/'
    event_lines "$1"
}

# ldapi_url PATH: the URL of a local socket, for ldapsearch.
ldapi_url() {
    printf 'ldapi://%s\n' "`printf '%s' "$1" | sed 's,/,%2F,g'`"
}

# search ACCOUNT URL BASE SCOPE ATTRIBUTES...: search as root over the local socket, without a password.
# The comment identifies the connection of this search, which does not count.
search() {
    search_url=$2
    search_base=$3
    search_scope=$4
    echo "# asked by ldapi as $1"
    shift; shift; shift; shift
    # A failing server may never answer; the remaining collection must not wait for it.
    $SUDO $TRYING ldapsearch -Q -LLL -o ldif-wrap=no -o nettimeout=5 -Y EXTERNAL -H "$search_url" \
        -b "$search_base" -s "$search_scope" \
        '(objectClass=*)' "$@"
}

# may_search: whether a local socket can be queried; if not, print a gap with the reason.
may_search() {
    test "$MONITORS" = 1 || return 1
    if test $ROOT = 0; then
        gap "$servers_folder" "cannot read cn=monitor over LDAPI: not root" "use --sudo, or name the server: ldap://..."
    elif has ldapsearch; then
        return 0
    else
        gap "$servers_folder" "cannot read cn=monitor over LDAPI: ldapsearch is not installed there" \
            "name the server, too: ldap://..."
    fi
    return 1
}

ns_slapd_monitor() {
    slapd_socket=`in_root "$1"`
    socket_for_it "$slapd_socket" && may_search || return 0
    section "$servers_folder" "cn-monitor$server_nth.ldif" \
        "ldapsearch -Y EXTERNAL -H `ldapi_url "$slapd_socket"` -b cn=monitor -s base, to process $server_pid" \
        search "`dse_value nsslapd-ldapimaprootdn`" "`ldapi_url "$slapd_socket"`" cn=monitor base \
        objectClass cn version threads connection currentconnections totalconnections \
        currentconnectionsatmaxthreads maxthreadsperconnhits dtablesize readwaiters opsinitiated opscompleted \
        currenttime starttime currentbusyworkers currentworkqueue maxbusyworkers maxworkqueue
}

# ---- OpenLDAP.

OPENLDAP_SETTINGS="olcidletimeout olcthreads olclistenerthreads olcwritetimeout olcconnmaxpending olcconnmaxpendingauth
    olcupdatedn"
OPENLDAP_INDEXES="olcdatabase olcsuffix olcdbdirectory olcdbindex olcindexsubstrifminlen olcindexsubstrifmaxlen olcindexsubstranylen
    olcindexsubstranystep olcoverlay olcrefintattribute olcuniqueattribute olcuniqueuri olcconstraintattribute
    olcaccesslogpurge olcaccesslogdb olcdynlistattrset olcdlattrset olccollectinfo olcconfigfile olcconfigdir
    olcsubordinate olcuniqueignore olcspsessionlogsource olcmemberofaddcheck olcnestgroupmember olcnssmap olcauthzpolicy
    olclimits olcsizelimit olctimelimit olcrootdn entrycsn"
# Every entry has the last one: with it, a setting that is missing has its default.
OPENLDAP_STORAGE="olcdbnosync olcdbenvflags olcdbcheckpoint olclogfile structuralobjectclass"
MOST_OVERLAYS=200

# find_openldap PID: set openldap_config to its configuration, a folder or a file; return whether it is readable.
find_openldap() {
    openldap_config=
    openldap_folder=`argument "$1" -F | head -1`
    openldap_file=`argument "$1" -f | head -1`
    if test -z "$openldap_folder$openldap_file"; then
        for openldap_try in /etc/ldap/slapd.d /etc/openldap/slapd.d /usr/local/etc/openldap/slapd.d; do
            openldap_at=`in_root $openldap_try`
            if test -n "$openldap_at" && privileged test -d "$openldap_at" 2>/dev/null </dev/null; then
                openldap_folder=$openldap_try
                break
            fi
        done
    fi
    if test -n "$openldap_folder"; then
        openldap_config=`in_root "$openldap_folder"`
        test -n "$openldap_config" && file_for_it "`follow "$openldap_folder/cn=config.ldif"`" && return 0
        unreadable slapd "$openldap_folder"
    elif test -n "$openldap_file"; then
        openldap_config=`in_root "$openldap_file"`
        file_for_it "$openldap_config" && return 0
        unreadable slapd "$openldap_file"
    fi
    return 1
}

openldap() {
    openldap_socket_url "$1"
    if find_openldap "$1"; then
        openldap_arguments=`arguments "$1"`
        case $openldap_arguments in
            '' | *[lL][dD][aA][pP][iI]:*) settings_note="${openldap_url:+ (local socket $openldap_url)}" ;;
            *) settings_note=' (without a local socket)' ;;
        esac
        if test -n "$openldap_folder"; then
            settings_section cn-config .ldif "$openldap_config" slapd_d_settings
        else
            settings_section slapd .conf "$openldap_config" slapd_conf_settings
        fi
        settings_note=
    fi
    openldap_monitor
}

# slapd_d_settings FOLDER: print the settings of cn=config, of its databases, and of their overlays.
slapd_d_settings() {
    contents "`follow "$openldap_folder/cn=config.ldif"`" | openldap_settings cn=config
    slapd_d_status=$?
    slapd_d_below "$1" cn=config cn=config olcDatabase
    privileged ls "$1/cn=config" </dev/null | grep '^olcDatabase=[{}0-9A-Za-z-]*$' | while read slapd_d_database; do
        slapd_d_below "$1" "cn=config/$slapd_d_database" "$slapd_d_database,cn=config" olcOverlay
    done
    return $slapd_d_status
}

# slapd_d_below ROOT FOLDER PARENT KIND: the entries of a kind in a folder below ROOT. Each file may be a link.
slapd_d_below() {
    slapd_d_parent=$3
    privileged ls "$1/$2" </dev/null | grep "^$4=[{}0-9A-Za-z_-]*\.ldif\$" | head -$MOST_OVERLAYS |
        while read slapd_d_name; do
            slapd_d_file=`follow "$openldap_folder/$2/$slapd_d_name"`
            file_for_it "$slapd_d_file" && contents "$slapd_d_file" | openldap_settings "$slapd_d_parent"
        done
}

openldap_settings() {
    ldif_settings "$OPENLDAP_SETTINGS $OPENLDAP_INDEXES $OPENLDAP_STORAGE" "$1"
}

# What awk keeps of access rules and account mappings: LDAP URLs, without the values in their filters.
LDAP_URLS='
        function urls(rest,    at, url, base, names, one, out) {
            while (at = index(rest, "ldap:///")) {
                rest = substr(rest, at + 8)
                at = index(rest, "ldap:///")
                url = at ? substr(rest, 1, at - 1) : rest
                base = match(url, /^[A-Za-z0-9=, .-]*/) ? substr(url, 1, RLENGTH) : ""
                sub(/^[^?]*/, "", url)
                names = match(url, /^\?[A-Za-z0-9,._;-]*/) ? substr(url, 2, RLENGTH - 1) : ""
                out = out "ldap:///" base "?" names "?sub?"
                while (match(url, /\([ \t]*[A-Za-z0-9][A-Za-z0-9_.;-]*[ \t]*([<>~]?=|:)/)) {
                    one = substr(url, RSTART + 1, RLENGTH - 1)
                    url = substr(url, RSTART + RLENGTH)
                    gsub(/^[ \t]+|[;:<>~= \t].*$/, "", one)
                    out = out "(" one "=)"
                }
                out = out " "
            }
            return out
        }'

# slapd_conf_settings FILE: print of each directive listed here the words that its grammar allows, so that no text folded
# behind it is printed. Where the grammar allows any word, only the first line is used.
slapd_conf_settings() {
    contents "$1" | awk "$LDAP_URLS"'
        function words(name, pattern,    one, n, i, out) {
            gsub(/"/, "", first)
            n = split(first, one, /[ \t]+/)
            for (i = 1; i <= n; i++) if (one[i] ~ pattern) out = out " " one[i]
            if (out != "") print name out
        }
        # An invalid index type is printed as ?: without any type slapd would use its default types.
        function indexes(rest,    one, n) {
            gsub(/"/, "", rest)
            n = split(rest, one, /[ \t]+/)
            if (one[1] !~ /^[A-Za-z0-9][A-Za-z0-9.;,_-]*$/) return
            print "index " one[1] (n < 2 || one[2] == "" ? "" : " " (tolower(one[2]) ~ TYPES ? one[2] : "?"))
        }
        function judge(line,    name, rest) {
            if (line ~ /^#/ || line !~ /^[A-Za-z]/) return
            name = line; sub(/[ \t].*/, "", name)
            rest = substr(line, length(name) + 1); sub(/^[ \t]+/, "", rest)
            name = tolower(name)
            if (name == "syncrepl") {
                if (match(tolower(rest), /binddn=("[^"]*"|[^" \t]+)/)) print "syncrepl " substr(rest, RSTART, RLENGTH)
            } else if (name == "limits") {
                # One that is not printed whole could come first: ? stands for it.
                print name " " (rest ~ LIMITS ? rest : "?")
            } else if (name ~ /^(suffix|rootdn|updatedn|include|directory|logfile)$/) {
                if (match(rest, /^("[^"]*"|[^" \t]+)/)) print name " " substr(rest, 1, RLENGTH)
            } else if (name ~ /^(idletimeout|threads|writetimeout|conn_max_pending|conn_max_pending_auth|listener-threads)$/) {
                if (match(rest, /^[0-9]+/)) print name " " substr(rest, 1, RLENGTH)
            } else if (name == "database") {
                if (match(rest, /^[A-Za-z0-9_-]+/)) print name " " substr(rest, 1, RLENGTH)
            } else if (name ~ /^(pidfile|argsfile|moduleload|modulepath)$/) {
                if (match(rest, /^[A-Za-z0-9_.\/-]+/)) print name " " substr(rest, 1, RLENGTH)
            } else if (name ~ /^index_substr_(if_minlen|if_maxlen|any_len|any_step)$/) {
                if (match(rest, /^[0-9]+/)) print name " " substr(rest, 1, RLENGTH)
            } else if (name == "dbnosync") {
                print name (match(tolower(rest), /^(true|yes|on|false|no|off)$/) ? " " rest : "")
            } else if (name ~ /^(access|authz-regexp|sasl-regexp|saslregexp|authid-rewriterule)$/) {
                if (urls(rest) != "") print name " " urls(rest)
            } else if (name == "constraint_attribute") {
                if (match(rest, /[ \t](uri|set)[ \t]/) && urls(rest) != "")
                    print name " x" substr(rest, RSTART, RLENGTH) urls(rest)
            } else if (name == "index") indexes(rest)
            else if (name == "overlay") { if (match(first, /^"?[A-Za-z0-9_-]+/)) print name " " substr(first, 1, RLENGTH) }
            else if (name in PATTERN) words(name, PATTERN[name])
        }
        BEGIN {
            TYPES = "(pres|eq|approx|sub|substr|subinitial|subany|subfinal|nosubtypes|notags|nolang)"
            TYPES = "^" TYPES "(," TYPES ")*$"
            LIMITS = "^([^\" \t]|\"[^\"]*\")+([ \t]+(size|time)([.][a-z]+)?=[A-Za-z0-9-]+)+[ \t]*$"
            PATTERN["sizelimit"] = PATTERN["timelimit"] = "^((size|time)([.][a-z]+)?=)?(-?[0-9]+|unlimited|none|soft|disabled)$"
            PATTERN["refint_attributes"] = PATTERN["unique_attributes"] = "^[A-Za-z0-9][A-Za-z0-9._;-]*$"
            PATTERN["unique_ignore"] = PATTERN["nestgroup-member"] = PATTERN["nssov-map"] = PATTERN["refint_attributes"]
            PATTERN["memberof-addcheck"] = PATTERN["authz-policy"] = PATTERN["sasl-authz-policy"] = "^[A-Za-z]+$"
            PATTERN["syncprov-sessionlog-source"] = PATTERN["logdb"] = "^\"?[A-Za-z0-9=, .-]+\"?$"
            PATTERN["logpurge"] = "^[0-9+:]+$"
            PATTERN["checkpoint"] = "^[0-9]+$"
            PATTERN["envflags"] = "^(nosync|nometasync|writemap|mapasync|nordahead)$"
            PATTERN["dynlist-attrset"] = "^[A-Za-z0-9_.:+@*-]+$"
            PATTERN["collectinfo"] = "^[A-Za-z0-9_.;,=-]+$"
            PATTERN["unique_uri"] = "^(ignore|strict|ldap:///.*)$"
        }
        { sub(/\r$/, "") }
        /^[ \t]/ { if (length(whole) < 65536) whole = whole " " substr($0, 2); next }
        {
            if (NR > 1) judge(whole)
            whole = first = $0
            sub(/^[^ \t]*[ \t]*/, "", first)
        }
        END { judge(whole) }'
}

# usual_ldapi: the default socket of slapd, for ldapi:/// without a path.
usual_ldapi() {
    for usual_path in /run/slapd/ldapi /var/run/slapd/ldapi /run/openldap/ldapi /var/run/openldap/ldapi /run/ldapi \
        /var/run/ldapi; do
        if socket_for_it "`in_root $usual_path`"; then
            echo $usual_path
            return
        fi
    done
}

openldap_socket_url() {
    openldap_url=
    for openldap_one in `arguments "$1" | tr ' ' '\n' | grep -i '^ldapi:'`; do
        case $openldap_one in
            *%2[fF]*) openldap_path=`printf '%s\n' "$openldap_one" | sed 's,^[^:]*://,,; s,[/?].*,,; s,%2[fF],/,g'` ;;
            *) openldap_path=`usual_ldapi` ;;
        esac
        openldap_socket=`in_root "$openldap_path"`
        if socket_for_it "$openldap_socket"; then
            openldap_url=`ldapi_url "$openldap_socket"`
            break
        fi
    done
}

# openldap_monitor: ask the process at openldap_url.
openldap_monitor() {
    test -n "$openldap_url" && may_search || return 0
    section "$servers_folder" "cn-monitor$server_nth.ldif" \
        "ldapsearch -Y EXTERNAL -H $openldap_url -b cn=Monitor * +, to process $server_pid" \
        search gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth "$openldap_url" cn=Monitor sub '*' '+'
}

# ---- OpenDJ and PingDirectory.

OPENDJ_SETTINGS="ds-cfg-idle-time-limit ds-cfg-use-tcp-keep-alive ds-cfg-listen-port ds-cfg-accept-backlog
    ds-cfg-num-worker-threads ds-cfg-enabled ds-cfg-attribute-type ds-cfg-java-class
    ds-cfg-max-allowed-client-connections ds-cfg-maximum-concurrent-connections
    ds-cfg-maximum-concurrent-connections-per-ip-address ds-cfg-maximum-idle-connection-duration ds-rlim-idle-time-limit"
OPENDJ_INDEXES="ds-cfg-attribute ds-cfg-index-type ds-cfg-index-entry-limit ds-cfg-substring-index-entry-limit
    ds-cfg-substring-length ds-cfg-index-extensible-matching-rule ds-cfg-index-filter-pattern ds-cfg-backend-id
    ds-cfg-workflow-element-id ds-cfg-base-dn ds-cfg-prime-index ds-cfg-cache-mode ds-cfg-background-prime
    ds-cfg-type ds-cfg-match-base-dn ds-cfg-match-attribute ds-cfg-subject-attribute ds-cfg-fingerprint-attribute
    ds-cfg-subject-attribute-mapping ds-cfg-datetime-attribute ds-cfg-join-dn-attribute ds-cfg-join-target-attribute"
OPENDJ_STORAGE="ds-cfg-db-directory ds-cfg-db-txn-no-sync ds-cfg-db-txn-write-no-sync ds-cfg-db-durability
    ds-cfg-disk-low-threshold ds-cfg-disk-full-threshold ds-cfg-replication-db-directory ds-cfg-log-file"

# java_instance PID: the configuration file of a directory server in Java; nothing for any other program.
java_instance() {
    arguments "$1" | awk '
        /^(org\.opends\.server|(com|org)\.forgerock\.opendj|com\.(unboundid|pingidentity)\.directory\.server)\./ { directory = 1 }
        after { file = $0; after = 0 }
        $0 == "--configFile" || $0 == "-c" || $0 == "--configClass" { after = ($0 != "--configClass") }
        END { if (directory && file ~ /^[A-Za-z0-9._\/-]+$/) print file }'
}

java_directory() {
    java_config=`in_root "$2"`
    if file_for_it "$java_config"; then
        settings_section config .ldif "$java_config" java_settings
    else
        unreadable java "$2"
    fi
}

java_settings() {
    contents "$1" | ldif_settings "$OPENDJ_SETTINGS $OPENDJ_INDEXES $OPENDJ_STORAGE"
}
