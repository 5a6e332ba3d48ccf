r"""The online build of indexes on 389-ds, as a block of commands: define and build, wait, check.

    { cat <<'LDIF'
    dn: cn=displayName,cn=index,cn=userRoot,…                  the definitions
    LDIF
    task userRoot displayName; } | apply                       and the task that builds them: one ldapmodify
    wait_for_build

One ldapmodify, because a new type, or a new matching rule, of an existing index is used at once and finds nothing until
its build has begun; a later command may never come. The server builds whether or not a client waits for it.
nsTaskExitCode appears in the task's entry at its end. On LMDB it appears at once, 0, and the build goes on, so that the
next one failed: the log of the task shows the end. The entry is deleted `ttl` seconds after nsTaskExitCode appeared,
an hour where it has none: that can be before the end of a long build. On LMDB a build now and then aborts ("Invalid
entry (no rdn) in database", nsTaskExitCode -23), and succeeds when run again. All was tested with 2.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.commands.shell_session import block, from_file
from ldapdiag.servers.commands.shell_text import here_document
from ldapdiag.servers.indexes.index_answers import FUNCTIONS, REACHED, search_function

if TYPE_CHECKING:
    from collections.abc import Sequence

TASKS = "cn=index,cn=tasks,cn=config"
KEPT = "ttl: 86400"
"""Keeps the entry of a task for a day, the most that the server grants (ldap/servers/slapd/task.c)."""
ENDED = (
    "(|(&(nsTaskExitCode=*)(!(nsTaskExitCode=0)))"
    "(&(nsTaskExitCode=0)(|(nsTaskLog=*Finished indexing*)(nsTaskLog=*Reindexing complete*))))"
)
"""Matches a task that has ended; the second message is that of LMDB."""

BUILDING = r"""task() {
echo
say "dn: cn=$task,cn=index,cn=tasks,cn=config"
say 'changetype: add'
say 'objectClass: top'
say 'objectClass: extensibleObject'
say "cn: $task"
say "nsInstance: $1"
say 'KEPT'
shift
for attribute; do say "nsIndexAttribute: $attribute"; done
}
apply() {
code=0
change -c || code=$?
case $code in
0) ;;
20|68) say 'What is configured already stays as it is.' ;;
*) say "ldapmodify failed (exit code $code)" >&2; return "$code" ;;
esac
}
wait_for_build() {
delay=1 shown=
while :; do
code=0
entry=$(search -b "cn=$task,cn=index,cn=tasks,cn=config" -s base 2>/dev/null) || code=$?
[ -n "$entry" ] || [ "$code" -ne 0 ] || code=32
case $code in
0) ;;
32) state=$unbuilt; say 'The task of the build has no entry: the server was restarted, or refused it.' >&2; return 1 ;;
*) say "ldapsearch failed (exit code $code)" >&2; return "$code" ;;
esac
result=$(task_value nsTaskExitCode)
progress="$(task_value nsTaskCurrentItem) of $(task_value nsTaskTotalItems) entries"
[ -z "$result" ] || progress='the server goes on in the background'
[ -z "$result" ] || ! has_ended || break
[ "$progress" = "$shown" ] || [ "$progress" = ' of  entries' ] || say "building: $progress"
shown=$progress
pause "$delay"
[ "$delay" -ge 10 ] || delay=$((delay + 1))
done
[ "$result" = 0 ] || {
state=$unbuilt
say "The build failed (nsTaskExitCode $result); see the errors log." >&2
return 1
}
}
has_ended() { search -b "cn=$task,cn=index,cn=tasks,cn=config" -s base "$built" 1.1 2>/dev/null | grep -q '^dn:'; }
task_value() { printf '%s\n' "$entry" | sed -n "s/^$1: \\(-*[0-9][0-9]*\\)\$/\\1/p"; }
suffix_of() {
octets "$(search -b "$1" -s base nsslapd-suffix 2>/dev/null | sed -n '/^nsslapd-suffix:/{p;q;}')"
}
no_unordered_number() {
types=$(search -b cn=schema -s base attributeTypes 2>/dev/null | sed -n '/^attributeTypes: /p')
[ -n "$types" ] || { say 'the schema of the server cannot be read (cn=schema)' >&2; return 1; }
types=$(printf '%s\n' "$types" | grep -iF -e "'$1'" -e ": ( $1 " | grep -F .115.121.1.27) || return 0
! printf '%s\n' "$types" | grep -viq ' ORDERING ' || {
say "$1 is a number without an ordering rule: with an index eq alone, ranges (>=, <=) would miss entries." >&2
say 'Name the schema to ldapdiag, too (schema/99user.ldif, or all of cn=schema): it then adds the rule.' >&2
return 1
}
}
configured() {
search -b "$1" -s base "$2" 1.1 2>/dev/null | grep -q '^dn:' || { say "NOT CONFIGURED: $1: $2" >&2; return 1; }
}
built='@'""".replace("@", ENDED).replace("KEPT", KEPT)
"""They need `change` (ldapmodify), `search` (ldapsearch), each with its connection options, and the state `unbuilt`."""


def building(
    search: str, modify: str, title: str, backend: str, attributes: Sequence[str], ldif: Sequence[str],
    checks: Sequence[str], *before: str,
) -> str:  # fmt: skip
    """Return the block that applies LDIF, builds the indexes of these attributes of a backend, waits and checks.

    `search` and `modify` are ldapsearch and ldapmodify with their connection options, `checks` commands to run then;
    those of `before` end the block, and nothing is changed, if they fail.
    """
    named = f"{', '.join(attributes)} in {backend}"
    unbuilt = "may be configured, and is not built. Do not restart the server before it is built or removed."
    in_background = f"Do not restart the server before the task cn=$task,{TASKS} has ended. Then run this again."
    lines = [
        f"step='{title} in {backend}' task=ldapdiag-{backend}-$(date +%s)-$$",
        REACHED,
        *before,
        f"unbuilt='{named}: {unbuilt} To build it, run this again.' state=$unbuilt",
        f"{{ {here_document('cat', *ldif)}" if ldif else "{",
        f"task {backend} {' '.join(attributes)}; }} | apply",
        f'state="{named}: configured; the server builds it now, in the background. {in_background}"',
        f"say 'building: {named}'",
        "wait_for_build",
        f"state='{named}: configured and built; the check of the answers has not passed.'",
        *checks,
        "answers_right",
        f"state='{named}: built'",
        'none_wrong "$state"',
    ]
    return changing(search, modify, lines)


def changing(search: str, modify: str, steps: Sequence[str], *libraries: str) -> str:
    """Return the block of other steps that use the functions `search`, `change`, and those of the libraries."""
    commands = "\n".join([search_function(from_file(search)), f'change() {{ {from_file(modify)} "$@"; }}'])
    return block(commands, "\n".join(steps), FUNCTIONS, BUILDING, *libraries)
