"""Which volume a storage probe measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage.probe import StorageProbe

UNNUMBERED = frozenset({"btrfs"})
"""File systems whose files have another device number than the mount table prints (a subvolume's)."""


def probe_of(volume: Volume, probes: Iterable[StorageProbe]) -> StorageProbe | None:
    """Return the latest probe of a volume; None if there is none of its host, device and mount point."""
    own = [one for one in probes if one.origin.host == volume.host and _measured(volume, one)]
    return max(own, key=lambda one: one.origin.order, default=None)


def _measured(volume: Volume, probe: StorageProbe) -> bool:
    """Return whether a probe is of a volume: by the device number, which a bind mount has too, where it is printed."""
    if volume.device and probe.device and volume.fs_type not in UNNUMBERED:
        return probe.device == volume.device
    return probe.mount_point == volume.mount_point
