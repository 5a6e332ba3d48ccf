"""Shell text that changes index lines in cn=config and builds indexes while slapd is stopped. Tested with 2.5.13.

slapmodify tries the change before slapd is stopped. If a command fails or is interrupted, the former lines are
restored before slapd starts: with a new line and an incomplete index it would silently miss entries. The tools run as
the account of slapd, which owns the files. Without -q, slapindex waits for the disk after each entry (3,900 instead of
200,000 entries per second).
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.servers.shell_text import here_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ONLY_SLAPD = [
    'refuse() { echo "$1; nothing was changed" >&2; exit 1; }',
    '[ "$(ps -o pid= -C slapd | wc -l)" -eq 1 ] || refuse "this host does not run exactly one slapd"',
    "user=$(ps -o user:32= -C slapd)",
    '[ -n "$user" ] || refuse "cannot find the account that slapd runs as"',
]
STOP = [
    "systemctl stop slapd",
    "[ -z \"$(ps -o pid= -C slapd)\" ] || refuse 'slapd still runs after systemctl stop slapd'",
]
# The argument of -F, else the compiled-in path: none is passed.
FOLDER = r"folder=$(ps -ww -o args= -C slapd | sed -n 's/.* -F *\([^ ]*\).*/\1/p')"
CHANGE = r"""modify() { runuser -u "$user" -- slapmodify -n 0 ${folder:+-F "$folder"} "$@"; }
leave() {
[ -z "$changed" ] || { echo 'failed: the former index lines are restored' >&2; before | modify; } || {
echo 'slapd is not started: it would miss entries. Restore the former lines with slapmodify, then start it' >&2
exit 1
}
systemctl start slapd
}
changed=
after | modify -u > /dev/null || refuse 'slapmodify cannot make this change'
trap leave EXIT
trap 'exit 1' HUP INT TERM"""
WRITE = """trap '' HUP INT TERM
after | modify
changed=yes
trap 'exit 1' HUP INT TERM"""
STARTED = [
    "trap - EXIT HUP INT TERM",
    "systemctl start slapd",
    "for second in 1 2 3 4 5 6 7 8 9 10; do search -b '' -s base 1.1 > /dev/null 2>&1 && break; sleep 1; done",
]
"""slapd runs again, and answers."""


def offline(search: str, ldif: Sequence[str], undo: Sequence[str], build: Sequence[str], checks: Iterable[str]) -> str:
    """Return text that stops slapd, applies LDIF to cn=config, runs `build`, starts slapd and checks.

    `undo` is the LDIF that reverts `ldif`, applied if `build` fails; `search` defines the function of this name.
    """
    former, changed = (
        "\n".join([f"{name}() {{", here_document("cat", *lines), "}"])
        for name, lines in (("before", undo), ("after", ldif))
    )
    return in_subshell([search, FOLDER, former, changed, CHANGE, *STOP, WRITE, *build, *STARTED, *checks])


def rebuilt(build: str) -> list[str]:
    """Return the commands that stop slapd, build the indexes of lines that it has already, and start it."""
    return [
        "failed() { echo 'slapindex failed: run it again, else searches may miss entries' >&2; exit 1; }",
        "trap 'systemctl start slapd' EXIT",
        "trap failed HUP INT TERM",
        *STOP,
        f"{build} || failed",
        *STARTED,
    ]


def in_subshell(act: Iterable[str]) -> str:
    """Return commands in a subshell that ends at the first failure, and does nothing unless exactly one slapd runs."""
    return "\n".join(["(", "set -e", *ONLY_SLAPD, *act, ")"])


def slapindex(suffix: str, attributes: Iterable[str], place: str = '${folder:+-F "$folder"}') -> str:
    """Return the command that builds indexes as the account of slapd; `place` is the option of its configuration."""
    named = "".join(f" {one}" for one in attributes)
    return f'runuser -u "$user" -- slapindex -q {place} -b {shlex.quote(suffix)}{named}'
