"""conntrack-table-full: middleboxes that cannot track another connection.

ConntrackUsage: how full the connection tracking table of a host is (conntrack(8)).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.hosts.host_remedies import raise_conntrack
from ldapdiag.servers.hosts.kernel import CONNTRACK_COUNT, CONNTRACK_MAX
from ldapdiag.wording import counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.origin import Origin

ELSEWHERE = (
    " Neither a flow table nor a route shows that the LDAP connections in the evidence pass through it (to show it: "
    "conntrack -L there, and ip route on both ends)."
)


@check(group="connections", number=MainNumber("used", "entries in use"))
def judge(
    kernels: tuple[KernelSettings, ...],
    flows: tuple[FlowTable, ...],
    pairings: tuple[Pairing, ...] = (),
    *,
    critical_percent: Annotated[float, Threshold("%", "so much or more used is critical", most=100)] = 95.0,
    high_percent: Annotated[float, Threshold("%", "so much or more used is high", most=100)] = 80.0,
    medium_percent: Annotated[float, Threshold("%", "so much or more used is medium; less is clear", most=100)] = 60.0,
) -> Iterator[Verdict]:
    """Middleboxes that cannot track another connection.

    ## What it looks at
    Every host with a flow table or with nf_conntrack parameters. Used is the larger of nf_conntrack_count and the
    rows of the table: in a network namespace of its own the count may read 0 while the table has rows. The limit is
    nf_conntrack_max. Without that count, rows make a finding, but never clear: a listing may be of TCP alone.

    - certain: the host is an end of LDAP connections, or carries them by its table or by the routes of both ends.
    - possible: LDAP connections are in the evidence, and nothing shows that they pass through this host.

    ## Severity
    By default:

    - critical: 95 % or more used.
    - high: 80 % or more.
    - medium: 60 % or more.

    ## Why it matters
    A full table drops the first packet of every new connection through the host, LDAP or not; its kernel log
    contains "nf_conntrack: table full, dropping packet". Entries may be removed early to make room.

    ## What to do
    Raise nf_conntrack_max, and find what fills the table: clients that open a connection for each request leave an
    entry in TIME_WAIT each. Do not shorten the timeout for established connections: that creates ghosts.

    ## When it is harmless
    On a host that filters only its own traffic and whose limit was set low on purpose.
    """
    tracking = conntrack_usage(kernels, flows)
    if not tracking:
        yield NotJudged(
            subject=None,
            reason="no flow table in the evidence",
            missing=(FlowTable.kind, KernelSettings.kind),
            how="on the middlebox, as root: conntrack -L > conntrack.txt",
        )
    carriers = _carriers(pairings)
    for one in tracking:
        limits = (critical_percent / 100, high_percent / 100, medium_percent / 100)
        yield _verdict(one, limits, is_known=not carriers or one.host in carriers)


def _carriers(pairings: tuple[Pairing, ...]) -> frozenset[str]:
    """Return the hosts that LDAP connections begin at, pass through or end at; none where there is no connection."""
    found: set[str] = set()
    for pairing in pairings:
        for direction in pairing.directions:
            found |= {pairing.host, *direction.client_hosts, *direction.path.boxes}
    return frozenset(found)


def severity_of(used: int, limit: int, limits: tuple[float, float, float]) -> Severity | None:
    """Return how bad it is, by the shares that are critical, high and medium; None below them."""
    critical, high, medium = limits
    share = used / limit
    if share >= critical:
        return Severity.CRITICAL
    return Severity.HIGH if share >= high else Severity.MEDIUM if share >= medium else None


def _verdict(tracking: ConntrackUsage, limits: tuple[float, float, float], *, is_known: bool) -> Verdict:
    host, used, limit = tracking.host, tracking.used, tracking.limit
    if limit is None or used is None:
        lacking = "nf_conntrack_max" if limit is None else "nf_conntrack_count and the table itself"
        how = f"on {host}, as root: sysctl -a | grep nf_conntrack > sysctl.txt; conntrack -L > conntrack.txt"
        kind = KernelSettings.kind if limit is None else FlowTable.kind
        return NotJudged(subject=host, reason=f"{lacking} of {host} is not in the evidence", missing=(kind,), how=how)
    if limit == 0:
        return Clear(subject=host, reason=f"{counted(used, 'connection')} tracked, and no limit (nf_conntrack_max = 0)")
    severity = severity_of(used, limit, limits)
    if severity is None and not tracking.is_counted:
        reason = (
            f"the table of {host} has {counted(used, 'row')} of at most {limit:,}; it may list TCP alone, or a part, "
            "and no count of the kernel confirms it (nf_conntrack_count)"
        )
        how = f"on {host}, as root: sysctl -a | grep nf_conntrack > sysctl.txt"
        return NotJudged.without(KernelSettings, host, reason, how=how)
    if severity is None:
        return Clear(subject=host, reason=f"{used:,} of at most {limit:,} connections tracked (nf_conntrack_max)")
    return Finding(
        subject=host,
        severity=severity,
        confidence=Confidence.CERTAIN if is_known else Confidence.POSSIBLE,
        title=f"The connection tracking table of {host} is full: {used:,} of {limit:,} connections"
        if used >= limit
        else f"{host} tracks {used:,} of at most {limit:,} connections ({percent(used / limit)})",
        detail=(
            f"Used is {tracking.used_source}. A full table drops the first packet of every new connection through "
            f"{host}, and its clients time out.{'' if is_known else ELSEWHERE}"
        ),
        observed={"host": host, "used": used, "limit": limit},
        hosts=(host,),
        remedies=(raise_conntrack(host, used, limit),),
        origins=tracking.origins,
    )


LIMITS = (CONNTRACK_MAX, "net.nf_conntrack_max")
"""Two names of one value (Documentation/networking/nf_conntrack-sysctl.rst)."""
KERNEL = "nf_conntrack_count"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConntrackUsage:
    """The fill level of one host's connection tracking table. None: not collected."""

    host: str
    used: int | None
    used_source: str
    is_counted: bool = True
    """The kernel counted; else the rows of its table are the least, because a listing may be a selection."""
    limit: int | None
    """0: no limit."""
    origins: tuple[str, ...]


