"""The sentences about writes that wait for the disk, in the order in which they decide; the cause of slow writes."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.log.slow_operations import SlowCause
from ldapdiag.analysis.storage.commit_waits import SATURATED, CommitWaits, WaitCause
from ldapdiag.analysis.storage.write_service import FEWEST
from ldapdiag.evidence.log.stamps import SECOND, moment
from ldapdiag.wording import counted, rounded, seconds

BY_PROBE = "ldapdiag storage --probe DIRECTORY, on the volume of the database"
BY_THREADS = "ldapdiag storage ssh://SERVER as root, or with --sudo, while it writes"


def duration(value: float) -> str:
    """Return a number of seconds below one as milliseconds: `42.9 ms`, `0.026 ms`."""
    return seconds(value) if value >= 0.9995 else f"{round(value * 1000, 3):.3g} ms"


def times(waits: CommitWaits) -> str:
    """Return the times of the writes, without their waits for each other."""
    service = waits.service
    return (
        f"Without the wait for the writes before it, half of {counted(service.count, 'write')} took "
        f"{duration(service.p50)} or less, the shortest tenth {duration(service.p10)} or less, the longest tenth "
        f"{duration(service.p90)} or more (within 4 %)"
    )


def share(waits: CommitWaits) -> str:
    """Return the share of the busiest minute in which a write was applied."""
    return f"{waits.service.busiest_share * 100:.0f} %"


def load(waits: CommitWaits) -> str:
    """Return how much of the time writes take, and what that means for their clients."""
    at = moment(waits.service.busiest_time, SECOND)
    filled = f"Writes filled {share(waits)} of the busiest minute (from {at})"
    if waits.is_saturated:
        most = rounded(1 / waits.service.p50)
        return f"{filled}: the server makes at most about {most} per second, and more clients only wait longer."
    return f"{filled}, less than {SATURATED * 100:.0f} %: a client seldom waits for the writes of others."


def proofs(waits: CommitWaits) -> Iterator[str]:
    """Yield what shows that the writes wait for the disk, or that it is not proven."""
    sync, samples = waits.sync, waits.samples
    if sync and "probe" in waits.shown_by:
        flushes = "1 or 2 of them" if not waits.flushes else " or ".join(map(str, sorted(waits.flushes)))
        where = f"The probe of {waits.probe.directory}" if waits.probe else "The probe"
        took = duration(sync.sync.p50_seconds)
        yield f"{where} measured {took} for the sync of an overwrite, and a write waits for {flushes}."
    if samples and samples.show_syncs:
        yield (
            f"In {samples.syncing} of {counted(samples.looks, 'look')} at its threads, one waited in fsync, fdatasync, "
            "msync or pwrite64."
        )
    if waits.searches and waits.searches.count >= FEWEST:
        quick = duration(waits.searches.p95 / SECOND)
        yield f"95 % of {counted(waits.searches.count, 'search')} in the same log took {quick} or less."
    if waits.cause is WaitCause.LIKE_DISK:
        yield (
            "This is consistent with a wait for the disk and no proof of it: constant work on each write, as of a "
            f"plug-in or an overlay, looks the same in a log. Proof: {BY_PROBE}; or {BY_THREADS}."
        )


def disk_cause(waits: CommitWaits | None) -> Iterator[SlowCause]:
    """Yield the disk as the cause of slow writes, where commit-bound-writes names it."""
    if waits is not None and waits.waits:
        how = "wait" if waits.cause is WaitCause.DISK else "seem to wait"
        sentence = f"Writes {how} for the disk, {duration(waits.service.p50)} each: see commit-bound-writes."
        yield SlowCause(name="disk", sentence=sentence)
