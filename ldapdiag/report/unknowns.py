"""What each kind of evidence shows, in plain words: for a report that lacks most of it."""

from __future__ import annotations

from typing import NamedTuple

from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.flows import FlowTable
from ldapdiag.evidence.host_facts import DescriptorCount, KernelSettings, ProcessLimits
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.ruleset import Ruleset
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.evidence.storage import BlockDevices, EffectiveOptions, FileExtents, KernelErrors, MountTable
from ldapdiag.evidence.storage.settings import StorageSettings


class Unknown(NamedTuple):
    """A kind of evidence, and what is unknown without it."""

    name: str
    shows: str


UNKNOWNS = {
    AccessLog.kind: Unknown("the access log", "which operations are slow or fail, and whose they are"),
    SocketTable.kind: Unknown("the socket table of both ends", "whether the connections exist at both ends"),
    IndexConfiguration.kind: Unknown("the index configuration", "which indexes are missing, not built or unused"),
    Configuration.kind: Unknown("the server's configuration", "which idle timeout the server has"),
    Monitor.kind: Unknown("cn=monitor", "whether worker threads are free"),
    FlowTable.kind: Unknown("the table of each middlebox", "which connections a middlebox still tracks"),
    Ruleset.kind: Unknown("the rules of each middlebox", "whether a middlebox drops packets without an entry"),
    KernelSettings.kind: Unknown("the kernel settings of middleboxes", "when a middlebox drops idle connections"),
    ProcessLimits.kind: Unknown("the limits of the server process", "how many descriptors the server may open"),
    DescriptorCount.kind: Unknown("the descriptors of the server process", "how many descriptors are open"),
    MountTable.kind: Unknown("the mounts of the server's process", "which file systems and disks the data is on"),
    StorageSettings.kind: Unknown("the server's configuration", "whether the server waits for the disk"),
    EffectiveOptions.kind: Unknown("the options in force of ext4", "whether ext4 flushes the cache of the disk"),
    BlockDevices.kind: Unknown("the block devices", "which disks the data is on"),
    FileExtents.kind: Unknown("the extents of the database files", "in how many pieces the database is"),
    KernelErrors.kind: Unknown("the messages of the kernel", "whether a disk reported errors"),
}
"""By the kind of the fact."""