def conntrack_usage(kernels: Iterable[KernelSettings], flows: Iterable[FlowTable]) -> tuple[ConntrackUsage, ...]:
    """Return the fill level for every host whose table, or whose kernel settings for it, were collected.

    The larger of the kernel's count and the rows is used: in a network namespace the count may read 0 while the table
    has rows (measured), and a table may list some protocols only.
    """
    settings = [kernel for kernel in kernels if any(name in kernel.values for name in (CONNTRACK_COUNT, *LIMITS))]
    tables = [table for table in flows if table.tool == "conntrack"]
    hosts = sorted({origin.host for origin in _origins(settings, tables)})
    return tuple(
        _usage(
            host,
            [kernel for kernel in settings if kernel.origin.host == host],
            [table for table in tables if table.origin.host == host],
        )
        for host in hosts
    )


def _usage(host: str, settings: list[KernelSettings], tables: list[FlowTable]) -> ConntrackUsage:
    counts = [(len(table.state), "the rows of its table") for table in tables]
    counts += [(count, KERNEL) for kernel in settings if (count := kernel.number(CONNTRACK_COUNT)) is not None]
    limits = [limit for kernel in settings for name in LIMITS if (limit := kernel.number(name)) is not None]
    used, source = max(counts, key=lambda count: count[0], default=(None, "unknown"))
    return ConntrackUsage(
        host=host,
        used=used,
        used_source=source,
        is_counted=any(source == KERNEL for _, source in counts),
        limit=min(limits, default=None),
        origins=tuple(sorted({origin.path for origin in _origins(settings, tables)})),
    )


def _origins(settings: Iterable[KernelSettings], tables: Iterable[FlowTable]) -> list[Origin]:
    return [kernel.origin for kernel in settings] + [table.origin for table in tables]
