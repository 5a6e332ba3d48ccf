"""The remedies of a plan alone: LDIF for ldapmodify, or a shell script; nothing is in them that was not validated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.coverage import Coverage
from ldapdiag.analysis.index_plan import IndexPlan
from ldapdiag.remedy import Kind
from ldapdiag.report.neutral import neutral
from ldapdiag.servers.index_advice import added

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.candidates import Change

NOTHING = "nothing to change"


def of_plans(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Yield the remedies of every plan: all its indexes of one database at once."""
    coverages = {one.host: one for one in diagnosis.facts.every(Coverage)}
    for plan in diagnosis.facts.every(IndexPlan):
        indexing = coverages[plan.host].indexing
        if indexing is None:
            continue
        backends: dict[str, tuple[Backend, list[Change]]] = {}
        for row in plan.rows:
            if row.backend is not None:
                backends.setdefault(row.backend.name, (row.backend, []))[1].extend(row.changes)
        for backend, changes in backends.values():
            yield from added(plan.host, backend, changes, indexing.configuration, None)


def as_script(diagnosis: Diagnosis) -> str:
    """Return a shell script; with nothing to do, one that says so."""
    told = [one for one in of_plans(diagnosis) if one.kind is Kind.SHELL]
    body = [f"{_comments(one)}\n{one.text}\n" for one in told] or [f"# {NOTHING}\n"]
    return "\n".join(["#!/bin/sh\nset -e\n", *body])


def as_ldif(diagnosis: Diagnosis) -> str:
    """Return LDIF; with nothing to do, a comment."""
    told = [one for one in of_plans(diagnosis) if one.kind is Kind.LDIF]
    shell = [one for one in of_plans(diagnosis) if one.kind is Kind.SHELL]
    if not told:
        why = "this product takes no LDIF for it: see --script" if shell else NOTHING
        return f"# {why}\n"
    return "\n".join(f"{_comments(one)}\n{one.text.rstrip()}\n" for one in told)


def _comments(remedy: Remedy) -> str:
    """Return what to know before, as comments of one line each."""
    lines = (f"{remedy.title} at {remedy.target}", remedy.changes, remedy.risk)
    return "\n".join(f"# {neutral(line, longest=2000)}" for line in lines)
