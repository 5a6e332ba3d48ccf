"""VLV indexes of 389-ds: the commands that define one with its access, build it, wait until it is used, and check it.

One ldapmodify adds the search with its access control instruction, the index and the build task. Without the
instruction an account is refused (err=50) as soon as the index is used, although its searches worked without one.
The server uses an index that is built by a task at once, and one that it finds later at most a minute later.
All commands and effects were tested with 2.3.1.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes.ds389 import DATABASES
from ldapdiag.evidence.indexes.vlv import SCOPES
from ldapdiag.evidence.ldif import comparable
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_distinguished_name, ldif_line
from ldapdiag.servers.commands.ldap_tools import as_manager, modify
from ldapdiag.servers.commands.remedy_texts import INDEX_ON_EACH_REPLICA, NO_BACKEND, advice_if_missing
from ldapdiag.servers.commands.shell_text import here_document
from ldapdiag.servers.ds389.index_build import TASKS, changing
from ldapdiag.servers.indexes.index_answers import REACHED
from ldapdiag.servers.ldbm.ldif import backend_name, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.wanted_view import WantedView

BY_HAND = "Add it by hand: a name in it cannot be put into a command."
VIEWING = r"""page() {
echo end | search -b "$base" -s "$scope" -E "sss=$order" -E vlv=0/0/1/0 "$filter" 1.1 2>/dev/null
}
wait_for_use() {
waited=0
while [ "$waited" -lt 90 ]; do
page >/dev/null || :
if search -b "$1" -s base vlvEnabled | grep -q '^vlvEnabled: 1'; then return 0; fi
[ "$waited" -gt 0 ] || say 'waiting up to 90 s until the server uses the index'
pause 5
waited=$((waited + 5))
done
say "The server does not use $1: see vlvEnabled there, and the errors log." >&2
return 1
}
check_page() {
for attempt in 1 2 3; do
listed=$(page | sed -n 's/^# vlvResult.* count=\([0-9][0-9]*\) .*/\1/p' || :)
code=0
entries=$(search -b "$base" -s "$scope" "(!(!$filter))" 1.1 2>/dev/null) || code=$?
[ "$code" -eq 0 ] && [ -n "$listed" ] || { skip_check "the entries of $filter (result code $code)"; return 0; }
found=$(printf '%s\n' "$entries" | grep -c '^dn:' || :)
[ "$listed" != "$found" ] || { say "right: the index has all $found entries"; return 0; }
done
say "WRONG: the index has $listed entries, a search without it finds $found" >&2
wrong=1
}"""
"""They need `search`, and the variables base, scope, filter and order; ldapsearch ends at an invalid page."""


def add_vlv_index(server: ServerAddress, backend: Backend, wanted: WantedView) -> Remedy:
    """Define a VLV index with the access that its accounts need, build it, wait until it is used, and check it."""
    name = backend_name(backend)
    possible = bool(name) and wanted.is_printable
    remedy = Remedy(
        title=f"{_verb(wanted)} {wanted.filter} below {wanted.base} sorted by {wanted.keys}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if possible else RemedyKind.ADVICE,
        text=_block(server, backend, wanted) if possible else BY_HAND,
        changes=(
            "Virtual list views of this base, scope, filter and order read one page instead of sorting every entry. "
            f"{_readers(wanted)} may read the entry of the VLV search; without that they would be refused "
            "(err=50) as soon as the index is used."
        ),
        risk=(
            "Every added, removed or renamed entry, and every change of a sort key, writes the index as well. "
            f"{INDEX_ON_EACH_REPLICA}"
        ),
        undo=_undo(server, backend, wanted) if possible else "",
        verify=_verify(server, backend, wanted) if possible else "",
        family=Family.DS389,
        needs=Needs.REINDEX,
    )
    return advice_if_missing(remedy, [] if name else [NO_BACKEND])


def allow_reading(server: ServerAddress, wanted: WantedView) -> Remedy:
    """Let accounts use the VLV indexes of a search."""
    entry = wanted.search.entry if wanted.search is not None else ""
    lines = [*_modify_aci(wanted, "add")]
    possible = is_distinguished_name(entry)
    return Remedy(
        title=f"Let accounts use the VLV indexes of {entry}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL if possible else RemedyKind.ADVICE,
        text=modify(server, *lines) if possible else "Allow the accounts to read the entry of the VLV search.",
        changes=f"{_readers(wanted)} may read this entry, and so use its indexes; no other entry.",
        risk="None beyond that: the entry has the base and the filter of the search.",
        undo=modify(server, *_modify_aci(wanted, "delete")) if possible else "",
        verify="The search's RESULT in the access log has err=0, with a SORT and a VLV line before it.",
        family=Family.DS389,
    )


def _block(server: ServerAddress, backend: Backend, wanted: WantedView) -> str:
    """Return the block of commands."""
    name, index = backend_name(backend), wanted.index_name
    named = f"the VLV index {index} in {name}"
    order = "/".join(wanted.keys.split())
    changes = joined(_entries(backend, wanted))
    lines = [
        f"step='Build {named}' task=ldapdiag-{name}-$(date +%s)-$$",
        f"base={shlex.quote(wanted.base)} scope={wanted.scope} order={order} filter={shlex.quote(wanted.filter)}",
        REACHED,
        f"unbuilt='{named}: may be configured, and is not built; until then such searches sort in memory'",
        "state=$unbuilt",
        f"{{ {here_document('cat', *changes)}" if changes else "{",
        f"task {name}; say 'nsIndexVLVAttribute: {index}'; }} | apply",
        f'state="{named}: configured; the server builds it now, in the background: task cn=$task,{TASKS}"',
        "wait_for_build",
        f"state='{named}: built, and not used yet: the server looks for it once a minute'",
        f"wait_for_use {shlex.quote(_index_entry(backend, wanted))}",
        f"state='{named}: used; the check of its entries has not passed'",
        "check_page",
        "answers_right",
        f"state='{named}: used'",
        'say "$state"',
    ]
    search, change = as_manager("ldapsearch", server), as_manager("ldapmodify", server)
    return changing(search, change, lines, VIEWING)


def _entries(backend: Backend, wanted: WantedView) -> Iterator[list[str]]:
    """Yield the changes: access comes before the index."""
    if wanted.search is None:
        yield [
            ldif_line("dn", _search_entry(backend, wanted)),
            "changetype: add",
            "objectClass: top",
            "objectClass: vlvSearch",
            f"cn: {wanted.search_name}",
            ldif_line("vlvBase", wanted.base),
            f"vlvScope: {next(number for number, scope in SCOPES.items() if scope == wanted.scope)}",
            ldif_line("vlvFilter", wanted.filter),
            ldif_line("aci", _aci(wanted)),
        ]
    elif not wanted.is_readable:
        yield _modify_aci(wanted, "add")
    if wanted.present is not None:
        return
    yield [
        ldif_line("dn", _index_entry(backend, wanted)),
        "changetype: add",
        "objectClass: top",
        "objectClass: vlvIndex",
        f"cn: {wanted.index_name}",
        f"vlvSort: {wanted.keys}",
    ]


def _undo(server: ServerAddress, backend: Backend, wanted: WantedView) -> str:
    """Return the command that removes what was added, the index first."""
    changes = []
    if wanted.present is None:
        changes.append([ldif_line("dn", _index_entry(backend, wanted)), "changetype: delete"])
    if wanted.search is None:
        changes.append([ldif_line("dn", _search_entry(backend, wanted)), "changetype: delete"])
    elif not wanted.is_readable:
        changes.append(_modify_aci(wanted, "delete"))
    return modify(server, *joined(changes)) if changes else "None needed: the same index is built again."


def _verify(server: ServerAddress, backend: Backend, wanted: WantedView) -> str:
    tool = as_manager("ldapsearch", server)
    return f"{tool} -LLL -b {shlex.quote(_index_entry(backend, wanted))} -s base vlvSort vlvEnabled vlvUses"


def _verb(wanted: WantedView) -> str:
    return "Add a VLV index of" if wanted.present is None else "Build the VLV index of"


def _readers(wanted: WantedView) -> str:
    return "All accounts, also anonymous ones," if wanted.anonymous else "All accounts that have bound"


def _aci(wanted: WantedView) -> str:
    return (
        f'(targetattr="*")(version 3.0; acl "use of VLV index {wanted.access_name}"; allow (read,search,compare) '
        f'userdn="{wanted.readers}";)'
    )


def _modify_aci(wanted: WantedView, how: str) -> list[str]:
    entry = wanted.search.entry if wanted.search is not None else ""
    return [ldif_line("dn", entry), "changetype: modify", f"{how}: aci", ldif_line("aci", _aci(wanted))]


def _search_entry(backend: Backend, wanted: WantedView) -> str:
    if wanted.search is not None:
        return wanted.search.entry
    known = is_distinguished_name(backend.entry) and comparable(backend.entry).endswith(DATABASES)
    above = backend.entry if known else f"cn={backend_name(backend)},{DATABASES}"
    return f"cn={wanted.search_name},{above}"


def _index_entry(backend: Backend, wanted: WantedView) -> str:
    """Return the DN of the index: the configured one in this order, else a new one."""
    return f"cn={wanted.index_name},{_search_entry(backend, wanted)}"
