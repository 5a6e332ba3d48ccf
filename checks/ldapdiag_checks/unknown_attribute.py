"""unknown-attribute: searches for an attribute that the server's schema does not have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.lacking_attributes import NOTED_OF_SEVERAL
from ldapdiag.analysis.indexes.proposed_indexes import UNKNOWN_TO_SCHEMA
from ldapdiag.analysis.indexes.reported_use import OUTSIDE_CATALOG, lacks_in_catalog
from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.addresses import CATALOG_PORTS, LDAP_PORTS
from ldapdiag.evidence.filter_tree import Assertion, assertions
from ldapdiag.evidence.log.stamps import SECOND
from ldapdiag.finding import Confidence, Finding, Severity, Verdict, clear_unless
from ldapdiag.servers.indexes.candidates import Cause
from ldapdiag.servers.indexes.search_advice import correct_attribute, search_each_domain
from ldapdiag.wording import counted
from ldapdiag.wording import seconds as in_seconds

MISSING = "F"
"""389-ds' note: a filter element is missing from the schema."""
AT_CATALOG = (
    "its clients have connections to the global catalog alone (3268, 3269), which lacks it "
    "(isMemberOfPartialAttributeSet)"
)
CONFIDENCE = {
    UNKNOWN_TO_SCHEMA: Confidence.LIKELY,
    OUTSIDE_CATALOG: Confidence.LIKELY,
    AT_CATALOG: Confidence.POSSIBLE,
}
MOST = 10
Subject = tuple[str, str]
"""Filter without values, attribute (empty: one of those in it)."""


@check(group="indexes", number=MainNumber("searches", "searches", "logged"))
def judge(coverage: IndexCoverage, host: Host | None = None) -> Iterator[Verdict]:
    """Searches for an attribute that the server's schema does not have.

    ## What it looks at
    Searches in the access log with a filter part that the server cannot evaluate: 389-ds notes F; slapd logs the
    part with a question mark, (?name=...), also where the attribute has no rule for >= or for substrings; or the
    schema in the evidence does not have the attribute; Active Directory logs (UNDEFINED), or a search of the whole
    forest asks for an attribute that the global catalog has of its own domain alone. Such a part matches nothing,
    whatever is stored; most servers find that out quickly, but 389-ds examines every entry for a substring. No index
    is proposed for it.

    - certain: the server's note or its schema shows which attribute it is.
    - likely: no known schema has it, and no search for it returned an entry; or the global catalog lacks it, which is
      concluded from a base that is the root.
    - possible: the global catalog lacks it, and all connections of the clients, in the server's socket table, are to
      its ports (3268, 3269). Events 1644 do not have the port of the server, and a table has one moment.

    ## Severity
    - low: always; the answer is not what the application means.

    ## Why it matters
    The application gets an answer without error and without the entries it needs. An index does not help, and most
    servers refuse to create it.

    ## What to do
    Correct the name in the application, or add the attribute to the schema (slapd: an ORDERING rule for >=).

    ## When it is harmless
    Third-party products ask for the attributes of every directory they support; the other part of their OR finds
    the entry.
    """
    found: dict[Subject, list[SearchCoverage]] = defaultdict(list)
    whys: dict[Subject, str] = {}
    at_catalog = _clients_at_catalog(host)
    for row in coverage.searches:
        for attribute, why in _unknown(row, coverage, at_catalog):
            found[row.group.shape, attribute].append(row)
            whys.setdefault((row.group.shape, attribute), why)
    for subject, rows in sorted(found.items()):
        yield _finding(subject, rows, whys[subject], coverage)
    if not found:
        yield clear_unless(
            coverage.unlisted, coverage.server, "the server's schema has every attribute of the searches"
        )


def _clients_at_catalog(host: Host | None) -> set[str]:
    """Return the clients whose connections in the latest socket table are all to the global catalog."""
    if host is None or host.latest is None:
        return set()
    table, ports = host.latest.sockets, defaultdict[str, set[int]](set)
    for row in table.established_at(LDAP_PORTS):
        ports[table.remote_address[row]].add(table.local_port[row])
    return {client for client, used in ports.items() if used <= CATALOG_PORTS}


def _unknown(row: SearchCoverage, coverage: IndexCoverage, at_catalog: AbstractSet[str]) -> Iterator[tuple[str, str]]:
    """Yield the unknown attributes of a filter, and the evidence."""
    leaves = row.forecast.leaves if row.forecast else ()
    lacking = [leaf for leaf in leaves if leaf.cause is Cause.UNKNOWN_ATTRIBUTE and leaf.why != NOTED_OF_SEVERAL]
    named = {leaf.assertion.name: leaf.why for leaf in lacking}
    noted = any(MISSING in notes.split(",") for notes in row.group.notes)
    if noted and not named:
        only = {leaf.assertion.name for leaf in leaves}
        named = {only.pop() if len(only) == 1 else "": "the server notes that its schema does not have it"}
    hindrance = row.obstacle
    if not named and hindrance is not None and hindrance.cause is Cause.UNKNOWN_ATTRIBUTE:
        named = {hindrance.attribute: hindrance.reason}
    configured = coverage.indexes.configuration if coverage.indexes else None
    clients = {asker.client for asker in row.group.requesters}
    for each in assertions(row.filter) if row.filter and configured else ():
        if configured and lacks_in_catalog(each, row.group, configured):
            named[each.name] = OUTSIDE_CATALOG
        elif configured and each.attribute in configured.outside_catalog and clients and clients <= at_catalog:
            named[each.name] = AT_CATALOG
    yield from named.items()


def _finding(subject: Subject, rows: list[SearchCoverage], why: str, coverage: IndexCoverage) -> Finding:
    shape, attribute = subject
    count, seconds = sum(row.count for row in rows), sum(row.etime for row in rows) / SECOND
    askers = rows[0].group.requesters
    advice = search_each_domain if why in {OUTSIDE_CATALOG, AT_CATALOG} else correct_attribute
    what = attribute or "one of its attributes"
    matches = "the result is always empty" if isinstance(rows[0].filter, Assertion) else "that part matches nothing"
    return Finding(
        subject=f"{shape} at {coverage.server}",
        key=f"{coverage.server}|{shape}|{attribute}",
        severity=Severity.LOW,
        confidence=CONFIDENCE.get(why, Confidence.CERTAIN),
        title=f"{coverage.server} cannot evaluate {what} in {shape}: {why}",
        detail=f"{counted(count, 'search')}, {in_seconds(seconds)}; {matches}, and an index would not change that.\n"
        f"Sent by {', '.join(f'{asker.account} from {asker.client}' for asker in askers[:3])}.",
        observed={
            "server": coverage.server,
            "attribute": attribute,
            "shape": shape,
            "searches": count,
            "etime_seconds": round(seconds, 9),
            "reason": why,
            "clients": list(dict.fromkeys(asker.client for asker in askers))[:MOST],
            "accounts": list(dict.fromkeys(asker.account for asker in askers))[:MOST],
        },
        server=coverage.server,
        hosts=(coverage.host,),
        remedies=(advice(askers[0].client if askers else coverage.server, attribute),),
        origins=coverage.origins,
    )
