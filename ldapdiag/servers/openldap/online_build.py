"""Shell text that changes index lines in cn=config while slapd answers searches. All of it was tested with 2.5.13.

A write to cn=config waits until every task of slapd has ended, and all searches wait for the write. The online indexer
is such a task: a write while it runs stops the server, for 50 s with 60,000 entries. So the text writes only while no
indexer runs, and waits for each to end. It sees the indexer in cn=Monitor, and makes no change where it cannot.

A build that ends early is silent: slapd uses the incomplete index. The causes that slapd shows are tested for: a start
since the change, and a database without free pages (olcDbMaxSize).
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# monitoredInfo is in base64 if the suffix is not ASCII: the server compares it. bdb_online_index of 2.4 matches too.
WATCH = r"""refuse() { echo "$1; nothing was changed" >&2; exit 1; }
incomplete() { echo "$1: searches may miss entries. Remove the index lines, then add them again" >&2; exit 1; }
indexer() { search -b cn=Threads,cn=Monitor -s one '(monitoredInfo=*online_index*)' 1.1; }
start() { search -b cn=Start,cn=Time,cn=Monitor -s base monitorTimestamp; }
is_full() {
search -b cn=Databases,cn=Monitor -s one "$database" olmMDBPagesMax olmMDBPagesUsed | awk '
/^olmMDBPagesMax:/ { most = $2 } /^olmMDBPagesUsed:/ { used = $2 } END { exit !(used * 100 > most * 96) }'
}
until_built() {
seconds=0
while running=$(indexer) || incomplete 'cn=Monitor cannot be read while slapd builds an index'; [ -n "$running" ]; do
[ $((seconds % 10)) -ne 0 ] || echo "slapd builds an index ($seconds s so far): do not restart it or change cn=config"
sleep 1; seconds=$((seconds + 1))
done
}
visible=$(search -b cn=Threads,cn=Monitor -s one '(&(cn=Max)(monitoredInfo=*))' 1.1) started=$(start) || visible=
case $visible,$started in
?*,*monitorTimestamp*) ;;
*) refuse 'cn=Monitor does not show the threads and the start of slapd to this account, so builds cannot be seen' ;;
esac"""
"""Needs the function `search`."""
ROOM = "! is_full || refuse 'the database has used over 96 % of olcDbMaxSize: raise it, else the build would end early'"
COMPLETE = """[ "$(start)" = "$started" ] || incomplete 'slapd was started while it built an index'
! is_full || incomplete 'the database has used over 96 % of olcDbMaxSize, so the build may have ended early'"""


def online(search: str, suffix: str, writes: Sequence[str], checks: Iterable[str], *, builds: bool) -> str:
    """Return text that makes each write to cn=config while no indexer runs, waits for the last build, and checks.

    `search` defines the function of this name, `writes` are commands; `builds`: one of them adds lines.
    """
    found = f"database={shlex.quote(f'(namingContexts={escaped(suffix)})')}"
    steps = [line for one in writes for line in ("until_built", one)]
    room, complete = ([ROOM], ["until_built", COMPLETE]) if builds else ([], [])
    return "\n".join(["(", "set -e", search, found, WATCH, *room, *steps, *complete, *checks, ")"])


def unwatched(search: str, write: str, checks: Iterable[str]) -> str:
    """Return text with one write to cn=config that starts no build."""
    return "\n".join(["(", "set -e", search, write, *checks, ")"])


def escaped(value: str) -> str:
    """Return a value escaped for a filter (RFC 4515)."""
    return "".join(f"\\{ord(one):02x}" if one in "\\*()\x00" else one for one in value)
