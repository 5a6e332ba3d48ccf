"""The places of a server's data, each on its volume."""

from __future__ import annotations

from dataclasses import dataclass, replace
from posixpath import normpath
from typing import TYPE_CHECKING

from ldapdiag.analysis.storage.host_storage import best_table, mounts_of_space
from ldapdiag.analysis.storage.mount_lookup import is_below, mount_of
from ldapdiag.analysis.storage.volume import LASTING
from ldapdiag.analysis.storage.volumes import volume_of
from ldapdiag.evidence.storage.settings import Role

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.analysis.storage.host_storage import HostStorage
    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage import Mount
    from ldapdiag.evidence.storage.settings import StoragePlace

ORDER = tuple(Role)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unplaced:
    """A folder or file of a server whose volume is unknown."""

    role: Role
    path: str
    why: str

    @property
    def lasting(self) -> bool:
        """Return whether it is a part of the server's data; an access log is none."""
        return self.role in LASTING


def placed(
    places: Iterable[StoragePlace], host: HostStorage, server: str
) -> tuple[tuple[Volume, ...], tuple[Unplaced, ...]]:
    """Return the volumes of a server, in the order of their first use, and the places without one.

    The mounts are those of the server's own process where they are known: in a container they are not the host's.
    """
    table = best_table(one for one in host.tables if one.origin.server == server) or host.table
    mounts = table.mounts if table is not None else mounts_of_space(host.spaces)
    on: dict[Mount, list[tuple[Role, str]]] = {}
    unplaced: list[Unplaced] = []
    for place in sorted(set(places), key=lambda one: (ORDER.index(one.role), one.path)):
        path = real_path(place.path, host)
        mount = mount_of(path, mounts)
        if mount is None:
            unplaced.append(Unplaced(role=place.role, path=place.path, why=_why(path, host, known=bool(mounts))))
        elif (place.role, path) not in on.setdefault(mount, []):
            on[mount].append((place.role, path))
    shows_atime = table is not None and table.shows_atime
    root = mount_of("/", mounts)
    in_container = root is not None and root.fs_type == "overlay"
    volumes = (_volume(mount, own, host, shows_atime=shows_atime) for mount, own in on.items())
    return tuple(replace(one, in_container=in_container) for one in volumes), tuple(unplaced)


def real_path(path: str, host: HostStorage) -> str:
    """Return a path without `..` and double slashes, and without symbolic links where the evidence shows them."""
    known = [one for one in host.directories if one.real_path and is_below(path, one.path)]
    if known:
        nearest = max(known, key=lambda one: len(one.path))
        path = nearest.real_path.rstrip("/") + path[len(nearest.path.rstrip("/")) :]
    return "/" + normpath(path).lstrip("/") if path.startswith("/") else path


def _why(path: str, host: HostStorage, *, known: bool) -> str:
    if not path.startswith("/"):
        return "the path is relative, and the evidence does not show to which folder"
    if not known:
        return f"the mounts of {host.host} are not in the evidence"
    return f"the mount table of {host.host} is an excerpt without it"


def _volume(mount: Mount, paths: Sequence[tuple[Role, str]], host: HostStorage, *, shows_atime: bool) -> Volume:
    """Return the volume of a mount with the server's files and folders on it."""
    volume = volume_of(mount, host, shows_atime=shows_atime)
    folders = [path for _, path in paths]
    extents = [one for one in host.extents if _is_in(one.path, folders)]
    directories = [one for one in host.directories if _is_in(one.real_path or one.path, folders)]
    read = {*(one.origin.path for one in extents), *(one.origin.path for one in directories)}
    return replace(
        volume,
        paths=tuple(paths),
        extents=tuple(sorted({one.path: one for one in extents}.values(), key=lambda one: one.path)),
        directories=tuple(sorted({one.path: one for one in directories}.values(), key=lambda one: one.path)),
        origins=tuple(sorted({*volume.origins, *read})),
    )


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(is_below(path, folder) for folder in folders)
