"""Run every check on every subject: each yields a verdict, or the reason why there is none.

The verdict limit: how many verdicts of a check are kept; the others are counted in one verdict of each outcome.

A table may contain more clients than a report can list, and each would cost a verdict of several checks.
"""

from __future__ import annotations

import traceback
from collections import defaultdict
from dataclasses import field, replace
from heapq import heappush, heappushpop
from itertools import takewhile
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from ldapdiag.analysis.hosts.attribution import attribute
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance, subject_of
from ldapdiag.analysis.providers import PROVIDERS
from ldapdiag.check import Need, needs_of
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Bundle, Gap, Missing
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.main_evidence import shortfall
from ldapdiag.evidence.report_kind import ReportKind
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.finding import Clear, Confidence, Crashed, Finding, Judged, NotJudged, Severity, Verdict
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.site.configuration import Decided, decide
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from ldapdiag.analysis.pairing.pairing import Pairing
    from ldapdiag.baseline.changes import Changes
    from ldapdiag.catalogue import AnyCheck
    from ldapdiag.evidence.history import History
    from ldapdiag.site.configuration import ChecksInForce

T = TypeVar("T")

VERDICTS = (Finding, Clear, NotJudged)
"""What a check may yield."""
OURS = "ldapdiag_checks"
"""The package of our own checks."""
PATIENCE = 60.0
"""Seconds that a check of another package may take for one subject."""
_stuck: dict[str, Thread] = {}
"""The thread of each check of another package that did not end: it is not started beside it, in an exporter neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """All verdicts, and the evidence they are based on."""

    bundle: Bundle
    """The facts as attributed to hosts, and every gap."""
    hosts: tuple[Host, ...]
    judged: tuple[Judged, ...]
    facts: Facts
    kind: ReportKind = ReportKind.ALL
    """Which checks were run; their main evidence differs."""
    in_force: ChecksInForce | None = None
    """How the site has configured the checks; None in a library's call."""
    changes: Changes | None = None
    """Since the report of --baseline; None without one."""

    typed: str = ""
    """The evidence and the options that reached it, as words of a shell; empty in a library's call."""
    notes: tuple[str, ...] = ()
    """What the site should look at in its configuration."""

    @property
    def found(self) -> tuple[tuple[str, Finding], ...]:
        """Return the findings, most severe first and accepted ones last, each with the id of its check."""
        found = [(one.check, one.verdict) for one in self.judged if isinstance(one.verdict, Finding)]
        return tuple(sorted(found, key=lambda pair: (pair[1].is_accepted, -pair[1].severity)))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return the findings, most severe first and accepted ones last."""
        return tuple(finding for _, finding in self.found)

    @property
    def counting(self) -> tuple[Finding, ...]:
        """Return the findings that no acceptance covers: those that count for a gate."""
        return tuple(finding for finding in self.findings if not finding.is_accepted)

    @property
    def pairings(self) -> tuple[Pairing, ...]:
        """Return the connections of every server, joined at both ends."""
        return self.facts.every(_pairing()) if self.facts.every(SocketTable) else ()

    def roles(self) -> dict[str, tuple[str, ...]]:
        """Return the roles of each host: server, client, box (a middlebox); of sockets, so it may have several."""
        directions = [direction for pairing in self.pairings for direction in pairing.directions]
        instances = self.facts.every(Instance)
        hosts = {
            "server": {instance.host for instance in instances if not instance.proxy},
            "client": {name for direction in directions for name in direction.client_hosts},
            "box": {instance.host for instance in instances if instance.proxy}
            | {table.origin.host for table in self.facts.every(FlowTable) if len(table)}
            | {name for direction in directions for name in direction.path.boxes},
        }
        return {host.host: tuple(role for role in hosts if host.host in hosts[role]) for host in self.hosts}

    @property
    def shortfall(self) -> Gap | None:
        """Return what to report first: the main evidence is missing, or most of it was passed over."""
        return shortfall(self.bundle, has_findings=bool(self.findings), kind=self.kind)

    @property
    def is_half_read(self) -> bool:
        """Return whether a part of an access log could not be read, which a gap says."""
        logs = (fact for fact in self.bundle.facts if isinstance(fact, AccessLog))
        return any(stream.is_half_read for log in logs for stream in log.streams)

    @property
    def disabled(self) -> Mapping[str, str]:
        """Return the reason, by id, of each check that the site has disabled."""
        return self.in_force.disabled if self.in_force else {}

    @property
    def crashed(self) -> tuple[Judged, ...]:
        """Return the checks that have a bug."""
        return tuple(one for one in self.judged if isinstance(one.verdict, Crashed))


class Facts:
    """Facts by kind and subject (a server or a host), read and joined, and why one is missing.

    A server has the facts of its host, too: one table of sockets, one kernel. A joined fact is computed when it is
    first asked for.
    """

    def __init__(self) -> None:
        self._facts: dict[type[Any], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        self._missing: dict[tuple[type[Any], str], Missing] = {}
        self._servers: dict[str, Instance] = {}
        self._joined: set[type[Any]] = set()
        """The joined facts that were asked for."""

    def add(self, fact: Any, kind: type[Any] | None = None) -> None:  # noqa: ANN401  any kind of fact
        """Store a fact by its kind and subject; a Missing by the kind of the fact it replaces."""
        if isinstance(fact, Missing):
            if kind is not None:
                self._missing[kind, fact.host] = fact
            return
        if isinstance(fact, Instance):
            self._servers[fact.name] = fact
        self._facts[kind or type(fact)][subject_of(fact)].append(fact)

    def every(self, kind: type[T]) -> tuple[T, ...]:
        """Return all facts of a kind, subject by subject."""
        known = self._of_kind(kind)
        return tuple(fact for subject in sorted(known) for fact in known[subject])

    def of(self, kind: type[T], subject: str) -> T | None:
        """Return a subject's fact of this kind; of several records the latest, then the one most lines understood."""
        known, server = self._of_kind(kind), self._servers.get(subject)
        # A proxy lacks what the directory server of that name has, whose name is the host's.
        facts = known[subject] or (known[server.host] if server and (kind, subject) not in self._missing else [])
        fact = max(facts, key=preference) if len(facts) > 1 else facts[0] if facts else None
        return server.own_sockets(fact) if server and isinstance(fact, Host) else fact  # type: ignore[return-value]  # a Host

    def _of_kind(self, kind: type[Any]) -> dict[str, list[Any]]:
        """Return the facts of a kind by subject, joined now if they have a provider and were not asked for before."""
        provider = PROVIDERS.get(kind)
        if provider is not None and kind not in self._joined:
            self._joined.add(kind)
            for provided in _provide(provider, kind, self):
                self.add(provided, kind)
        return self._facts[kind]

    def subjects_with(self, kind: type[Any]) -> list[str]:
        """Return the servers and hosts that have (or should have) a fact of this kind."""
        known = {subject for subject, facts in self._of_kind(kind).items() if facts}
        return sorted(known | {subject for missing, subject in self._missing if missing is kind and subject})

    def why_missing(self, kind: type[Any], subject: str) -> Missing:
        """Return the reason why a subject (or, with an empty name, every subject) has no fact of this kind."""
        known = self._missing.get((kind, subject)) or self._missing.get((kind, ""))
        if known is not None:
            return known
        name = getattr(kind, "kind", kind.__name__)
        return Missing(reason=f"no {name} in the evidence", lacks=(name,), how=getattr(kind, "how", None))


