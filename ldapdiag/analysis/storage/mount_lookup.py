"""The mount that a path is on, and the mount below an overlay or a loop device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.evidence.storage import Mount


def mount_of(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """Return the mount that contains an absolute path; None if no row does.

    It is the one with the longest mount point; of several on one mount point the last, which hides the others. The
    order of other rows shows nothing: the root of a booted host is often listed after /sys.
    """
    found: Mount | None = None
    for mount in mounts:
        longer = found is None or len(_point(mount)) >= len(_point(found))
        if longer and is_below(path, mount.mount_point):
            found = mount
    return found


def is_below(path: str, folder: str) -> bool:
    """Return whether an absolute path is a folder, or in it, by whole components."""
    folder = folder.rstrip("/")
    return path.startswith("/") and (path == folder or path.startswith(f"{folder}/"))


def upper_folder(mount: Mount) -> str:
    """Return the folder into which an overlay writes, as its host names it; empty if the row has none."""
    words = (*mount.super_options, *mount.options)
    return next((word.partition("=")[2] for word in words if word.startswith("upperdir=")), "")


def _point(mount: Mount) -> str:
    return mount.mount_point.rstrip("/")
