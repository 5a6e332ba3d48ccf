"""What the commands of a plan write for one of its attributes, which may be more than the planned index types.

slapd has the indexes of several attributes in one line, and the line of an attribute replaces that of its supertype:

    olcDbIndex: name,sn,title eq    to add sub for name: `name eq,sub`, `sn eq` and `title eq`
    olcDbIndex: name eq             to add sub for cn: `cn eq,sub`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.index_remedies import indexes_set

if TYPE_CHECKING:
    from ldapdiag.analysis.indexes.coverage import IndexCoverage
    from ldapdiag.analysis.indexes.plan import IndexPlan, PlannedIndexes
    from ldapdiag.evidence.indexes import IndexDefinition


def set_with(row: PlannedIndexes, plan: IndexPlan, coverage: IndexCoverage) -> tuple[IndexDefinition, ...]:
    """Return what the commands of the whole plan write for an attribute, and for those that share its line.

    None without the index configuration, and for what no command can add.
    """
    backend, indexes = row.backend, coverage.indexes
    if backend is None or indexes is None:
        return ()
    beside = [one for one in plan.indexes if one.backend is not None and one.backend.name == backend.name]
    changes = [change for one in beside for change in one.changes]
    written = indexes_set(backend, changes, indexes.configuration, indexes.schema)
    names = indexes.schema.names(row.attribute)
    own = [one for one in written if one.attribute.lower() in names]
    planned = frozenset[str]().union(*(indexes.schema.names(one.attribute) for one in beside))
    lines = {one.written for one in own} - {""}
    return (*own, *(one for one in written if one.attribute.lower() not in planned and one.written in lines))


def indexes_as_data(indexes: IndexDefinition) -> dict[str, str | list[str]]:
    """Return the indexes of one attribute as plain values, for JSON."""
    return {"attribute": indexes.attribute, "types": sorted(indexes.types), "rules": list(indexes.rules)}
