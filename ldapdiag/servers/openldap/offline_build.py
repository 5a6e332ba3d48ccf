"""A block of commands that changes index lines and builds indexes while slapd is stopped. Tested with 2.5.13.

slapmodify tries the change of cn=config before slapd is stopped. If a command fails or is interrupted, the former lines
are restored before slapd starts: with a new line and an incomplete index it would silently miss entries. The tools run
as the account of slapd, which owns the files. Without -q, slapindex waits for the disk after each entry (3,900 instead
of 200,000 entries per second).
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.servers.shell_text import here_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
UNPROVEN = "state='slapd runs again; the check of the answers has not passed'"
NO_BUILD = "build() { :; }"
CN_CONFIG, BY_FILE = '${folder:+-F "$folder"}', '${file:+-f "$file"}'
"""The options of the tools for the configuration of slapd."""


def offline(checks: Iterable[str]) -> Iterator[str]:
    """Yield the steps that stop slapd, change cn=config, build, start slapd and check.

    They need STOPPED, `build`, and the functions `before` and `after`, which print LDIF (`printing`).
    """
    yield from ("only_slapd", "can_change", ABOVE, "change_stopped", UNPROVEN, *checks)


def rebuilt(checks: Iterable[str]) -> Iterator[str]:
    """Yield the steps that stop slapd, build the indexes of lines that it has already, start it and check."""
    yield from (ABOVE, "build_stopped", UNPROVEN, *checks)


def printing(name: str, ldif: Sequence[str]) -> str:
    """Return a function that prints LDIF."""
    return "\n".join([f"{name}() {{", here_document("cat", *ldif), "}"])


def build_function(suffix: str, attributes: Iterable[str], place: str = CN_CONFIG) -> str:
    """Return the function `build`, which builds the indexes of attributes as the account of slapd; of none: all."""
    named = "".join(f" {shlex.quote(one)}" for one in attributes)
    return f'build() {{\nrunuser -u "$user" -- slapindex -q {place} -b {shlex.quote(suffix)}{named}\n}}'
