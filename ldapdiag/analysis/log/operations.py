"""Operations: all but searches, by kind and target: their time, their results, and the clients and accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ldapdiag.analysis.log.quantiles import spread
from ldapdiag.analysis.log.searches import Requester, SlowestOperation, ranked_requesters, slowest_of
from ldapdiag.analysis.log.spellings import (
    OTHER_NAME,
    UNKNOWN_NAME,
    SpellingCounts,
    caseless,
    display_name,
    folded_dn,
    text,
)
from ldapdiag.analysis.log.trends import Trend, Trends
from ldapdiag.evidence.log.connection import IN_PROGRESS, UNKNOWN
from ldapdiag.evidence.log.counting import REFUSED
from ldapdiag.evidence.log.durations import quantile
from ldapdiag.evidence.log.operation_kinds import ADD, BIND, DELETE, EXTENDED, MODIFY, MODRDN, NAMES, SEARCH
from ldapdiag.evidence.log.operation_row import OperationRow
from ldapdiag.evidence.log.tables import OTHER, OTHER_RESULT
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.analysis.log.time_axis import TimeAxis
    from ldapdiag.evidence.log.operation_row import TargetKey
    from ldapdiag.evidence.log.segment import Segment

START_TLS = "1.3.6.1.4.1.1466.20037"

EXTENDED_NAMES = {
    START_TLS: "StartTLS",  # RFC 4511, 4.14
    "1.3.6.1.4.1.4203.1.11.1": "password modify",  # RFC 3062
    "1.3.6.1.4.1.4203.1.11.3": "who am I",  # RFC 4532
    "1.3.6.1.1.8": "cancel",  # RFC 3909
    "1.3.6.1.1.21.1": "start transaction",  # RFC 5805
    "1.3.6.1.1.21.3": "end transaction",
    "1.3.6.1.4.1.1466.101.119.1": "dynamic refresh",  # RFC 2589
    "1.3.6.1.1.17.1": "start LBURP",  # RFC 4373
    "1.3.6.1.1.17.3": "end LBURP",
    "1.3.6.1.1.17.5": "LBURP update",
    "1.3.6.1.4.1.4203.666.6.5": "verify credentials",  # OpenLDAP
    "2.16.840.1.113730.3.5.3": "replication start",  # 389-ds, from here on
    "2.16.840.1.113730.3.5.12": "replication start",
    "2.16.840.1.113730.3.5.5": "replication end",
    "2.16.840.1.113730.3.5.6": "replication entry",
    "2.16.840.1.113730.3.5.9": "replication entry",
    "2.16.840.1.113730.3.5.7": "bulk import start",
    "2.16.840.1.113730.3.5.8": "bulk import end",
    "2.16.840.1.113730.3.5.10": "number range request",
    "2.16.840.1.113730.3.6.5": "clean RUV",
    "2.16.840.1.113730.3.6.6": "abort clean RUV",
    "2.16.840.1.113730.3.6.7": "clean RUV: highest CSN",
    "2.16.840.1.113730.3.6.8": "clean RUV: status",
    "2.16.840.1.113730.3.6.9": "replication session abort",
    "2.16.840.1.113730.3.8.10.1": "set keytab",  # FreeIPA
    "2.16.840.1.113730.3.8.10.3": "enrol host",
    "2.16.840.1.113730.3.8.10.4": "look up trusted domain",
    "2.16.840.1.113730.3.8.10.4.1": "look up trusted domain",
    "2.16.840.1.113730.3.8.10.5": "get keytab",
}
"""Names of extended operations by their OID (RFC 4511, 4.12).

Sources: the RFCs named above; 389-ds, ldap/servers/plugins/replication/repl5.h and plugins/dna/dna.c; OpenLDAP,
include/ldap.h; FreeIPA, util/ipa_krb5.h (KEYTAB_SET_OID, KEYTAB_GET_OID), daemons/ipa-slapi-plugins/ipa-enrollment/
ipa_enrollment.c (JOIN_OID) and ipa-extdom-extop/ipa_extdom.h (EXOP_EXTDOM_OID, EXOP_EXTDOM_V1_OID).
"""


def name_of(oid: str) -> str | None:
    """Return the name of an extended operation; None for an unknown OID."""
    return EXTENDED_NAMES.get(oid)


WRITES = frozenset(NAMES[kind] for kind in (ADD, MODIFY, DELETE, MODRDN))
NO_FAILURE = frozenset({5, 6, 10, IN_PROGRESS})
"""compareFalse, compareTrue, referral, saslBindInProgress (RFC 4511, appendix A): answers, and no errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationGroup:
    """The operations of one kind and target. Times in nanoseconds."""

    operation: str
    """As RFC 4511 has it, in lower case: modify, bind."""
    target: str
    """The DN of the entry without its naming values; of a BIND the mechanism; of an extended operation its OID."""
    name: str | None
    """Of a known extended operation."""
    count: int
    """Requests."""
    answered: int
    abandoned: int
    """Requests that an ABANDON ended before their result."""
    unanswered: int
    """Requests whose connection ended, or the log, before their result."""
    etime: int
    wait: int
    waited: int
    """Results with their wait for a worker thread."""
    entries: int
    errors: Mapping[int, int]
    """Results by code, without success."""
    share: float
    """Of the time of all operations, searches included, 0 to 1."""
    p50: int
    p90: int
    p95: int
    p99: int
    spread: int
    """Standard deviation."""
    """99 % of the results took no longer, within 4 %."""
    slowest: SlowestOperation | None
    first: int
    last: int
    """The times of the first and the last result, since 1970."""
    trend: Trend | None
    """When they came, and whether their time grows; its shares are of all operations but searches."""
    requesters: tuple[Requester, ...]
    """The most expensive first."""

    @property
    def unidentified(self) -> bool:
        """Return whether the requests are not in the log, or are the remainder of too many to be counted separately."""
        return self.target in {UNKNOWN_NAME, OTHER_NAME}

    @property
    def mean(self) -> int:
        """The average time in nanoseconds."""
        return self.etime // self.answered if self.answered else 0

    @property
    def failed(self) -> int:
        """Results with a code that is an error."""
        return sum(count for err, count in self.errors.items() if err not in NO_FAILURE)

    @property
    def described(self) -> str:
        """What was done to what: `modify uid=?,ou=people,dc=example`, `bind simple`, `extended StartTLS`."""
        return f"{self.operation} {self.name or self.target}".rstrip()


