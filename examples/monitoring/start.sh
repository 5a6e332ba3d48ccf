#!/bin/sh
# Starts the exporter, and a Prometheus with the alert rules beside it, until Ctrl-C:
#
#   sh examples/monitoring/start.sh ldaps://ds1 ssh://ds1 ssh://app1 -D DN -y FILE
#
# Then http://127.0.0.1:9090/alerts shows what fires. Its data is removed at the end. compose.yml does it in containers.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$(mktemp -d)
started=
end() {
    trap - EXIT INT TERM HUP
    kill $started 2>/dev/null || :
    wait
    rm -rf "$data"
}
trap end EXIT
trap 'end; exit 0' INT TERM HUP
${LDAPDIAG:-ldapdiag} exporter "$@" &
started=$!
prometheus --config.file="$here/prometheus.yml" --storage.tsdb.path="$data" --web.listen-address=127.0.0.1:9090 &
started="$started $!"
wait $!
