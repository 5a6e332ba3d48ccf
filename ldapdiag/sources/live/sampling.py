"""Live sampling: collect from all targets in parallel, and take the snapshots in the order that proves most.

A connection that only one end shows may have just opened or closed. So each host is sampled once; after the sample
interval come the clients, the servers, and the clients again. The last snapshot of a server then lies closely between
two of each client, and the two snapshots of the server measure idle times and growth
(docs/how-it-decides.md, "Snapshots and skew").

Host folders: assign live evidence to the folder of its host, each network namespace once.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ldapdiag.analysis.hosts.host import own_addresses
from ldapdiag.evidence.bundle import Gap
from ldapdiag.evidence.host_facts import HostDescription
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.live.collected_target import CollectedTarget, is_failed_probe
from ldapdiag.sources.recognition.reading import with_facts

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from ldapdiag.sources.captures.manifest import ClockOffset
    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.files.input import Input
    from ldapdiag.sources.live.collected_target import Collector
    from ldapdiag.sources.progress import Progress

T = TypeVar("T")

MAX_PARALLEL = 64
NAMES_SHOWN = 3
"""Access logs of a target that a progress line names."""
POLL_SECONDS = 0.05
"""Time between two checks whether the work is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEvidence:
    """The evidence collected from all targets."""

    pieces: tuple[Input, ...]
    gaps: tuple[Gap, ...]
    clock_offsets: dict[str, ClockOffset]
    """By target."""

    @property
    def has_answers(self) -> bool:
        """Return whether any target answered; a failed probe of a directory server is no answer."""
        return not all(map(is_failed_probe, self.pieces))


def collect_live(
    collectors: Sequence[Collector], options: CollectionOptions, *, stop: threading.Event, progress: Progress
) -> LiveEvidence:
    """Collect from every target, sample again in turn, and close all collectors whatever happens."""
    targets = [CollectedTarget(collector) for collector in collectors]
    try:
        _sample(targets, options, stop, progress)
    finally:
        for target in targets:
            target.collector.close()
    gaps = list(dict.fromkeys(gap for target in targets for gap in target.gaps))  # each snapshot may fail alike
    if stop.is_set():
        gaps.append(Gap(target="this run", reason="was interrupted", how="run it again for the missing evidence"))
    return LiveEvidence(
        pieces=tuple(without_duplicates(in_host_folders(targets), targets)),
        gaps=tuple(gaps),
        clock_offsets={
            target.collector.target: offset
            for target in targets
            if (offset := target.collector.clock_offset) is not None
        },
    )


def _sample(
    targets: Sequence[CollectedTarget], options: CollectionOptions, stop: threading.Event, progress: Progress
) -> None:
    with ThreadPoolExecutor(max_workers=min(MAX_PARALLEL, len(targets) or 1)) as pool:
        started = time.monotonic()
        in_parallel(pool, targets, lambda target: _collect(target, progress), stop)
        servers = [target for target in targets if target.serves(options.ldap_ports)]
        others = [target for target in targets if target not in servers and target.facts]
        if servers and not options.logs_alone:
            _pause(options.sample_interval_seconds - (time.monotonic() - started), stop, progress)
            for group in (others, servers, others):
                in_parallel(pool, group, _snapshot, stop)
        if options.logs:
            in_parallel(pool, targets, lambda target: _access_logs(target, progress, options), stop)


def in_parallel(
    pool: ThreadPoolExecutor,
    targets: Iterable[T],
    work: Callable[[T], None],
    stop: threading.Event,
) -> None:
    """Do the work for all targets at once, and wait for all; each collector keeps its own time limit."""
    if stop.is_set():
        return
    running: list[Future[None]] = [pool.submit(work, target) for target in targets]
    while not all(one.done() for one in running):
        time.sleep(POLL_SECONDS)  # not wait(), which a signal does not interrupt
    for one in running:
        one.result()


