"""The remedies of a plan alone: LDIF for ldapmodify, or a shell script, of validated values only."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.remedy import RemedyKind
from ldapdiag.report.indexes.script_addresses import addresses_of
from ldapdiag.report.neutral import neutral
from ldapdiag.servers.index_remedies import add_indexes, without_ldif

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.remedy import Remedy
    from ldapdiag.report.indexes.script_addresses import ScriptAddresses
    from ldapdiag.servers.candidates import Change

NOTHING = "nothing to change"
FIRST = "#!/bin/sh\nset -e\n"
HEAD = """stopped() {
code=$?
[ "$code" -eq 0 ] || report >&2
exit "$code"
}
report() {
echo "failed: $step"
echo "An index that was set before the failure is not built: do not restart the server until it is built or removed."
echo "To undo it (a command that fails had no effect):"
undo
}
undo() { :; }
trap stopped EXIT
trap 'exit 1' HUP INT TERM
"""
"""The script stops at the first command that fails, and prints what is left to undo."""


def of_plans(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Yield the remedies of every plan: all its indexes of one database at once."""
    coverages = {one.server: one for one in diagnosis.facts.every(IndexCoverage)}
    for plan in diagnosis.facts.every(IndexPlan):
        indexing = coverages[plan.server].indexes
        if indexing is None:
            continue
        backends: dict[str, tuple[Backend, list[Change]]] = {}
        for row in plan.indexes:
            if row.backend is not None:
                backends.setdefault(row.backend.name, (row.backend, []))[1].extend(row.changes)
        for backend, changes in backends.values():
            yield from add_indexes(indexing.address, backend, changes, indexing.configuration, indexing.schema, None)


def as_script(diagnosis: Diagnosis) -> str:
    """Return a shell script; advice that is no command becomes a comment, an empty plan a comment alone."""
    remedies = list(of_plans(diagnosis))
    advice = [
        f"# Not done by this: {neutral(one.text, longest=2000)}\n" for one in remedies if one.kind is RemedyKind.ADVICE
    ]
    commands = [one for one in remedies if one.kind is RemedyKind.SHELL]
    if not commands:
        return "\n".join([FIRST, *(advice or [f"# {NOTHING}\n"])])
    addresses = addresses_of(commands)
    return "\n".join([f"{FIRST}{addresses.head}{HEAD}", *advice, *(_step(one, addresses) for one in commands)])


def _step(remedy: Remedy, addresses: ScriptAddresses) -> str:
    """Return the commands that add indexes and build them, preceded by the text to print if one fails."""
    lines = [*addresses.before(remedy), f"step={shlex.quote(neutral(f'{remedy.title} at {remedy.target}'))}"]
    if remedy.undo:
        lines += ["undo() { cat <<'UNDO'", remedy.undo, "UNDO", "}"]
    return "\n".join([_comments(remedy), *lines, remedy.text, ""])


def as_ldif(diagnosis: Diagnosis) -> str:
    """Return LDIF; with nothing to do, a comment."""
    changes = [one for one in of_plans(diagnosis) if one.kind is RemedyKind.LDIF]
    if changes:
        return "\n".join(f"{_comments(one)}\n{one.text.rstrip()}\n" for one in changes)
    advice = [f"# {neutral(one.text, longest=2000)}\n" for one in of_plans(diagnosis) if one.kind is RemedyKind.ADVICE]
    planned = {plan.server for plan in diagnosis.facts.every(IndexPlan) if plan.indexes}
    indexings = [one.indexes for one in diagnosis.facts.every(IndexCoverage) if one.indexes and one.server in planned]
    why = {f"# {without_ldif(one.configuration)}\n": None for one in indexings}
    return "".join(advice or why or [f"# {NOTHING}\n"])


def _comments(remedy: Remedy) -> str:
    """Return title, changes and risk as comments of one line each."""
    lines = (f"{remedy.title} at {remedy.target}", remedy.changes, remedy.risk)
    return "\n".join(f"# {neutral(line, longest=2000)}" for line in lines)
