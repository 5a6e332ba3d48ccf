"""harmful-index: an index that makes changes or searches very slow, or answers wrong."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.indexes.costs import has_members
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.analysis.indexes.united_ranges import slow_ranges
from ldapdiag.check import check
from ldapdiag.cost_thresholds import COST_LIMITS, Cost, CostLimits, severity_of_cost
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.index_remedies import drop_indexes
from ldapdiag.servers.indexes.candidates import Change
from ldapdiag.servers.indexes.index_types import SUBSTRING_KINDS
from ldapdiag.servers.indexes.search_advice import replace_range
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted
from ldapdiag.wording import seconds as in_seconds

GROUPS = frozenset({"memberof", "ismemberof"})
"""Attributes with the groups of a member, which are fewer than the members of a group."""
UNLISTED = "ancestorid"
OBSOLETE, SUCCESSOR = "entrydn", "entryrdn"
"""Servers before entryrdn found entries by an index of entrydn."""
TREE = frozenset({"parentid", "entryrdn"})
"""Indexes of 389-ds on the hierarchy of entries. objectClass, also a system index, may have a scan limit."""


@dataclass(frozen=True, slots=True)
class Harm:
    """What is wrong with an index."""

    types: tuple[str, ...]
    severity: Severity
    confidence: Confidence
    what: str
    reason: str
    goes: bool = True
    """Whether it can be removed; else it is the server's own."""


@check(group="indexes")
def judge(
    indexing: ServerIndexes,
    coverage: IndexCoverage | None = None,
    *,
    limits: CostLimits = COST_LIMITS,
) -> Iterator[Verdict]:
    """An index that makes changes or searches very slow, or answers wrong.

    ## What it looks at
    The index configuration; for slapd also the access log: searches for a range that take 5 ms or more on average,
    and twice as long as a scan of all entries, because the lists of all values in it are united. Whether the order
    of parentid on disk agrees with its matching rule is not in the configuration: dsctl INSTANCE index-check reports
    it, where the version has it.

    ## Severity
    By default:

    - high: an index on an attribute whose values are computed (389-ds, DSEE: nsRole, and what class of service
      defines). It contains none of them, or not all, so searches miss entries; dsctl healthcheck calls it
      DSVIRTLE0001.
    - medium: a substring index on an attribute of group members, on 389-ds and DSEE (DSMOLE0002); on 389-ds an
      index on entrydn beside that on entryrdn, left by an upgrade (DSBLE0008).
    - low: the same with another product, or on memberOf; on 389-ds a scan limit of parentid or entryrdn, or an
      entry for ancestorid, which should have none; an index on an attribute that the server's schema lacks.
    - high, medium, low, of an index that makes ranges slow: as missing-index, by the time beyond that of a scan.

    ## Why it matters
    To remove one member, 389-ds compares the substrings of all: minutes for a group of some thousand members, while
    all other writes wait (389ds#6436, 389ds#5767). With a scan limit on parentid, searches of one level examine
    every entry (389ds#7223). For (&(uidNumber>=100)(uidNumber<=120)) slapd reads the index from each bound to its
    end, and copies the list found so far for each value: with 20,000 numbers 20 times as long as a scan.

    ## What to do
    Remove the index. Never remove the system indexes themselves, nor a matching rule of one that is in use. An index
    that makes ranges slow may be needed for single values: change the filter, and remove the index only where
    nothing searches for single values.

    ## When it is harmless
    Substrings of members, where groups are small. Referential integrity of 389-ds uses them when an entry with
    subordinates is renamed: without the index that one change examines every entry.
    """
    configuration, found, seen = indexing.configuration, 0, 0
    for backend in configuration.backends:
        for definition in backend.definitions:
            seen += 1
            harm = harm_of(definition, backend, indexing)
            if harm is not None:
                found += 1
                yield _finding(indexing, backend, definition, harm)
    for finding in _of_ranges(coverage, indexing, limits) if coverage is not None else ():
        found += 1
        yield finding
    if not seen:
        reason = f"the configuration of {indexing.server} contains no index"
        yield NotJudged.without(IndexConfiguration, indexing.server, reason)
    elif not found:
        excerpt = "" if configuration.whole else ", in the available excerpt"
        indexed = f"{counted(seen, 'attribute')} with an index{excerpt}"
        reason = f"{indexed}: none of computed values, none for substrings of members"
        yield Clear(subject=indexing.server, reason=reason)


def harm_of(definition: IndexDefinition, backend: Backend, indexing: ServerIndexes) -> Harm | None:
    """Return what is wrong with the indexes of an attribute, if anything is."""
    name = indexing.schema.primary(definition.attribute.partition(";")[0]).lower()
    if traits_of(indexing.configuration.identity.family).indexes_computed:
        if name == OBSOLETE and backend.definition({SUCCESSOR}) is not None:
            return _obsolete(definition)
        if definition.system or name == UNLISTED:
            return _of_its_own(definition, name)
        if computed := _computed(definition, name, indexing):
            return computed
    return _of_members(definition, name, indexing) or _unknown(definition, indexing)


def _obsolete(definition: IndexDefinition) -> Harm:
    """Return what is wrong with an index of entrydn beside one of entryrdn."""
    reason = "it was left by an upgrade: searches may miss entries, and index tasks fail (389ds#7519)"
    types = tuple(sorted(definition.types))
    return Harm(types, Severity.MEDIUM, Confidence.LIKELY, "which entryrdn has replaced", reason, goes=False)


