"""missing-server-index: an attribute without the index that the server's own searches need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.analysis.indexes.write_causes import UnindexedInternalSearch, unindexed_internal_searches
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.ldif import comparable
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.index_remedies import add_indexes
from ldapdiag.wording import counted


@check(group="indexes", number=MainNumber("entries", quantity="value"))
def judge(
    indexing: ServerIndexes,
    *,
    medium_entries: Annotated[
        int, Threshold("entries", "a database with so many or more is medium; with fewer info")
    ] = 1000,
) -> Iterator[Verdict]:
    """An attribute without the index that the server's own searches need.

    ## What it looks at
    The plug-ins and overlays in the configuration that search the database with ordinary operations, and whether an
    index answers these searches: referential integrity, attribute uniqueness, MemberOf, distributed numeric
    assignment, the retro changelog, content synchronization and autobind of 389-ds and DSEE; syncprov, syncrepl,
    unique, constraint, dynlist, dds, accesslog and authz-regexp of slapd; uniqueness, referential integrity and
    identity mappers of OpenDJ and PingDirectory. Each search is evaluated by the same simulation as those of
    clients, in the databases that contain its base. slapd's memberof overlay reads entries by DN and needs none,
    and no index answers the searches of its refint overlay.

    Such searches are not in the access log: 389-ds logs them at access log level 260, slapd does not log them.

    - likely: the search follows from the configuration and was not observed.

    ## Severity
    By default:

    - medium: the database has 1,000 entries or more, or their number is not known.
    - info: it has fewer.

    ## Why it matters
    Each change of an entry, or each bind, waits for a scan of the whole database: the access log shows changes
    that take long, and no search that would explain it.

    ## What to do
    Add the index and build it, on each server where the plug-in is enabled.

    ## When it is harmless
    Where the database hardly ever changes.
    """
    found = tuple(unindexed_internal_searches(indexing))
    for one in found:
        yield _finding(one, indexing, medium_entries)
    frequent = {search.attribute for search in indexing.configuration.internal_searches if search.frequent}
    if not found and indexing.configuration.whole:
        reason = f"{counted(len(frequent), 'attribute')} that plug-ins or overlays search for, each with an index"
        yield Clear(
            subject=indexing.server,
            reason=reason if frequent else "no plug-in or overlay makes searches",
        )
    elif not found:
        yield NotJudged.without(IndexConfiguration, indexing.server, "only a part of the configuration was collected")


def _finding(one: UnindexedInternalSearch, indexing: ServerIndexes, medium_entries: int) -> Finding:
    types = sorted({change.type for change in one.changes} | {change.rule for change in one.changes} - {""})
    by = ", ".join(one.by)
    entries = indexing.entries.get(comparable(one.backend.suffixes[0]))
    size = f" ({one.backend.name} has {entries:,})" if entries is not None else ""
    return Finding(
        subject=f"{one.attribute} of {one.backend.name} at {indexing.server}",
        key=f"{indexing.server}|{one.backend.name}|{one.attribute.lower()}",
        severity=Severity.INFO if entries is not None and entries < medium_entries else Severity.MEDIUM,
        confidence=Confidence.LIKELY,
        title=f"{by} at {indexing.server} searches for {one.attribute}, which has no index {','.join(types)} in "
        f"{one.backend.name}",
        detail=f"Operations that make {by} search examine every entry{size}.\n"
        "These searches are not in the access log; the operations that wait for them take long there.",
        observed={
            "server": indexing.server,
            "backend": one.backend.name,
            "attribute": one.attribute,
            "types": types,
            "plugins": list(one.by),
            "entries": entries,
        },
        server=indexing.server,
        hosts=(indexing.host,),
        remedies=add_indexes(indexing.place(one.backend), one.changes, None),
        origins=indexing.origins,
    )
