#!/bin/sh
# Judges the same evidence night after night, and fails when something is new or worse than in the baseline.
#
#   nightly.sh FOLDER [EVIDENCE or options of ldapdiag diagnose]...      judge; FOLDER has the baseline and the reports
#   nightly.sh --accept FOLDER                                           make the last report the baseline
#
# Exit code: 0 nothing new or worse, 1 something is (or a check crashed), 2 not enough evidence, or wrong usage.
#
# FOLDER/latest.json, .html    the report of the last run
# FOLDER/baseline.json         the report that later ones are compared with
#
# The first run makes the baseline: what is wrong then fails no later run, and stays in every report. After a run with code 0 in
# that has as much evidence and traffic as the baseline, its report is the new baseline: what is repaired and comes back is new. A number
# that grows slowly is still compared with that of the first night, or of the last that was accepted. After any other run the
# baseline stays, so that the next one fails as well until it is repaired, accepted in ldapdiag.toml, or made the baseline by the
# command that the run prints. LDAPDIAG names the program, where it is not in PATH.
set -eu

ldapdiag=${LDAPDIAG:-ldapdiag}

stop() {
    echo "nightly.sh: $1" >&2
    exit 2
}

quoted() {
    printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"
}

# The baseline is replaced in one step, so that a stopped run leaves the former one.
keep() {
    cp "$folder/latest.json" "$folder/.baseline.new"
    mv "$folder/.baseline.new" "$folder/baseline.json"
}

accepting=
if [ "${1:-}" = --accept ]; then
    accepting=yes
    shift
fi
[ $# -ge 1 ] || stop "usage: nightly.sh [--accept] FOLDER [EVIDENCE or options]..."
folder=$1
shift
[ -d "$folder" ] || stop "$folder: no such folder; make it: mkdir -m 700 $folder"

if [ -n "$accepting" ]; then
    [ -e "$folder/latest.json" ] || stop "$folder/latest.json: no such file; the last run wrote no report"
    keep
    echo "nightly.sh: $folder/baseline.json is the last report now"
    exit 0
fi

rm -f "$folder/latest.json" "$folder/latest.html"
set -- "$@" --output - --output "$folder/latest.json" --output "$folder/latest.html"

if [ ! -e "$folder/baseline.json" ]; then
    "$ldapdiag" diagnose "$@" --fail-on never || exit $?
    keep
    echo "nightly.sh: first run; $folder/baseline.json is the baseline of the next ones"
    exit 0
fi

code=0
"$ldapdiag" diagnose "$@" --baseline "$folder/baseline.json" --fail-on-new || code=$?
case $code in
0)
    if grep -q '"covers_baseline": true' "$folder/latest.json"; then
        keep
    else
        echo "nightly.sh: this run has less evidence or less traffic than the baseline, so it stays the baseline"
    fi
    ;;
1)
    echo "nightly.sh: to accept one finding until a day, write its id in $folder/latest.json into ldapdiag.toml ([[accepted]])"
    echo "nightly.sh: to accept all of this report, so that later nights are compared with it, run:"
    printf '%s --accept %s\n' "$(quoted "$0")" "$(quoted "$folder")"
    ;;
esac
exit "$code"
