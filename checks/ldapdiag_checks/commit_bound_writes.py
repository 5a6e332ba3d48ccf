"""commit-bound-writes: writes that spend their time waiting for the disk's sync."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.storage.commit_waits import (
    BY_PROBE,
    BY_THREADS,
    CommitWaits,
    WaitCause,
    duration,
    load,
    proofs,
    share,
    times,
)
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.log.stamps import SECOND, moment
from ldapdiag.evidence.storage.probe import StorageProbe
from ldapdiag.evidence.threads import ProcessThreads
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.wording import counted


@check(group="storage", number=MainNumber("p50_seconds", "median time of a write", "value"))
def judge(waits: CommitWaits, server: Instance, storage: ServerStorage | None = None) -> Iterator[Verdict]:
    """Writes that spend their time waiting for the disk's sync.

    ## What it looks at
    The time of each successful ADD, MODIFY, DELETE and MODRDN in the access log, without its waits for a worker thread
    and for the writes before it: 389-ds, DSEE and slapd apply one write to a database at a time, so it begins when the
    one before it has ended. A write that waits for the disk takes at least one flush of it (389-ds with Berkeley DB;
    with LMDB, and slapd, two), with one client as with forty.

    - Proof is a probe of the volume (ldapdiag storage --probe DIRECTORY) whose sync agrees with the writes, or threads
      of the server that are in fsync, fdatasync, msync or pwrite64 in most of 40 looks per snapshot (as root; x86_64
      and aarch64, other processors are not sampled).
    - Without proof it is possible, where half of the writes took at most 1.2 times what the shortest tenth took, and
      searches were quick. Locks, plug-ins and a busy processor make times that differ more, and are not judged here.

    Replicated and internal changes are missing where the log does not have them, and two databases that are written at
    the same time appear as one.

    ## Severity
    - medium: writes fill 80 % or more of the busiest minute: more clients only wait longer.
    - low: half of the writes take 5 ms or more, and they fill less.

    ## Why it matters
    The number of writes per second is bounded by the disk, whatever the processor does. Neither 389-ds nor slapd
    shares a sync between clients: 40 clients wait 40 times as long as one (measured with 389-ds 2.3.1, slapd 2.5.13).

    ## What to do
    A disk whose sync is faster (with a cache that survives a power cut) loses nothing. Fewer syncs per change lose
    changes in a power cut: each remedy states which. Fewer changes help, too: one MODIFY with several attributes waits
    once. Never remove write barriers, and batches of transactions brought no gain in 389-ds 2.3.1.

    ## When it is harmless
    Imports and synchronisations at night, when no user waits. Below 1 ms per write, and below 5 ms where writes do not
    fill the time, there is nothing to gain.
    """
    name = server.name
    if waits.waits:
        yield _finding(waits, server, storage)
    elif waits.cause is WaitCause.QUICK:
        filled = f"they filled {share(waits)} of the busiest minute"
        yield Clear(subject=name, reason=f"{times(waits)}; {filled}: nothing to gain from a faster disk or fewer syncs")
    elif waits.cause is WaitCause.NO_SYNC:
        yield Clear(
            subject=name, reason=f"its settings make no write wait for the disk: see unsafe-writes. {times(waits)}"
        )
    elif waits.cause is WaitCause.OTHER:
        yield Clear(subject=name, reason=f"{times(waits)}. {waits.why}")
    else:
        missing = tuple(
            kind
            for kind, there in ((StorageProbe.kind, waits.probe), (ProcessThreads.kind, waits.samples))
            if not there
        )
        yield NotJudged(
            subject=name, reason=f"{times(waits)}. {waits.why}", missing=missing, how=f"{BY_PROBE}; or {BY_THREADS}"
        )


def _finding(waits: CommitWaits, server: Instance, storage: ServerStorage | None) -> Finding:
    service, is_proven = waits.service, waits.cause is WaitCause.DISK
    wait = "wait" if is_proven else "seem to wait"
    each = f"{duration(service.p50)} each"
    full = f", and fill {share(waits)} of the busiest minute" if waits.is_saturated else ""
    return Finding(
        subject=server.name,
        severity=Severity.MEDIUM if waits.is_saturated else Severity.LOW,
        confidence=Confidence.CERTAIN if is_proven else Confidence.POSSIBLE,
        title=f"{counted(service.count, 'write')} of {server.name} {wait} for the disk, {each}{full}",
        detail="\n".join([f"{times(waits)}.", *proofs(waits), load(waits)]),
        observed=_observed(waits),
        server=server.name,
        hosts=(server.host,),
        remedies=_remedies(server, storage),
        origins=waits.origins,
    )


def _remedies(server: Instance, storage: ServerStorage | None) -> tuple[Remedy, ...]:
    if server.product is None:
        return ()
    settings = storage.settings if storage else None
    found = server.product.shorten_commits(server.address, settings, server.version)
    return tuple(server.address.adapt(one) for one in found)


def _observed(waits: CommitWaits) -> dict[str, object]:
    service, sync, samples = waits.service, waits.sync, waits.samples
    return {
        "server": waits.server,
        "writes": service.count,
        "p10_seconds": round(service.p10, 6),
        "p50_seconds": round(service.p50, 6),
        "p90_seconds": round(service.p90, 6),
        "busiest_share": round(service.busiest_share, 3),
        "busiest_time": moment(service.busiest_time, SECOND),
        "flushes_per_write": sorted(waits.flushes),
        "sync_seconds": sync.sync.p50_seconds if sync else None,
        "looks": samples.looks if samples else None,
        "looks_in_sync": samples.syncing if samples else None,
        "looks_running": samples.running if samples else None,
        "searches_p95_seconds": round(waits.searches.p95 / SECOND, 6) if waits.searches else None,
        "shown_by": list(waits.shown_by),
    }
