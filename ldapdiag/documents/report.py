"""The report of `ldapdiag diagnose`, `indexes` and `storage`: schema ldapdiag.report/1.

`id` is stable over runs, `subject` is for people. IPv6 endpoints are `[a]:p`, times ISO 8601 in UTC.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from ldapdiag.documents.common import From, Gap, RemedyRow
from ldapdiag.documents.log import Cluster
from ldapdiag.documents.report_indexes import IndexReport
from ldapdiag.documents.report_storage import ProbeRow, StorageReport
from ldapdiag.evidence.history import SeverityName

NotSeen = TypedDict("NotSeen", {"not seen": int, "not seen as well": int})


class ChangeCounts(NotSeen):
    """Findings by change since the baseline."""

    new: int
    worse: int
    better: int
    same: int
    gone: int


class GoneFinding(TypedDict):
    """A finding of the baseline that is not in this report."""

    check: str
    id: str
    reason: str
    severity: SeverityName
    title: str


class Baseline(TypedDict):
    """What changed since an earlier report (`--baseline`)."""

    counts: ChangeCounts
    covers_baseline: bool
    """This report shows all that the baseline does, with as much traffic: it can replace it."""
    gone: list[GoneFinding]
    not_seen: list[GoneFinding]
    notes: list[str]
    """What limits the comparison."""
    origin: str
    """The file."""
    taken_at: str | None
    version: str
    """Of ldapdiag."""


class DirectionRow(TypedDict):
    """The connections from a client address to an endpoint of a server, at both ends."""

    client: str
    client_count: int | None
    """Null: the end of the client was not read."""
    client_hosts: list[str]
    endpoint: str
    ghosts: int
    held: int
    """Established at both ends, and not severed."""
    live: int
    """Of these, listed by a middlebox on the path, or used within its timeout (none known: between two snapshots)."""
    server: str | None
    server_count: int
    """What it and `client_count` have in addition is unproven, or opening or closing."""
    severed: int
    stranded: int


class EvidenceRow(TypedDict):
    """A piece of evidence that was read."""

    fact: str
    host: str | None
    lines: int
    lines_not_understood: int
    notes: list[str]
    origin: str
    sample_not_understood: str | None
    """The first line that was not understood."""
    server: str | None
    """That the fact belongs to; null: its host."""
    sha256: str | None
    taken_at: str | None


class MeasuredNumber(TypedDict):
    """A number that is compared."""

    events: float | None
    """That it counts, or whose times it adds up; null: it does not scatter."""
    scatter: float
    """1 + (spread / mean)² of what each event counts."""
    value: float


class ReferenceNumber(TypedDict):
    """The number with which a finding is compared until it differs by more than chance and 10 %."""

    key: str
    measures: list[MeasuredNumber]
    """Of what a log contains, for each 1,000 operations, and an hour."""
    taken_at: str | None


class EarlierNumber(TypedDict):
    """The finding in the baseline."""

    confidence: Literal["certain", "likely", "possible"]
    key: str | None
    """The main number of the check, a key of `observed`; null: it names none, or one report lacks it."""
    name: str | None
    """What is compared: of what a log contains, so much for each 1,000 operations."""
    now: float | None
    number: float | None
    """Then."""
    reason: str | None
    """Why it is not seen as well, or not compared by its number."""
    reference: ReferenceNumber | None
    """What later reports are compared with if this is their baseline; null: the numbers of this report."""
    severity: SeverityName
    since: str | None
    """When `number` was reported; null: in the baseline."""
    unit: str | None


class AcceptanceRow(TypedDict):
    """The entry of the site configuration that matches a finding."""

    reason: str
    standing: Literal["accepted", "exceeded", "over"]
    """`accepted`: counts for no gate; `exceeded`: it is more severe than `up_to`; `over`: its last day is past."""
    until: str
    up_to: SeverityName


class FindingRow(TypedDict):
    """A finding."""

    before: EarlierNumber | None
    """Null: a new one, or no baseline."""
    change: Literal["new", "worse", "better", "same", "not seen as well"] | None
    """Null without a baseline."""
    check: str
    confidence: Literal["certain", "likely", "possible"]
    detail: str
    hosts: list[str]
    id: str
    """Stable over runs."""
    observed: dict[str, object]
    """Below, by check."""
    origins: list[str]
    remedies: list[RemedyRow]
    server: str | None
    severity: SeverityName
    subject: str
    """For people."""
    title: str
    acceptance: AcceptanceRow | None


class HostRow(TypedDict):
    """A host of the evidence."""

    addresses: list[str]
    looks: int
    """Snapshots."""
    merged_because: str | None
    name: str
    origins: list[str]
    roles: list[str]


class ServerNumbers(TypedDict):
    """The main numbers of a server; null: not in the evidence."""

    connections: int | None
    """Established at the server's end, in the latest snapshot."""
    descriptors_limit: int | None
    descriptors_used: int | None
    idle_timeout_seconds: int | None
    """0: off."""
    limits_connections: bool
    """Both numbers of descriptors count connections alone."""


