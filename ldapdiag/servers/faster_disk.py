"""The remedy for writes that wait for the disk that loses nothing: a disk whose sync is faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.server_address import ServerAddress


def faster_disk(server: ServerAddress, what: str, how: str, family: Family) -> Remedy:
    """Put a part of the server's data on another disk; `how` is a sentence with the setting."""
    return Remedy(
        title=f"Put {what} on a disk with a faster sync",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text="Disks with a write cache that survives a power cut (SSDs with power-loss protection, controllers with a "
        "battery or flash) sync in less than 1 ms, spinning disks in 5 to 20 ms. Measure both volumes first: "
        f"ldapdiag storage --probe DIRECTORY. Then, with the server stopped: {how}",
        changes="Each write waits for the sync of the new disk. No acknowledged change is lost by it in a power cut.",
        risk="The server is stopped while files are copied. Keep the old files until it has started and answered. The "
        "new volume needs write barriers: a disk that is fast without them loses acknowledged changes.",
        undo="",
        verify="",
        family=family,
        needs=Needs.RESTART,
    )
