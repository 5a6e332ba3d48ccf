"""index-drift: servers of the same data with different indexes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.check import check
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.ldif import comparable
from ldapdiag.finding import NEXT, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.traits import traits_of

PARTS = frozenset({"subinitial", "subany", "subfinal"})
"""What slapd's `sub` stands for."""

BY_SEARCHES = "the searches of each server decide which is right: ldapdiag indexes, with the access log of each."
REPLICATED = (
    "this configuration is replicated, so one server has not received it yet, or its export is older: export both "
    "again; if they still differ, replication is late or fails (repadmin /showrepl, samba-tool drs showrepl)."
)

Types = frozenset[str]
Names = Callable[[str], str]
"""Maps a name of an attribute to its canonical name, for comparison."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One server's database of a suffix."""

    indexing: ServerIndexes
    backend: Backend

    @property
    def server(self) -> str:
        """The server."""
        return self.indexing.server

    @property
    def whole(self) -> bool:
        """An attribute that its configuration does not contain has no index."""
        return self.indexing.configuration.whole

    def types(self, names: Names) -> Mapping[str, Types]:
        """Return types and rules by attribute; but for the server's own indexes."""
        types_of: defaultdict[str, set[str]] = defaultdict(set)
        for definition in self.backend.definitions:
            if not definition.system:
                types_of[names(definition.attribute)] |= _types(definition)
        return {name: frozenset(types) for name, types in types_of.items() if types}


@check(group="indexes")
def judge(indexings: tuple[ServerIndexes, ...]) -> Iterator[Verdict]:
    """Servers of the same data with different indexes.

    ## What it looks at
    The index configurations of several servers of one product, by suffix: the types and matching rules of each
    attribute. Index configuration is not replicated, so each server has its own; that of Active Directory is in the
    schema, which is replicated, and the schemas that domain controllers gave are compared. The servers' own indexes
    and the limits of single indexes are not compared; of an excerpt, only its content.

    ## Severity
    - medium: a server has no index at all on an attribute that another one indexes.
    - low: both have one, with other types or rules.

    ## Why it matters
    The same search is fast on one server and examines every entry on another: a test on one proves nothing for the
    rest, and when clients move over, the other one is slow.

    ## What to do
    Decide by the searches which configuration is right: see missing-index and unused-index of each server. Then
    make them equal, one server at a time, and build what was added. Where they are replicated, find out why replication
    is late; an older export shows a difference, too.

    ## When it is harmless
    When clients use the servers for different purposes: one for reports, one for logins.
    """
    groups = _sharing(indexings)
    compared = {key: found for key, found in groups.items() if _are_several(found)}
    for (family, suffix), replicas in sorted(compared.items()):
        yield from _compared(family, suffix, replicas)
    if not compared:
        hosts = sorted({indexing.server for indexing in indexings})
        reason = f"only of {', '.join(hosts)}" if len(hosts) == 1 else "of no two servers of one product and suffix"
        yield NotJudged.without(
            IndexConfiguration,
            None,
            f"an index configuration {reason}" if hosts else "no index configuration of any server",
            how="name the index configuration of every replica, each in a folder of its own",
        )


def _are_several(replicas: list[Replica]) -> bool:
    """Return whether two servers have an index configuration each; one text may count for all."""
    paths = {one.indexing.configuration.origin.path for one in replicas}
    return min(len(paths), len({one.server for one in replicas})) > 1


def _sharing(indexings: tuple[ServerIndexes, ...]) -> dict[tuple[Family, str], list[Replica]]:
    """Return the databases by family and suffix, comparable."""
    groups: defaultdict[tuple[Family, str], list[Replica]] = defaultdict(list)
    for indexing in sorted(indexings, key=lambda one: one.server):
        family = indexing.configuration.identity.family
        for backend in indexing.configuration.backends:
            of = (backend.entry,) if traits_of(family).replicates_indexes else backend.suffixes
            for suffix in sorted({comparable(suffix) for suffix in of}):
                groups[family, suffix].append(Replica(indexing, backend))
    return groups


def _types(definition: IndexDefinition) -> set[str]:
    """Return types and rules; `sub` for all of its parts."""
    types = set(definition.types)
    if types >= PARTS or "sub" in types:
        types = types - PARTS | {"sub"}
    return types | {rule.lower() for rule in definition.rules} if types else types


def _names(replicas: list[Replica]) -> Names:
    """Return how to compare attributes, by every schema at hand: one name of them is enough."""
    schemas = [replica.indexing.schema for replica in replicas]

    def name(attribute: str) -> str:
        base, semicolon, options = attribute.partition(";")
        known = next((found for schema in schemas if (found := schema.find(base))), None)
        return f"{known.name if known else base}{semicolon}{options}".lower()

    return name


def _compared(family: Family, suffix: str, replicas: list[Replica]) -> Iterator[Verdict]:
    """Yield a finding per attribute, and a verdict on all other attributes."""
    names = _names(replicas)
    by_server = {replica.server: (replica, replica.types(names)) for replica in replicas}
    spelt = {
        names(each.attribute): each.attribute for replica in reversed(replicas) for each in replica.backend.definitions
    }
    alike, attributes = 0, sorted({name for _, types in by_server.values() for name in types})
    for attribute in attributes:
        having = {
            server: types.get(attribute, frozenset())
            for server, (replica, types) in by_server.items()
            if attribute in types or replica.whole
        }
        if len(set(having.values())) > 1:
            next_step = REPLICATED if traits_of(family).replicates_indexes else BY_SEARCHES
            found = _finding(f"{spelt[attribute]} below {suffix}", spelt[attribute], having, next_step)
            indexings = [by_server[server][0].indexing for server in having]
            yield replace(
                found,
                key=f"{family}|{suffix}|{attribute}",
                hosts=tuple(sorted({indexing.host for indexing in indexings})),
                origins=tuple(sorted({origin for indexing in indexings for origin in indexing.origins})),
            )
        elif len(having) > 1:
            alike += 1
    yield from _of_other_attributes(f"{suffix} at {', '.join(sorted(by_server))}", alike, len(attributes), by_server)


def _of_other_attributes(
    subject: str, alike: int, attributes: int, by_server: Mapping[str, tuple[Replica, Mapping[str, Types]]]
) -> Iterator[Verdict]:
    """Yield the verdict on the attributes with the same indexes, or that an excerpt leaves out."""
    if parts := sorted(server for server, (replica, _) in by_server.items() if not replica.whole):
        reason = f"of {', '.join(parts)} only an excerpt is in the evidence: indexes outside it may be configured"
        yield NotJudged.without(IndexConfiguration, subject, reason)
    elif alike or not attributes:
        others = "other " if alike < attributes else ""
        yield Clear(
            subject=f"{others}indexes of {subject}", reason=f"the indexes of {alike} {others}attributes are the same"
        )


def _finding(subject: str, attribute: str, having: Mapping[str, Types], next_step: str) -> Finding:
    everywhere = frozenset.intersection(*having.values())
    words = [f"{server} {','.join(sorted(types)) or 'has none'}" for server, types in sorted(having.items())]
    return Finding(
        subject=subject,
        severity=Severity.LOW if all(having.values()) else Severity.MEDIUM,
        confidence=Confidence.CERTAIN,
        title=f"{subject} has different indexes: {'; '.join(words)}",
        detail=f"{NEXT}{next_step}",
        observed={
            "attribute": attribute,
            "types": sorted(frozenset().union(*having.values()) - everywhere),
            "servers": {server: sorted(types) for server, types in sorted(having.items())},
        },
    )
