"""The time of one sync: blocks that are appended or overwritten, one after the other, write and sync timed apart."""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING

from ldapdiag.evidence.storage.probe import SyncCall, SyncLatency, WriteKind, latency_of

if TYPE_CHECKING:
    from ldapdiag.sources.probe.limits import Allowance
    from ldapdiag.sources.probe.scratch import Scratch

PREPARED = 1 << 22
"""Bytes of the file that is overwritten, written and synced before; then from its beginning again."""
SYNCS = {SyncCall.FSYNC: os.fsync, SyncCall.FDATASYNC: os.fdatasync}


def sync_latency(
    scratch: Scratch, allowance: Allowance, write: WriteKind, call: SyncCall, block_bytes: int
) -> tuple[SyncLatency, ...]:
    """Return one latency, measured within the time of one measurement; none if not one block was permitted."""
    sync, block, limits = SYNCS[call], os.urandom(block_bytes), allowance.limits
    writes: list[float] = []
    syncs: list[float] = []
    with scratch.file() as descriptor:
        room = 0
        if write is WriteKind.OVERWRITE:
            room = _prepare(descriptor, block, limits.blocks, allowance)
        place, until = 0, perf_counter() + limits.step_seconds
        while len(syncs) < limits.blocks and allowance.permits(block_bytes):
            begun = perf_counter()
            if begun >= until and syncs:
                break
            os.pwrite(descriptor, block, place)
            written = perf_counter()
            sync(descriptor)
            synced = perf_counter()
            writes.append(written - begun)
            syncs.append(synced - written)
            place = (place + block_bytes) % room if room else place + block_bytes
    if not syncs:
        return ()
    sync_times, write_times = latency_of(syncs), latency_of(writes)
    return (
        SyncLatency(
            write=write, call=call, block_bytes=block_bytes, count=len(syncs), sync=sync_times, written=write_times
        ),
    )


def _prepare(descriptor: int, block: bytes, blocks: int, allowance: Allowance) -> int:
    """Write and sync the file that is to be overwritten; return its size."""
    size = min(PREPARED // len(block), blocks) * len(block)
    for place in range(0, size, len(block)):
        if not allowance.permits(len(block)):
            return place or len(block)
        os.pwrite(descriptor, block, place)
    os.fsync(descriptor)
    return size