def _collect(target: CollectedTarget, progress: Progress) -> None:
    started = time.monotonic()
    add_answers(target, target.collector.collect())
    target.pieces[:] = map(with_facts, target.pieces)
    target.facts.extend(fact for piece in target.pieces for fact in piece.facts)
    gap = next(iter(target.gaps), None)
    if target.has_answered:
        progress.answered(target.collector.target, target.summary, time.monotonic() - started, gap)
    elif gap is not None:
        progress.failed(replace(gap, target=target.collector.target))


def _snapshot(target: CollectedTarget) -> None:
    add_answers(target, target.collector.snapshot())


def _access_logs(target: CollectedTarget, progress: Progress, options: CollectionOptions) -> None:
    """Collect the access logs, after all snapshots: their times do not matter, and they may take long."""
    started, pieces, gaps = time.monotonic(), len(target.pieces), len(target.gaps)
    add_answers(target, target.collector.access_logs(progress))
    files = [piece.path.rpartition("/")[2] for piece in target.pieces[pieces:]]
    gap = next(iter(target.gaps[gaps:]), None)
    if files:
        more = f" and {len(files) - NAMES_SHOWN} more" if len(files) > NAMES_SHOWN else ""
        summary = f"access logs: {', '.join(files[:NAMES_SHOWN])}{more}"
        progress.answered(target.collector.target, summary, time.monotonic() - started, gap)
    elif gap is not None:
        progress.failed(gap)
    if files and options.logs_alone:
        del target.pieces[:pieces], target.gaps[:gaps]


def add_answers(target: CollectedTarget, answers: Iterable[Input | Gap]) -> None:
    """Add the answers of a target; a bug in its collector becomes a gap."""
    try:
        for answer in answers:
            if isinstance(answer, Gap):
                target.gaps.append(answer)
            else:
                target.pieces.append(answer)
    except Exception as error:  # noqa: BLE001  a bug in one collector must not stop the others
        reason = f"cannot collect: bug in ldapdiag ({type(error).__name__}: {error})"
        target.gaps.append(Gap(target=target.collector.target, reason=reason, how="report it"))


def _pause(seconds: float, stop: threading.Event, progress: Progress) -> None:
    if seconds > 0:
        progress.waiting(seconds)
        stop.wait(seconds)


def in_host_folders(targets: Sequence[CollectedTarget]) -> Iterator[Input]:
    """Yield every piece; an LDAP answer goes into the folder of the host that owns the server's address.

    The answer at the address of a proxy is some server's behind it, and goes into a folder of its own.
    """
    for target in targets:
        folder = _folder_of(target.collector.peer, targets)
        for piece in target.pieces:
            if folder is None:
                yield piece
            else:
                yield replace(piece, folder=folder, path=f"{folder}/{piece.path.rpartition('/')[2]}")


def _folder_of(address: str | None, targets: Sequence[CollectedTarget]) -> str | None:
    if address is None:
        return None
    found = ((target, folder) for target in targets if (folder := target.folder_of(address)) is not None)
    target, folder = next(found, (None, None))
    return f"behind-{folder}" if target is not None and folder is not None and target.is_proxy(folder) else folder


def without_duplicates(pieces: Iterable[Input], targets: Sequence[CollectedTarget]) -> Iterator[Input]:
    """Yield the pieces of each network namespace once: ssh to a host and to its container reads the same namespace.

    A host named on the command line takes precedence; else the first folder of the namespace does. A namespace that was
    not named is left out when it has an address of a named host: it belongs to another network.
    """
    named = {target.folder for target in targets}
    hosts = [fact for target in targets for fact in target.facts if isinstance(fact, HostDescription)]
    addresses = {address for host in hosts if host.origin.folder in named for address in own_addresses(host)}
    chosen: dict[tuple[str, str], str] = {}
    for host in sorted(hosts, key=lambda host: host.origin.folder not in named):
        folder = host.origin.folder
        is_foreign = folder not in named and not addresses.isdisjoint(own_addresses(host))
        namespace = (host.machine, host.namespace) if host.namespace else (folder, "")
        chosen.setdefault(namespace, "" if is_foreign else folder)
    left_out = {host.origin.folder for host in hosts} - set(chosen.values())
    return (piece for piece in pieces if piece.folder not in left_out)