def preference(fact: Any) -> tuple[Any, ...]:  # noqa: ANN401  read facts of all kinds
    """Order records of one fact by time, snapshot, lines understood, and path, so that the choice is reproducible."""
    origin = fact.origin
    taken = origin.taken.end.timestamp() if origin.taken else 0.0
    return taken, origin.snapshot, origin.understood, origin.path


def diagnose(
    bundle: Bundle,
    checks: Sequence[AnyCheck],
    *,
    kind: ReportKind = ReportKind.ALL,
    earlier: History | None = None,
    in_force: ChecksInForce | None = None,
) -> Diagnosis:
    """Attribute the facts to hosts, join them, and run every check. Earlier runs are of all servers."""
    attribution = attribute(bundle)
    read = (*attribution.facts, *([earlier] if earlier else []))
    facts = Facts()
    for fact in (*read, *attribution.hosts, *attribution.servers):
        facts.add(fact)
    facts.every(Instance)  # the first to be joined: the other facts are about one
    judged = tuple(one for check in checks for one in _judged(check, facts))
    decided = _decided(judged, in_force)
    return Diagnosis(
        bundle=replace(bundle, facts=read, gaps=bundle.gaps + attribution.gaps),
        hosts=facts.every(Host),
        judged=decided.judged,
        facts=facts,
        kind=kind,
        in_force=in_force,
        notes=decided.notes,
    )


