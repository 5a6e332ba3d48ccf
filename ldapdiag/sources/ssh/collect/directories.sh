# ---- 389 Directory Server, and Directory Server Enterprise Edition.

DS389_SETTINGS="nsslapd-idletimeout nsslapd-tcp-keepalive-time nsslapd-maxdescriptors nsslapd-reservedescriptors
    nsslapd-conntablesize nsslapd-threadnumber nsslapd-maxthreadsperconn
    nsslapd-listen-backlog-size nsslapd-listenbacklog nsslapd-listen-backlog
    nsslapd-maxconnections nsslapd-port nsslapd-secureport nsslapd-security nsslapd-versionstring nsslapd-ioblocktimeout
    nsslapd-numlisteners nsslapd-infolog-area nsslapd-infolog-level ds-maxheaphigh ds-maxheaplow ds-start-tls-enabled
    nsidletimeout nsds5replicabinddn nsds5replicabinddngroup"

ns_slapd() {
    slapd_home=`argument "$1" -D | head -1`
    test -n "$slapd_home" || return 0
    slapd_config=`in_root "$slapd_home/dse.ldif"`
    file_for_it "$slapd_config" || slapd_config=`in_root "$slapd_home/config/dse.ldif"`
    if file_for_it "$slapd_config"; then
        settings_section dse .ldif "$slapd_config" ns_slapd_settings
        ns_slapd_errors "`dse_value nsslapd-errorlog`"
        test "`dse_value nsslapd-ldapilisten`" = on && ns_slapd_monitor "`dse_value nsslapd-ldapifilepath`"
    else
        unreadable ns-slapd "$slapd_home/dse.ldif"
    fi
}

ns_slapd_settings() {
    contents "$1" | ldif_settings "$DS389_SETTINGS"
}

# dse_value NAME: one value of cn=config that is no secret.
dse_value() {
    contents "$slapd_config" | awk -v name="$1:" '
        found && /^ / { value = value substr($0, 2); next }
        found { exit }
        tolower($1) == name { value = $0; sub(/^[^:]*: */, "", value); found = 1 }
        END { if (found) print value }'
}

# ns_slapd_errors FILE: what testifies among the last lines of the errors log, and its first, which names the version.
TESTIMONY='Not listening for new connections|Listening for new connections again|istening on .* port'
TESTIMONY=$TESTIMONY'|slapd started|starting up|PR_Accept\(\) failed|[Mm]ax open connections reached'

ns_slapd_errors() {
    test -n "$1" || return 0
    errors_file=`in_root "$1"`
    if file_for_it "$errors_file"; then
        if testimony "$errors_file" | grep '^\[' >/dev/null 2>&1; then
            section "$servers_folder" "errors$server_nth" "lines on listening and starting in $errors_file" \
                errors_and_banner "$errors_file"
        fi
    else
        unreadable ns-slapd "$1"
    fi
}

testimony() {
    privileged tail -c 16777216 "$1" 2>/dev/null </dev/null | grep -E "$TESTIMONY" | tail -n 2000
}

errors_and_banner() {
    privileged head -1 "$1" | grep -E '^[[:space:]]+[^ ]*-Directory/'
    testimony "$1"
}

# ldapi_url PATH: what ldapsearch takes.
ldapi_url() {
    printf 'ldapi://%s\n' "`printf '%s' "$1" | sed 's,/,%2F,g'`"
}

# search ACCOUNT URL BASE SCOPE ATTRIBUTES...: as root over the local socket, without a password.
# The comment names our own connection, which is to be left out.
search() {
    search_url=$2
    search_base=$3
    search_scope=$4
    echo "# asked by ldapi as $1"
    shift; shift; shift; shift
    # A server in trouble may never answer, and there may be more to ask for.
    $SUDO $TRYING ldapsearch -Q -LLL -o ldif-wrap=no -o nettimeout=5 -Y EXTERNAL -H "$search_url" \
        -b "$search_base" -s "$search_scope" \
        '(objectClass=*)' "$@"
}

# may_search: whether a local socket can be asked; the reason, where not, is a gap.
may_search() {
    test "$MONITORS" = 1 || return 1
    if test $ROOT = 0; then
        gap "$servers_folder" "its cn=monitor is shown over LDAPI to root only" "ask with --sudo, or name the server: ldap://..."
    elif has ldapsearch; then
        return 0
    else
        gap "$servers_folder" "its cn=monitor cannot be asked there: ldapsearch is not installed" \
            "name the server, too: ldap://..."
    fi
    return 1
}

ns_slapd_monitor() {
    slapd_socket=`in_root "$1"`
    socket_for_it "$slapd_socket" && may_search || return 0
    section "$servers_folder" "cn-monitor$server_nth.ldif" "ldapsearch -Y EXTERNAL -H ldapi -b cn=monitor -s base" \
        search "`dse_value nsslapd-ldapimaprootdn`" "`ldapi_url "$slapd_socket"`" cn=monitor base \
        objectClass cn version threads connection currentconnections totalconnections \
        currentconnectionsatmaxthreads maxthreadsperconnhits dtablesize readwaiters opsinitiated opscompleted \
        currenttime starttime currentbusyworkers currentworkqueue maxbusyworkers maxworkqueue
}