class ServerRow(TypedDict):
    """A directory server, or a proxy."""

    description: str
    """The product with its version, as far as known."""
    family: Literal["389ds", "openldap", "dsee", "opendj", "ping", "ad", "ibm"] | None
    logged: NotRequired[list[str]]
    """Which searches its access logs have, where those alone are logged that reach a threshold."""
    name: str
    numbers: ServerNumbers | None
    """Of `ldapdiag diagnose`, else null."""


class AddedIndex(TypedDict):
    """An index of a plan."""

    attribute: str
    types: list[str]


class PlanRow(TypedDict):
    """The indexes to add at one server (`ldapdiag indexes` has all of it)."""

    commands: str | None
    """The few lines that add them, or null: they are many."""
    findings: list[str]
    """The ids of the findings that the plan contains."""
    indexes: list[AddedIndex]
    risk: str | None
    """Of the commands."""
    server: str
    summary: str
    """What the plan saves, and how good it is."""


class PassedOver(TypedDict):
    """A file that is no evidence for a diagnosis."""

    reason: str
    target: str


class ForecastRow(TypedDict):
    """The growth of a series, and when its limit is reached."""

    hours_left: float | None
    """The median; the others are the 90 % interval."""
    hours_left_earliest: float | None
    hours_left_latest: float | None
    rate_per_hour: float | None
    rate_per_hour_high: float | None
    rate_per_hour_low: float | None


class SeriesRow(From):
    """Numbers over time, one for each interval."""

    forecast: ForecastRow | None
    """Of growth alone."""
    limit: int | None
    """The connections with which the descriptors run out; null: unknown."""
    name: str
    """`operations`, `search_seconds` (of all searches) or `connections`."""
    server: str
    source: str
    step_seconds: float
    unit: str
    values: list[float | None]
    """Null where nothing was read; at most 240."""


class Shortfall(TypedDict):
    """Why the main evidence is missing, or was mostly passed over (exit code 2)."""

    how: str | None
    reason: str


class DisabledCheck(TypedDict):
    """A check that the site configuration disables: it has no verdict."""

    check: str
    reason: str


class SettingValue(TypedDict):
    """A setting of a check that the site configuration changes."""

    default: float | list[str]
    value: float | list[str]


class SiteSettings(TypedDict):
    """The site configuration."""

    path: str
    sha256: str
    thresholds: dict[str, dict[str, SettingValue]]
    """Check: setting: its value."""
    notes: list[str]
    """Acceptances that end within 14 days, or match no finding."""


class ToolRow(TypedDict):
    """What wrote the report."""

    arguments: str
    """The evidence and the options that reached it, as words of a shell."""
    config: SiteSettings | None
    scanner: str
    version: str


class VerdictRow(TypedDict):
    """What a check said of one subject."""

    about: str | None
    """The server or host that was judged; null: all."""
    check: str
    how: str | None
    missing: list[str]
    """Kinds of evidence."""
    outcome: Literal["finding", "clear", "not-judged", "crashed"]
    reason: str | None
    subject: str | None


class Document(TypedDict):
    """The report of diagnose, indexes and storage."""

    baseline: Baseline | None
    """Null without `--baseline`."""
    cluster: Cluster | None
    """Null without `--cluster`."""
    directions: list[DirectionRow]
    """The most ghosts, stranded and severed first; at most 200."""
    evidence: list[EvidenceRow]
    findings: list[FindingRow]
    """Of one check at most 10,000, the most severe."""
    gaps: list[Gap]
    hosts: list[HostRow]
    indexes: NotRequired[list[IndexReport]]
    """Of `ldapdiag indexes`."""
    passed_over: list[PassedOver]
    probes: NotRequired[list[ProbeRow]]
    """Of `ldapdiag storage`."""
    plans: list[PlanRow]
    """Of `ldapdiag diagnose`, without `--baseline`."""
    schema: Literal["ldapdiag.report/1"]
    series: list[SeriesRow]
    """Of at most 50 servers."""
    servers: list[ServerRow]
    shortfall: Shortfall | None
    """Null unless the main evidence is missing, or most of it was passed over."""
    storage: NotRequired[list[StorageReport]]
    """Of `ldapdiag storage`."""
    taken_at: str
    disabled: list[DisabledCheck]
    tool: ToolRow
    verdicts: list[VerdictRow]


class MoreFindings(TypedDict):
    """The number of findings that are not listed."""

    more_findings: int