def _decided(judged: tuple[Judged, ...], in_force: ChecksInForce | None) -> Decided:
    """Return the verdicts with what the site has accepted."""
    if in_force is None or in_force.configuration is None or in_force.today is None:
        return Decided(judged=judged)
    ran = {check.id for check in in_force.checks}
    return decide(judged, in_force.configuration.accepted, in_force.today, checks=ran)


def _pairing() -> type[Pairing]:
    from ldapdiag.analysis.pairing.pairing import Pairing  # noqa: PLC0415  import late: logs have no connections to pair

    return Pairing


@dataclass(frozen=True, slots=True)
class CheckRun:
    """The arguments for one run of a check or provider, or the reason why it cannot run."""

    subject: str
    arguments: dict[str, Any] = field(default_factory=dict)
    missing: Missing | None = None


def runs_of(needs: Sequence[Need], facts: Facts) -> Iterator[CheckRun]:
    """Yield a run for each subject that has the first required fact; a single one if only tuples are needed."""
    leading = next((need for need in needs if not need.optional), None)
    if leading is None:
        yield _run(needs, facts, "")
        return
    subjects = facts.subjects_with(leading.fact)
    if not subjects:
        yield CheckRun("", missing=facts.why_missing(leading.fact, ""))
    for subject in subjects:
        yield _run(needs, facts, subject)


def _run(needs: Sequence[Need], facts: Facts, subject: str) -> CheckRun:
    arguments: dict[str, Any] = {}
    for need in needs:
        value = facts.every(need.fact) if need.every else facts.of(need.fact, subject)
        if value is None and not need.optional:
            return CheckRun(subject, missing=facts.why_missing(need.fact, subject))
        arguments[need.name] = value
    return CheckRun(subject, arguments)


def _provide(provider: Callable[..., Any], kind: type[Any], facts: Facts) -> Iterator[Any]:
    for run in runs_of(needs_of(provider), facts):
        if run.missing is not None:
            yield replace(run.missing, host=run.subject)
            continue
        try:
            yield from _several(provider(**run.arguments))
        except (Exception, SystemExit) as error:  # noqa: BLE001  a bug in a provider must become a verdict, whatever it is
            yield Missing(host=run.subject, reason=f"{kind.__name__}: {_message(error)}", crashed=True)


def _several(provided: Any) -> Iterable[Any]:  # noqa: ANN401  a provider returns a fact, or several
    return provided if hasattr(provided, "__next__") else (provided,)


def _judged(check: AnyCheck, facts: Facts) -> Iterator[Judged]:
    limit = VerdictLimit()
    runs = [run for run in runs_of(check.needs, facts) if run.missing is not None or check.applies(run.arguments)]
    applicable = [run for run in runs if run.missing is None or not run.missing.inapplicable]
    for run in applicable or runs:
        limit.take(Judged(check=check.id, verdict=verdict, about=run.subject) for verdict in _verdicts(check, run))
    return limit.judged(check.id)


def _verdicts(check: AnyCheck, run: CheckRun) -> Iterator[Verdict]:
    subject = run.subject or None
    if (missing := run.missing) is not None:
        if missing.crashed:
            yield Crashed(subject=subject, reason=missing.reason)
        else:
            yield NotJudged.lacking(missing, subject=subject)
        return
    if check.package == OURS:
        yield from _ran(check, run, subject)
    else:
        yield from _ended_in_time(check, run, subject)


def _ran(check: AnyCheck, run: CheckRun, subject: str | None) -> Iterator[Verdict]:
    """Run a check; a bug in it becomes a verdict, whatever it is: exit code 0 of a check must not end the run."""
    verdicts = 0
    try:
        for verdict in check(**run.arguments):
            verdicts += 1
            yield verdict if isinstance(verdict, VERDICTS) else _no_verdict(verdict)
    except (Exception, SystemExit) as error:  # noqa: BLE001  as above
        yield Crashed(subject=subject, reason=f"{_message(error)}{_of_package(check)}", where=_place(error))
        return
    if not verdicts:
        yield Crashed(subject=subject, reason=f"the check yielded no verdict{_of_package(check)}")


