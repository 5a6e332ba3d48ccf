"""ServerStorage: the volumes of one directory server, and what its settings mean for a power cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ldapdiag.analysis.hosts.instances import Instance, facts_of
from ldapdiag.analysis.providers import provides
from ldapdiag.analysis.storage.device_errors import with_errors
from ldapdiag.analysis.storage.device_stack import HostDevices
from ldapdiag.analysis.storage.host_storage import HostStorage
from ldapdiag.analysis.storage.options import EXT
from ldapdiag.analysis.storage.placing import placed
from ldapdiag.evidence.bundle import Missing
from ldapdiag.evidence.storage import (
    BlockDevices,
    DeviceError,
    DirectorySize,
    EffectiveOptions,
    FileExtents,
    FileSystemSpace,
    KernelErrors,
    MountTable,
    Superblock,
    ZfsProperties,
)
from ldapdiag.evidence.storage.settings import Role, StorageSettings, merged_settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.storage.placing import Unplaced
    from ldapdiag.analysis.storage.volume import Volume
    from ldapdiag.evidence.storage.settings import StoragePlace
    from ldapdiag.servers.storage_rules import Durability


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStorage:
    """The disks under one directory server, as far as the evidence shows them."""

    kind: ClassVar[str] = "server-storage"
    how: ClassVar[str] = (
        "ldapdiag collect on the server; or its configuration (dse.ldif, cn=config, config.ldif), "
        "/proc/PID/mountinfo, /proc/fs/ext4/*/options and lsblk -O -J"
    )

    server: str
    host: str
    volumes: tuple[Volume, ...] = ()
    """In the order of their first use: database, transaction log, changelog, access log."""
    durability: tuple[Durability, ...] = ()
    """What the settings of each database mean."""
    unplaced: tuple[Unplaced, ...] = ()
    settings: StorageSettings | None = None
    other_errors: tuple[DeviceError, ...] = ()
    """What the kernel of its host reported about other devices."""
    kernel_messages: KernelErrors | None = None
    missing: tuple[str, ...] = ()
    """The kinds of evidence that its volumes or its settings lack."""
    origins: tuple[str, ...] = ()

    def volume_of(self, role: Role) -> Volume | None:
        """Return the first volume with a role."""
        return next((one for one in self.volumes if role in one.roles), None)


@provides(ServerStorage)
def server_storage(  # noqa: PLR0913, PLR0917  the kinds of evidence about storage
    server: Instance,
    settings: tuple[StorageSettings, ...],
    tables: tuple[MountTable, ...],
    devices: tuple[BlockDevices, ...],
    effective: tuple[EffectiveOptions, ...],
    superblocks: tuple[Superblock, ...],
    zfs: tuple[ZfsProperties, ...],
    spaces: tuple[FileSystemSpace, ...],
    extents: tuple[FileExtents, ...],
    directories: tuple[DirectorySize, ...],
    kernel: tuple[KernelErrors, ...],
) -> ServerStorage | Missing:
    """Join the places of a server's data with mounts, options, devices and files."""
    if (inapplicable := server.not_a_directory) is not None:
        return inapplicable
    host = HostStorage(
        host=server.host,
        tables=_of_host(tables, server),
        devices=HostDevices(_of_host(devices, server)),
        effective=_of_host(effective, server),
        superblocks=_of_host(superblocks, server),
        zfs=_of_host(zfs, server),
        spaces=_of_host(spaces, server),
        extents=_of_host(extents, server),
        directories=_of_host(directories, server),
        kernel=_of_host(kernel, server),
    )
    configured = merged_settings(facts_of(settings, server.name))
    if configured is None and not host.tables:
        return Missing(
            host=server.name,
            reason=f"neither the storage settings of {server.name} nor the mounts of {server.host} are in the evidence",
            lacks=(StorageSettings.kind, MountTable.kind),
            how=ServerStorage.how,
        )
    return _joined(server, configured, host)


def _of_host(facts: Iterable[Any], server: Instance) -> tuple[Any, ...]:
    """Return the facts of a server's host, without those of its other servers."""
    return tuple(fact for fact in facts if fact.origin.host == server.host and fact.origin.server in {"", server.name})


def _joined(server: Instance, settings: StorageSettings | None, host: HostStorage) -> ServerStorage:
    rules = server.product.storage if server.product else None
    version = server.version or (settings.identity.version if settings else ())
    places: tuple[StoragePlace, ...] = settings.places if settings else ()
    durability: tuple[Durability, ...] = ()
    if settings is not None and rules is not None:
        places = rules.places(settings, version, server.instance)
        durability = rules.durability(settings, version)
    kernel = max(host.kernel, key=lambda one: (one.origin.order, one.lines_read), default=None)
    found, unplaced = placed(places, host, server.name)
    volumes = tuple(with_errors(volume, kernel) for volume in found)
    own = {id(error) for volume in volumes for error in (*volume.errors, *volume.earlier_errors)}
    missing = [
        *([StorageSettings.kind] if settings is None else []),
        *([MountTable.kind] if not host.tables else []),
        *(kind for volume in volumes for kind in lacking(volume)),
        *([KernelErrors.kind] if kernel is None else []),
    ]
    sources = (settings, kernel, *host.tables)
    return ServerStorage(
        server=server.name,
        host=server.host,
        volumes=volumes,
        durability=durability,
        unplaced=unplaced,
        settings=settings,
        other_errors=tuple(error for error in kernel.errors if id(error) not in own) if kernel else (),
        kernel_messages=kernel,
        missing=tuple(dict.fromkeys(missing)),
        origins=tuple(sorted({*server.origins_of(*sources), *(path for one in volumes for path in one.origins)})),
    )


def lacking(volume: Volume) -> tuple[str, ...]:
    """Return the kinds of evidence without which options or disks of a volume are unknown."""
    options = EffectiveOptions.kind if volume.fs_type in EXT and volume.options.barrier is None else ""
    disks = BlockDevices.kind if volume.local and not volume.in_memory and not volume.stack else ""
    return tuple(kind for kind in (options, disks) if kind)