# ---- OpenLDAP.

OPENLDAP_SETTINGS="olcidletimeout olcthreads olclistenerthreads olcwritetimeout olcconnmaxpending olcconnmaxpendingauth
    olcupdatedn"

openldap() {
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
        if test -n "$openldap_config" && file_for_it "`follow "$openldap_folder/cn=config.ldif"`"; then
            settings_section cn-config .ldif "$openldap_config" slapd_d_settings
        else
            unreadable slapd "$openldap_folder"
        fi
    elif test -n "$openldap_file"; then
        openldap_config=`in_root "$openldap_file"`
        if file_for_it "$openldap_config"; then
            settings_section slapd .conf "$openldap_config" slapd_conf_settings
        else
            unreadable slapd "$openldap_file"
        fi
    fi
    openldap_monitor "$1"
}

slapd_d_settings() {
    slapd_d_files "$openldap_folder" "$1" | ldif_settings "$OPENLDAP_SETTINGS" cn=config
}

# slapd_d_files FOLDER PLACE: as it is called there, and here. Each file in it may be a link again.
slapd_d_files() {
    contents "`follow "$1/cn=config.ldif"`"
    privileged ls "$2/cn=config" </dev/null | grep '^olcDatabase=[{}0-9A-Za-z-]*\.ldif$' | while read slapd_d_name; do
        slapd_d_file=`follow "$1/cn=config/$slapd_d_name"`
        echo
        file_for_it "$slapd_d_file" && contents "$slapd_d_file"
    done
}

# slapd_conf_settings FILE: of each directive named here its first word, so that nothing folded behind it comes along.
slapd_conf_settings() {
    contents "$1" | awk '
        function judge(line,    name, rest) {
            if (line ~ /^#/ || line !~ /^[A-Za-z]/) return
            name = line; sub(/[ \t].*/, "", name)
            rest = substr(line, length(name) + 1); sub(/^[ \t]+/, "", rest)
            name = tolower(name)
            if (name == "syncrepl") {
                if (match(tolower(rest), /binddn=("[^"]*"|[^" \t]+)/)) print "syncrepl " substr(rest, RSTART, RLENGTH)
            } else if (name ~ /^(suffix|updatedn|include)$/) {
                if (match(rest, /^("[^"]*"|[^" \t]+)/)) print name " " substr(rest, 1, RLENGTH)
            } else if (name ~ /^(idletimeout|threads|writetimeout|conn_max_pending|conn_max_pending_auth|listener-threads)$/) {
                if (match(rest, /^[0-9]+/)) print name " " substr(rest, 1, RLENGTH)
            } else if (name == "database") {
                if (match(rest, /^[A-Za-z0-9_-]+/)) print name " " substr(rest, 1, RLENGTH)
            } else if (name ~ /^(pidfile|argsfile|moduleload|modulepath)$/) {
                if (match(rest, /^[A-Za-z0-9_.\/-]+/)) print name " " substr(rest, 1, RLENGTH)
            }
        }
        { sub(/\r$/, "") }
        /^[ \t]/ { if (length(whole) < 65536) whole = whole " " substr($0, 2); next }
        { if (NR > 1) judge(whole); whole = $0 }
        END { judge(whole) }'
}

# usual_ldapi: where slapd listens when it is told ldapi:/// and no more.
usual_ldapi() {
    for usual_path in /run/slapd/ldapi /var/run/slapd/ldapi /run/openldap/ldapi /var/run/openldap/ldapi /run/ldapi \
        /var/run/ldapi; do
        if socket_for_it "`in_root $usual_path`"; then
            echo $usual_path
            return
        fi
    done
}

openldap_monitor() {
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
    test -n "$openldap_url" && may_search || return 0
    section "$servers_folder" "cn-monitor$server_nth.ldif" "ldapsearch -Y EXTERNAL -H ldapi -b cn=Monitor * +" \
        search gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth "$openldap_url" cn=Monitor sub '*' '+'
}

# ---- OpenDJ and PingDirectory.

OPENDJ_SETTINGS="ds-cfg-idle-time-limit ds-cfg-use-tcp-keep-alive ds-cfg-listen-port ds-cfg-accept-backlog
    ds-cfg-num-worker-threads ds-cfg-enabled ds-cfg-attribute-type ds-cfg-java-class
    ds-cfg-max-allowed-client-connections ds-cfg-maximum-concurrent-connections
    ds-cfg-maximum-concurrent-connections-per-ip-address ds-cfg-maximum-idle-connection-duration ds-rlim-idle-time-limit"

# java_instance PID: where the configuration of a directory written in Java is; nothing for any other program.
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
    contents "$1" | ldif_settings "$OPENDJ_SETTINGS"
}
