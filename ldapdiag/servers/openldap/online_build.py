"""A block of commands that changes index lines in cn=config while slapd answers searches. Tested with 2.5.13.

A write to cn=config waits until every task of slapd has ended, and all searches wait for the write. The online indexer
is such a task: a write while it runs stops the server, for 50 s with 60,000 entries. So the block writes only while no
indexer runs, and waits for each to end. It sees the indexer in cn=Monitor, and makes no change where it cannot.

A build that ends early is silent: slapd uses the incomplete index. The causes that slapd shows are tested for: a start
since the change, and a database without free pages (olcDbMaxSize).

A block of commands that changes index lines and builds indexes while slapd is stopped. Tested with 2.5.13.

slapmodify tries the change of cn=config before slapd is stopped. If a command fails or is interrupted, the former lines
are restored before slapd starts: with a new line and an incomplete index it would silently miss entries. The tools run
as the account of slapd, which owns the files. Without -q, slapindex waits for the disk after each entry (3,900 instead
of 200,000 entries per second).
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.servers.commands.ldap_tools import waiting
from ldapdiag.servers.commands.shell_text import here_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# monitoredInfo is in base64 if the suffix is not ASCII: the server compares it. bdb_online_index of 2.4 matches too.
WATCH = r"""incomplete() {
say "$1" >&2
state='the index is incomplete and in use, so searches may miss entries: remove its lines, then add them again'
exit 1
}
indexer() { search -b cn=Threads,cn=Monitor -s one '(monitoredInfo=*online_index*)' 1.1; }
start() { search -b cn=Start,cn=Time,cn=Monitor -s base monitorTimestamp; }
is_full() {
search -b cn=Databases,cn=Monitor -s one "$database" olmMDBPagesMax olmMDBPagesUsed | awk '
/^olmMDBPagesMax:/ { most = $2 } /^olmMDBPagesUsed:/ { used = $2 } END { exit !(used * 100 > most * 96) }'
}
watch() {
case $(search -b cn=config -s base olcConfigFile olcConfigDir) in
*olcConfigDir:*) ;;
*olcConfigFile:*) refuse 'slapd starts with slapd.conf, so a change of cn=config is lost then: edit slapd.conf' ;;
esac
visible=$(search -b cn=Threads,cn=Monitor -s one '(&(cn=Max)(monitoredInfo=*))' 1.1) started=$(start) || visible=
case $visible,$started in
?*,*monitorTimestamp*) ;;
*)
say 'Give this account read access to cn=Monitor. Or run ldapdiag with the output of slapcat -n0: if that shows no' >&2
say 'monitor database, it prints commands that build the index while slapd is stopped.' >&2
refuse 'cn=Monitor does not show the threads and the start of slapd to this account, so builds cannot be seen' ;;
esac
}
until_built() {
seconds=0
while running=$(indexer) || incomplete 'cn=Monitor cannot be read while slapd builds an index'; [ -n "$running" ]; do
[ $((seconds % 10)) -ne 0 ] || say "slapd builds an index ($seconds s so far): do not restart it or change cn=config"
pause 1
seconds=$((seconds + 1))
done
}
has_room() { ! is_full || refuse 'over 96 % of olcDbMaxSize is used: raise it, else the build would end early'; }
is_complete() {
[ "$(start)" = "$started" ] || incomplete 'slapd was started while it built an index'
! is_full || incomplete 'over 96 % of olcDbMaxSize is used, so the build may have ended early'
}"""
"""They need `search` (ldapsearch with its connection options)."""
TASKS, NO_INDEXER = "cn=Tasklist,cn=Threads,cn=Monitor", "!(monitoredInfo=*online_index*)"
MAYBE = "state='the index lines may be changed: see olcDbIndex of the database'"
UNBUILT = "state='the index lines are set, and the index is not complete: do not restart slapd before it is built'"
UNPROVEN = "state='the index lines are set; the check of the answers has not passed'"


def online(suffix: str, writes: Sequence[Sequence[str]], checks: Iterable[str], *, builds: bool) -> Iterator[str]:
    """Yield the steps that write LDIF to cn=config while no indexer runs, wait for the last build, and check.

    They need WATCH and `change` (ldapmodify); `builds`: a write adds lines.
    """
    yield f"database={shlex.quote(f'(namingContexts={escaped(suffix)})')}"
    yield "watch"
    if builds:
        yield "has_room"
    for ldif in writes:
        yield from ("until_built", MAYBE, here_document("change", *ldif))
    if builds:
        yield from (UNBUILT, "until_built", "is_complete")
    yield from (UNPROVEN, *checks)


def brief(search: str, modify: str, suffix: str, writes: Sequence[Sequence[str]], *, is_mdb: bool) -> str:
    """Return the few lines that do the same: the tests of WATCH, one ldapmodify, and the wait.

    `search` and `modify` are ldapsearch and ldapmodify with their connection options; `is_mdb`: the database has a
    size, olcDbMaxSize.
    """
    idle, size = f"(&(cn=Tasklist)({NO_INDEXER}))", f"(&(olmMDBPagesMax=*)(namingContexts={escaped(suffix)}))"
    filter_ = f"(|{idle}{size})" if is_mdb else idle
    sizes = " /Max:/ { most = $2 } /Used:/ { used = $2 }" if is_mdb else ""
    room = " && most && used * 100 <= most * 96" if is_mdb else ""
    full = " over 96 % of olcDbMaxSize is used," if is_mdb else ""
    ldif = [line for place, lines in enumerate(writes) for line in ([""] * bool(place) + [*lines])]
    return "\n".join(
        [
            'refuse() { echo "Nothing is changed: $1." >&2; exit 1; }',
            f"{search} -LLL -b cn=config -s base olcConfigDir | grep -q '^olcConfigDir:' ||",
            "refuse 'slapd starts with slapd.conf, where a change of cn=config is lost, or cn=config cannot be read'",
            f"{search} -LLL -b cn=Monitor {shlex.quote(filter_)} olmMDBPagesMax olmMDBPagesUsed |",
            f"awk '/^dn: cn=Tasklist,/ {{ idle = 1 }}{sizes} END {{ exit !(idle{room}) }}' ||",
            f"refuse 'an index is being built,{full} or cn=Monitor does not show it'",
            here_document(modify, *ldif),
            "echo 'waiting for the end of the build, an hour at most; slapd does not show how much of it is done'",
            *waiting(search, TASKS, NO_INDEXER, "dn", "", 2),
        ]
    )


def unwatched(ldif: Sequence[str], checks: Iterable[str]) -> Iterator[str]:
    """Yield the steps with one write to cn=config that starts no build; they need `change`."""
    yield from (MAYBE, here_document("change", *ldif), UNPROVEN, *checks)


def escaped(value: str) -> str:
    """Return a value escaped for a filter (RFC 4515)."""
    return "".join(f"\\{ord(one):02x}" if one in "\\*()\x00" else one for one in value)


# The arguments of -F and -f; without them slapd and the tools use the same compiled-in paths.
STOPPED = r"""only_slapd() {
[ "$(ps -o pid= -C slapd | wc -l)" -eq 1 ] || refuse 'this host does not run exactly one slapd'
user=$(ps -o user:32= -C slapd)
[ -n "$user" ] || refuse 'the account that slapd runs as cannot be found'
folder=$(argument F)
file=$(argument f)
}
argument() { ps -ww -o args= -C slapd | sed -n "s/.* -$1 *\\([^ ]*\\).*/\\1/p"; }
stop() {
systemctl stop slapd
[ -z "$(ps -o pid= -C slapd)" ] || refuse 'slapd still runs after systemctl stop slapd'
}
start_slapd() {
systemctl start slapd
for second in 1 2 3 4 5 6 7 8 9 10; do search -b '' -s base 1.1 >/dev/null 2>&1 && break; sleep 1; done
}
modify() { runuser -u "$user" -- slapmodify -n 0 ${folder:+-F "$folder"} "$@"; }
restore() {
[ -z "$changed" ] || { say 'failed: the former index lines are restored' >&2; before | modify; } || {
say 'slapd is not started: its searches would miss entries. Restore the former lines with slapmodify, then start it' >&2
exit 1
}
systemctl start slapd
}
can_change() { after | modify -u >/dev/null || refuse 'slapmodify cannot make this change'; }
change_stopped() (
changed=
trap restore EXIT
trap 'exit 1' HUP INT TERM
stop
trap '' HUP INT TERM
after | modify
changed=yes
trap 'exit 1' HUP INT TERM
build
trap - EXIT
start_slapd
)
build_stopped() (
trap 'systemctl start slapd' EXIT
trap 'exit 1' HUP INT TERM
stop
build || refuse 'slapindex failed: run it again, else searches may miss entries'
trap - EXIT
start_slapd
)"""
"""They need `search` (ldapsearch with its connection options) and `build`."""
ABOVE = "state='slapd was stopped; the lines above report whether it runs, and with which index lines'"
RESTARTED_UNPROVEN = "state='slapd runs again; the check of the answers has not passed'"
NO_BUILD = "build() { :; }"
CN_CONFIG, BY_FILE = '${folder:+-F "$folder"}', '${file:+-f "$file"}'
"""The options of the tools for the configuration of slapd."""


def offline(checks: Iterable[str]) -> Iterator[str]:
    """Yield the steps that stop slapd, change cn=config, build, start slapd and check.

    They need STOPPED, `build`, and the functions `before` and `after`, which print LDIF (`printing`).
    """
    yield from ("only_slapd", "can_change", ABOVE, "change_stopped", RESTARTED_UNPROVEN, *checks)


def rebuilt(checks: Iterable[str]) -> Iterator[str]:
    """Yield the steps that stop slapd, build the indexes of lines that it has already, start it and check."""
    yield from (ABOVE, "build_stopped", RESTARTED_UNPROVEN, *checks)


def printing(name: str, ldif: Sequence[str]) -> str:
    """Return a function that prints LDIF."""
    return "\n".join([f"{name}() {{", here_document("cat", *ldif), "}"])


def build_function(suffix: str, attributes: Iterable[str], place: str = CN_CONFIG) -> str:
    """Return the function `build`, which builds the indexes of attributes as the account of slapd; of none: all."""
    named = "".join(f" {shlex.quote(attribute)}" for attribute in attributes)
    return f'build() {{\nrunuser -u "$user" -- slapindex -q {place} -b {shlex.quote(suffix)}{named}\n}}'