def _unknown(definition: IndexDefinition, indexing: ServerIndexes) -> Harm | None:
    """Return that the server's own schema lacks an attribute, whose index is a leftover or a misspelling."""
    base = definition.attribute.partition(";")[0]
    if not indexing.schema_is_known or definition.system or indexing.schema.find(base) is not None:
        return None
    if any(template.attribute.lower() == base.lower() for template in indexing.configuration.templates):
        return None  # the product's own: the schema of 389-ds lacks targetuniqueid, which it indexes by default
    reason = "its schema defines no such attribute: the name is misspelt, or the schema that had it was removed"
    return Harm(tuple(sorted(definition.types)), Severity.LOW, Confidence.LIKELY, "which its schema lacks", reason)


def _of_its_own(definition: IndexDefinition, name: str) -> Harm | None:
    """Return what is wrong with a system index of 389-ds."""
    types = tuple(sorted(definition.types))
    if name == UNLISTED:
        reason = "the server configures this index by itself, and an entry for it changes its key order"
        return Harm(types, Severity.LOW, Confidence.POSSIBLE, "which should have no entry", reason, goes=False)
    limits = [limit.limit for limit in definition.scan_limits if limit.limit >= 0]
    if name not in TREE or not limits:
        return None
    reason = f"ID lists above {min(limits)} are not used, and then searches by scope examine every entry"
    return Harm(types, Severity.LOW, Confidence.LIKELY, "which has a scan limit", reason, goes=False)


def _computed(definition: IndexDefinition, name: str, indexing: ServerIndexes) -> Harm | None:
    """Return what is wrong with an index on an attribute that 389-ds computes."""
    virtual = indexing.configuration.virtual_attributes
    by = next((by for one, by in sorted(virtual.items()) if indexing.schema.primary(one).lower() == name), None)
    if by is None or not definition.types:
        return None
    reason = f"its values are computed ({by}), and the index does not contain them: searches miss entries"
    return Harm(tuple(sorted(definition.types)), Severity.HIGH, Confidence.LIKELY, "which is computed", reason)


def _of_members(definition: IndexDefinition, name: str, indexing: ServerIndexes) -> Harm | None:
    """Return what is wrong with an index for substrings of the members of groups."""
    types = tuple(sorted(definition.types & SUBSTRING_KINDS))
    if not types or not has_members(name, indexing.configuration, indexing.schema):
        return None
    if name in GROUPS:
        reason = "each group of an entry has as many keys as its name has characters"
        return Harm(types, Severity.LOW, Confidence.LIKELY, "which contains the groups of members", reason)
    compares = traits_of(indexing.configuration.identity.family).compares_all_values
    slow = "every change of a group compares those of all its members" if compares else "a group has many members"
    return Harm(
        types,
        Severity.MEDIUM if compares else Severity.LOW,
        Confidence.LIKELY,
        "which contains the members of groups",
        f"a member has as many keys as its name has characters, and {slow}",
    )


def _finding(indexing: ServerIndexes, backend: Backend, definition: IndexDefinition, harm: Harm) -> Finding:
    types = f" ({','.join(harm.types)})" if harm.types else ""
    changes = tuple(Change(definition.attribute, one) for one in harm.types)
    remedies = drop_indexes(indexing.place(backend), changes) if harm.goes and changes else ()
    return Finding(
        subject=f"{definition.attribute} of {backend.name} at {indexing.server}",
        key=f"{indexing.server}|{backend.name}|{definition.attribute.lower()}",
        severity=harm.severity,
        confidence=harm.confidence,
        title=f"{backend.name} at {indexing.server} has an index on {definition.attribute}{types}, {harm.what}",
        detail=f"{harm.reason[:1].upper()}{harm.reason[1:]}."
        + ("" if harm.goes else "\nIt is one of the server's own indexes: ask the vendor how to correct it."),
        observed={
            "server": indexing.server,
            "backend": backend.name,
            "attribute": definition.attribute,
            "types": list(harm.types),
            "reason": harm.reason,
        },
        server=indexing.server,
        hosts=(indexing.host,),
        remedies=remedies,
        origins=indexing.origins,
    )


def _of_ranges(coverage: IndexCoverage, indexing: ServerIndexes, limits: CostLimits) -> Iterator[Finding]:
    """Yield the indexes that make searches for a range slower than scans."""
    for slow in slow_ranges(coverage.searches):
        seconds, share = slow.beyond / SECOND, slow.beyond / coverage.etime if coverage.etime else 0.0
        requesters = slow.searches[0].group.requesters
        reason = "the lists of all values in a range are united, which takes longer than a scan"
        yield Finding(
            subject=f"ranges of {slow.attribute} of {slow.backend} at {indexing.server}",
            severity=severity_of_cost(Cost(share, seconds, slow.count, coverage.seconds), limits),
            confidence=Confidence.LIKELY,
            title=f"{indexing.server} has an index on {slow.attribute} that makes "
            f"{counted(slow.count, 'search', 'searches')} for a range slower, by {in_seconds(seconds)} in total",
            detail="\n".join(slow.sentences),
            observed={
                "server": indexing.server,
                "backend": slow.backend,
                "attribute": slow.attribute,
                "types": ["eq"],
                "reason": reason,
            },
            server=indexing.server,
            hosts=(indexing.host,),
            remedies=(replace_range(requesters[0].client if requesters else indexing.server, slow.attribute),),
            origins=coverage.origins,
        )