def _ended_in_time(check: AnyCheck, run: CheckRun, subject: str | None) -> list[Verdict]:
    """Run a check of another package, in a thread that is given up where it does not end."""
    found, given_up = list[Verdict](), Event()

    def judge() -> None:
        try:
            found.extend(takewhile(lambda _: not given_up.is_set(), _ran(check, run, subject)))
        except BaseException as error:  # noqa: BLE001  asyncio.CancelledError, too, must not be silence
            found.append(Crashed(subject=subject, reason=f"{_message(error)}{_of_package(check)}", where=_place(error)))

    if (stuck := _stuck.get(check.id)) is not None and stuck.is_alive():
        return [Crashed(subject=subject, reason=f"the check has not ended for an earlier subject{_of_package(check)}")]
    thread = Thread(target=judge, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        given_up.set()
        _stuck[check.id] = thread
        return [Crashed(subject=subject, reason=f"the check did not end within {PATIENCE:g} s{_of_package(check)}")]
    return found


def _of_package(check: AnyCheck) -> str:
    return "" if check.package == OURS else f" (package {check.package})"


def _no_verdict(yielded: object) -> Crashed:
    return Crashed(subject=None, reason=f"the check yielded {yielded!r}, which is no verdict"[:200])


def _message(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:200]


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""


MOST_VERDICTS = 10_000
"""Findings, clear subjects and subjects not judged of one check that are kept, each."""


class VerdictLimit:
    """The kept verdicts of one check in their order, and how many more there are.

    The most severe findings are kept, and the first of the clear subjects and of those not judged.
    """

    def __init__(self, most: int = MOST_VERDICTS) -> None:
        self.most = most
        self._kept: dict[int, Judged] = {}
        self._findings: list[tuple[Severity, int]] = []
        """A heap with the severity of each kept finding, and its negative position: the first are kept longest."""
        self._clear = self._not_judged = self._position = 0
        self._worst = Severity.INFO
        """The highest severity of a finding that was not kept."""
        self._more_findings = 0
        self._first_not_judged: NotJudged | None = None
        """The first subject not judged that was not kept."""

    def take(self, judged: Iterable[Judged]) -> None:
        """Keep or count further verdicts of the check."""
        for self._position, one in enumerate(judged, self._position + 1):  # noqa: B020  the position is kept
            match one.verdict:
                case Finding() as finding:
                    self._kept[self._position] = one
                    self._take_finding(finding)
                case Clear():
                    self._clear += 1
                    if self._clear <= self.most:
                        self._kept[self._position] = one
                case NotJudged() as not_judged:
                    self._not_judged += 1
                    if self._not_judged <= self.most:
                        self._kept[self._position] = one
                    else:
                        self._first_not_judged = self._first_not_judged or not_judged
                case Crashed():
                    self._kept[self._position] = one

    def _take_finding(self, finding: Finding) -> None:
        rank = (finding.severity, -self._position)
        if len(self._findings) < self.most:
            heappush(self._findings, rank)
            return
        severity, position = heappushpop(self._findings, rank)
        del self._kept[-position]
        self._more_findings += 1
        self._worst = max(self._worst, severity)

    def judged(self, check: str) -> Iterator[Judged]:
        """Yield the kept verdicts, and one for those of each outcome that were not kept."""
        yield from self._kept.values()
        yield from (Judged(check=check, verdict=verdict) for verdict in self._remainders())

    def _remainders(self) -> Iterator[Verdict]:
        if more := self._more_findings:
            yield Finding(
                subject=f"{number(more)} more",
                severity=self._worst,
                confidence=Confidence.POSSIBLE,
                title=f"{number(more)} more findings of this check, of severity {self._worst} or lower",
                detail=f"The report lists the {number(self.most)} most severe findings of a check.",
                observed={"more_findings": more},
            )
        if (more := self._clear - self.most) > 0:
            yield Clear(subject=f"{number(more)} more", reason=f"clear, as the {number(self.most)} that are listed")
        if first := self._first_not_judged:
            reason = f"{number(self._not_judged - self.most)} more are not judged; of the first of them: {first.reason}"
            yield NotJudged(subject=None, reason=reason, missing=first.missing, how=first.how)
