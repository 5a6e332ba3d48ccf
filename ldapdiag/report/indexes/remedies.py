"""The remedies of a plan alone: LDIF for ldapmodify, or a shell script; nothing is in them that was not validated."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.remedy import RemedyKind
from ldapdiag.report.neutral import neutral
from ldapdiag.servers.index_remedies import add_indexes, without_ldif

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.candidates import Change

NOTHING = "nothing to change"
HEAD = """#!/bin/sh
set -e
stopped() {
code=$?
[ "$code" -eq 0 ] || tell >&2
exit "$code"
}
tell() {
echo "This has failed: $step"
echo "If it has set an index before, that is not built: do not restart the server until it is built or taken back."
echo "This takes it back (what fails of it was never set):"
take_back
}
take_back() { :; }
trap stopped EXIT
trap 'exit 1' HUP INT TERM
"""
"""A script stops at the first command that fails, and then says what it may have left behind."""


def of_plans(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Yield the remedies of every plan: all its indexes of one database at once."""
    coverages = {one.host: one for one in diagnosis.facts.every(IndexCoverage)}
    for plan in diagnosis.facts.every(IndexPlan):
        indexing = coverages[plan.host].indexes
        if indexing is None:
            continue
        backends: dict[str, tuple[Backend, list[Change]]] = {}
        for row in plan.indexes:
            if row.backend is not None:
                backends.setdefault(row.backend.name, (row.backend, []))[1].extend(row.changes)
        for backend, changes in backends.values():
            yield from add_indexes(plan.host, backend, changes, indexing.configuration, indexing.schema, None)


def as_script(diagnosis: Diagnosis) -> str:
    """Return a shell script; with nothing to do, one that says so. What is no command is told in a comment."""
    told = list(of_plans(diagnosis))
    advice = [
        f"# Not done by this: {neutral(one.text, longest=2000)}\n" for one in told if one.kind is RemedyKind.ADVICE
    ]
    steps = [_step(one) for one in told if one.kind is RemedyKind.SHELL]
    return "\n".join([HEAD, *advice, *steps] if steps else ["#!/bin/sh\nset -e\n", *(advice or [f"# {NOTHING}\n"])])


def _step(remedy: Remedy) -> str:
    """Return the commands that add indexes and build them, and before them what is said should one of them fail."""
    said = [f"step={shlex.quote(neutral(f'{remedy.title} at {remedy.target}'))}"]
    if remedy.undo:
        said += ["take_back() { cat <<'TAKE_BACK'", remedy.undo, "TAKE_BACK", "}"]
    return "\n".join([_comments(remedy), *said, remedy.text, ""])


def as_ldif(diagnosis: Diagnosis) -> str:
    """Return LDIF; with nothing to do, a comment."""
    told = [one for one in of_plans(diagnosis) if one.kind is RemedyKind.LDIF]
    if told:
        return "\n".join(f"{_comments(one)}\n{one.text.rstrip()}\n" for one in told)
    advice = [f"# {neutral(one.text, longest=2000)}\n" for one in of_plans(diagnosis) if one.kind is RemedyKind.ADVICE]
    planned = {plan.host for plan in diagnosis.facts.every(IndexPlan) if plan.indexes}
    indexings = [one.indexes for one in diagnosis.facts.every(IndexCoverage) if one.indexes and one.host in planned]
    why = {f"# {without_ldif(one.configuration)}\n": None for one in indexings}
    return "".join(advice or why or [f"# {NOTHING}\n"])


def _comments(remedy: Remedy) -> str:
    """Return what to know before, as comments of one line each."""
    lines = (f"{remedy.title} at {remedy.target}", remedy.changes, remedy.risk)
    return "\n".join(f"# {neutral(line, longest=2000)}" for line in lines)