def operation_groups(segment: Segment, accounts: SpellingCounts, axis: TimeAxis | None) -> tuple[OperationGroup, ...]:
    """Return all operations but searches, the most expensive first, ties by text; `accounts` has the spellings."""
    targets = {True: SpellingCounts(folded_dn), False: SpellingCounts(caseless)}
    rows: dict[TargetKey, OperationRow] = {}
    for (kind, target), row in segment.targets.items():
        key = (kind, targets[_is_entry(kind)].add(target, row.requests))
        rows.setdefault(key, OperationRow(key)).merge(row)
    requesters: dict[TargetKey, dict[tuple[str, str], list[int]]] = {}
    for (kind, target, client, account, err), counts in segment.attribution.items():
        if kind == SEARCH:
            continue
        names = (display_name(client), display_name(accounts.respelled(account)))
        key = (kind, targets[_is_entry(kind)].add(target, 0))
        requester = requesters.setdefault(key, {}).setdefault(names, [0, 0, 0, 0])
        for column, count in enumerate((*counts, counts[0] if err in REFUSED else 0)):
            requester[column] += count
    trends = None if axis is None else Trends(axis, rows.values(), whole=not segment.targets.full)
    groups = (
        _group(
            (kind, targets[_is_entry(kind)].commonest(target)),
            row,
            segment.took,
            trends,
            requesters.get((kind, target), {}),
        )
        for (kind, target), row in rows.items()
    )
    return tuple(sorted(groups, key=lambda one: (-one.etime, -one.count, one.operation, one.target)))


def _is_entry(kind: int) -> bool:
    """Return whether the target of an operation is the class of a DN."""
    return kind not in {BIND, EXTENDED}


def _group(
    key: TargetKey,
    row: OperationRow,
    total: int,
    trends: Trends | None,
    requesters: Mapping[tuple[str, str], list[int]],
) -> OperationGroup:
    (kind, target), worst = key, row.worst[0]
    return OperationGroup(
        operation=NAMES[kind],
        target=_target(target),
        name=name_of(text(target)) if kind == EXTENDED else None,
        count=row.requests,
        answered=row.answered,
        abandoned=row.abandoned,
        unanswered=row.unanswered,
        etime=row.etime,
        wait=row.wait,
        waited=sum(row.waits.values()),
        entries=row.entries,
        errors=dict(sorted(row.errors.items())),
        share=row.etime / total if total else 0.0,
        p50=quantile(row.etimes, 50, worst, row.etime),
        p90=quantile(row.etimes, 90, worst, row.etime),
        p95=quantile(row.etimes, 95, worst, row.etime),
        p99=quantile(row.etimes, 99, worst, row.etime),
        spread=spread(row.etimes),
        slowest=slowest_of(row),
        first=row.first,
        last=row.last,
        trend=trends.of(row) if trends else None,
        requesters=ranked_requesters(requesters),
    )


def _target(target: bytes) -> str:
    if target == UNKNOWN:
        return UNKNOWN_NAME
    return OTHER_NAME if target == OTHER else text(target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The results with one error code of one filter or target, client and account."""

    operation: str
    target: str
    """Of a search the filter shape, else as OperationGroup has it."""
    client: str
    account: str
    err: int

    count: int
    etime: int
    """Nanoseconds."""


def failures(segment: Segment, accounts: SpellingCounts) -> tuple[Failure, ...]:
    """Return the results that are errors, by operation, target, client and account; the most frequent first."""
    counted: dict[tuple[str, str, str, str, int], list[int]] = {}
    for (kind, target, client, account, err), (count, etime, _) in segment.attribution.items():
        if err in {0, OTHER_RESULT} or err in NO_FAILURE:
            continue
        key = (NAMES[kind], _target(target), display_name(client), display_name(accounts.respelled(account)), err)
        cell = counted.setdefault(key, [0, 0])
        cell[0] += count
        cell[1] += etime
    found = (
        Failure(operation=operation, target=target, client=client, account=account, err=err, count=count, etime=etime)
        for (operation, target, client, account, err), (count, etime) in counted.items()
    )
    return tuple(
        sorted(found, key=lambda one: (-one.count, one.operation, one.target, one.client, one.account, one.err))
    )
