"""Gathering: read or collect the named evidence into one bundle; a failure becomes a gap, and gathering continues."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import field, replace
from threading import Event
from typing import TYPE_CHECKING, Any

from ldapdiag.errors import LdapdiagError, UsageError
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Bundle, Gap, PassedOver
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.captures.find import find, within
from ldapdiag.sources.cluster.executor import ClusterError
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.files.unreadable import legible, unreadable
from ldapdiag.sources.logs.log_files import LogFile, logs_or_reason
from ldapdiag.sources.progress import NO_PROGRESS
from ldapdiag.sources.recognition.log_discovery import DiscoveredLogs, is_more_than_a_log, log_dialect
from ldapdiag.sources.recognition.row_limit import RunTables
from ldapdiag.sources.targets import LdapTarget, names_of, split_targets, suggested_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import tzinfo

    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.sources.cluster.executor import Executor
    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.files.input import Found
    from ldapdiag.sources.live.sampling import LiveEvidence
    from ldapdiag.sources.logs.asked_period import AskedPeriod
    from ldapdiag.sources.logs.log_files import NotALog
    from ldapdiag.sources.progress import Progress
    from ldapdiag.sources.recognition.reading import InputReading
    from ldapdiag.sources.targets import Target


NAME_LOG = "name the file there, as in ssh://HOST/var/log/dirsrv/slapd-ds1/access"
NAMES_SHOWN = 3
"""Unrecognised files of a folder that its gap names."""

WAITING_BYTES = 32 << 20
"""Limit for the heads of files that wait until the logs are read; further heads are read again."""


@dataclass(slots=True)
class Named:
    """One argument of the command line: its inputs that wait until the logs are scanned, and its unrecognised files."""

    name: str
    waiting: deque[Found] = field(default_factory=deque)
    unknown: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Basket:
    """The evidence gathered so far."""

    logs: DiscoveredLogs
    progress: Progress
    facts: list[Any] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    passed_over: list[PassedOver] = field(default_factory=list)
    read: set[tuple[int, int]] = field(default_factory=set)
    """(device, inode) of the files read, so that no file counts twice."""
    named: list[Named] = field(default_factory=list)
    tables: RunTables = field(default_factory=RunTables)
    heads: int = 0
    """Bytes of the heads of the waiting files."""

    def sort(self, found: Found, named: Named) -> None:
        """Add a log to the discovered logs, defer a file that can be read later, and read any other input now."""
        if not isinstance(found, Input):
            named.waiting.append(found)
        elif (dialect := log_dialect(found)) or found.file_range is None:
            self.take(found, named, dialect)
        else:
            self.heads += len(found.head)
            named.waiting.append(found if self.heads < WAITING_BYTES else found.without_head())

    def take(self, found: Found, named: Named, dialect: Dialect | None = None) -> None:
        """Take a result of a walk: keep a gap, read an input, add a log of the given dialect to the discovered logs."""
        if isinstance(found, Gap):
            self.gaps.append(found)
        elif isinstance(found, PassedOver):
            self.passed_over.append(found)
        else:
            self.progress(found.path)
            try:
                self._take_input(found, named, dialect)
            except OSError as error:
                self.gaps.append(unreadable(found.label, error))
            except Exception as error:  # noqa: BLE001  a reader's bug must not cost the rest of the evidence
                self.gaps.append(crashed(found.label, error))

    def _take_input(self, one: Input, named: Named, dialect: Dialect | None) -> None:
        if self._is_known(one):
            return
        is_log = dialect is not None
        if dialect is None or is_more_than_a_log(dialect):
            if is_log:
                one.keep()
            is_log = self._read(one, named) or is_log
        if is_log:
            self.logs.add(one, dialect)

    def _is_known(self, one: Input) -> bool:
        """Return whether the same file was taken before, perhaps under another name."""
        if one.identity is None:
            return False
        known = one.identity in self.read
        self.read.add(one.identity)
        return known

    def _read(self, one: Input, named: Named) -> bool:
        """Read an input with its format; return whether it is an access log. OSError propagates to the caller."""
        from ldapdiag.sources.recognition.reading import read  # noqa: PLC0415  import late, with every grammar

        reading = read(one)
        self._keep(one, reading, named)
        return reading.is_log

    def _keep(self, one: Input, reading: InputReading, named: Named) -> None:
        """Keep the facts, or why there are none: as a gap if the operator named the file, else in the list."""
        too_many = self.tables.take(one.label, reading.facts)
        self.facts.extend(() if too_many else reading.facts)
        self.gaps.extend(gap for gap in (reading.gap, too_many) if gap)
        if not reading.useless:
            return
        if one.named and not reading.is_known:
            how = "'ldapdiag diagnose --help' names the inputs"
            self.gaps.append(Gap(target=one.label, reason=reading.useless, how=how))
            return
        self.passed_over.append(PassedOver(target=one.label, reason=reading.useless, files=reading.files))
        if reading.is_unknown:
            named.unknown.append(one.name)

    def take_waiting(self) -> None:
        """Read the waiting inputs, once."""
        every, self.named = self.named, []
        for named in every:
            while named.waiting:
                self.take(named.waiting.popleft(), named)
            self.gaps.extend(unknown_files(named))


def gather(  # noqa: PLR0913  what the operator asked for, option by option
    evidence: Iterable[str],
    *,
    ldap_ports: Iterable[int] = (),
    options: CollectionOptions | None = None,
    progress: Progress = NO_PROGRESS,
    stop: Event | None = None,
    period: AskedPeriod | None = None,
    meanwhile: Callable[[], object] | None = None,
    executor: Executor | None = None,
) -> Bundle:
    """Read files and folders, and collect from targets, into a bundle; no evidence named means this host.

    `options` apply to live targets; `progress` is called for each file and target. Setting `stop` ends the collection
    early: the bundle contains the evidence collected until then, and a gap. Only access log records of `period`
    count. `meanwhile` is called while other threads read logs, or after the files are read. `executor` reads them on a
    cluster; ClusterError propagates to the caller.
    """
    targets, paths = split_targets(evidence)
    stop = stop or Event()
    basket = Basket(DiscoveredLogs(period, executor=executor), progress)
    if targets:
        _take_answers(ask(targets, options, stop=stop, progress=progress), basket)
    for path in paths:
        named = Named(path)
        basket.named.append(named)
        for found in find(path):
            basket.sort(_with_suggestion(found, path), named)

    def others() -> None:
        basket.take_waiting()
        if meanwhile is not None:
            meanwhile()

    basket.logs.meanwhile = others
    _read_logs(basket, stop)
    basket.take_waiting()
    if basket.logs.files:  # recognised by their format alone
        _read_logs(basket, stop)
    return Bundle(
        facts=tuple(basket.facts),
        gaps=tuple(basket.gaps),
        passed_over=tuple(basket.passed_over),
        ldap_ports=frozenset(ldap_ports) | named_ports(targets),
        named=names_of(targets),
        cluster=basket.logs.cluster,
    )


def _with_suggestion(found: Found, path: str) -> Found:
    """Return a result of a walk; the gap of a path that does not exist names the targets that may be meant."""
    if not isinstance(found, Gap) or os.path.lexists(path) or not (targets := suggested_targets(path)):
        return found
    return replace(found, how=f"check the spelling; if a target is meant: {' or '.join(targets)}")


def named_ports(targets: Iterable[Target]) -> frozenset[int]:
    """Return the ports of the LDAP targets: listeners on these ports serve LDAP."""
    ports = (target.address.port for target in targets if isinstance(target, LdapTarget))
    return frozenset(filter(None, ports))


def ask(
    targets: Sequence[Target], options: CollectionOptions | None, *, stop: Event, progress: Progress
) -> LiveEvidence:
    """Collect from the targets in parallel, and return their answers."""
    from ldapdiag.sources.collection_options import CollectionOptions  # noqa: PLC0415  import late
    from ldapdiag.sources.live.collectors import collectors_for  # noqa: PLC0415
    from ldapdiag.sources.live.sampling import collect_live  # noqa: PLC0415  import late: ldap3 and pyroute2 are slow

    options = options or CollectionOptions()
    options = replace(options, ldap_ports=options.ldap_ports | named_ports(targets))
    return collect_live(collectors_for(targets, options, stop, progress), options, stop=stop, progress=progress)


def logs_of(
    targets: Sequence[Target], options: CollectionOptions, *, zone: tzinfo | None, stop: Event, progress: Progress
) -> tuple[LogFile | NotALog, ...]:
    """Return the access logs of the directory servers on hosts, and the gaps; `zone` is that of times without one."""
    gathered = ask(targets, replace(options, logs=True, logs_alone=True), stop=stop, progress=progress)
    inputs = [one for piece in gathered.pieces for one in within(piece.with_status()) if isinstance(one, Input)]
    logs = [log for one in inputs if log_dialect(one) is not None for log in logs_or_reason(one, zone)]
    gaps = gathered.gaps
    if not logs and not gaps:
        hosts = ", ".join(target.label for target in targets)
        gaps = (Gap(target=hosts, reason="no access log of a directory server was found", how=NAME_LOG),)
    return (*logs, *gaps)


def log_of_process(pid: int, target: Target, options: CollectionOptions, stop: Event) -> str:
    """Return the access log that a directory server of this host writes. Raises LdapdiagError without one."""
    from ldapdiag.sources.live.local.processes import has_open  # noqa: PLC0415  import late: it brings ctypes

    found = logs_of([target], options, zone=None, stop=stop, progress=NO_PROGRESS)
    ranges = [one.input.file_range for one in found if isinstance(one, LogFile)]
    if log := next((one.location for one in ranges if one and has_open(pid, one.location)), ""):
        return log
    gap = next((one for one in found if isinstance(one, Gap)), None)
    raise LdapdiagError(f"{gap.target}: {gap.reason}" if gap else f"process {pid} has no access log open")


def _take_answers(gathered: LiveEvidence, basket: Basket) -> None:
    basket.gaps.extend(gathered.gaps)
    answers = Named("")
    for piece in gathered.pieces:
        try:
            answer = piece.with_status()
        except OSError as error:
            basket.gaps.append(unreadable(piece.label, error))
            continue
        for found in within(answer):
            basket.take(found, answers, log_dialect(found) if isinstance(found, Input) else None)


def crashed(target: str, error: Exception) -> Gap:
    """Return the gap for evidence whose reader crashed."""
    return Gap(
        target=target,
        reason=f"the reader crashed ({type(error).__name__}: {error}); this is a bug in ldapdiag",
        how="report it with the first lines of the file",
    )


def _read_logs(basket: Basket, stop: Event) -> None:
    try:
        for found in basket.logs.read(basket.progress, stop):
            match found:
                case Gap():
                    basket.gaps.append(found)
                case PassedOver():
                    basket.passed_over.append(found)
                case AccessLog():
                    basket.facts.append(found)
    except (UsageError, ClusterError):
        raise
    except Exception as error:  # noqa: BLE001  as in take
        basket.gaps.append(crashed("the access logs", error))


def unknown_files(named: Named) -> tuple[Gap, ...]:
    """Return one gap for all unrecognised files of a folder: the operator may expect them to be read."""
    names = named.unknown
    if not names:
        return ()
    more = ", …" if len(names) > NAMES_SHOWN else ""
    files = "1 file is of an" if len(names) == 1 else f"{len(names):,} files are of an"
    reason = f"{files} unrecognised type ({', '.join(names[:NAMES_SHOWN])}{more})"
    return (Gap(target=legible(named.name), reason=reason, how="-v lists them"),)
