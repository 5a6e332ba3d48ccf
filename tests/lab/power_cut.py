"""Power cuts under real servers: what their clients had been told, and what a server has after its restart.

`CASES` names settings and volumes. `cut` runs one: a server on a slow disk, a load, the cut, the durable image mounted
again, the server started again, and each entry compared with the last value that was acknowledged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab.directory_servers import DATABASE_389, DATABASE_SLAPD
from lab.host import Host
from lab.volumes import MEGABYTES, ROOM_FOR_389, FileSystem, Volume, mount_slow
from lab.write_load import WriteLoad, lost, values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lab.directory_servers import Server
    from lab.laboratory import Laboratory

FLUSH_MILLISECONDS = 8
CHANGES = 120
"""So many changes are acknowledged before the cut, or more."""
LONG_COMMIT = "commit=300"
"""The journal commits nothing by itself meanwhile, even on a machine so slow that 5 s (ext4's default) pass."""
INDEXES = "index objectClass,uid eq\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A server's settings and its volume."""

    family: str
    lines: str = ""
    """Of slapd's database."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of 389-ds's database."""
    storage: str = "bdb"
    options: str = ""
    """Of mount."""
    defaults: str = ""
    """Mount options in the superblock."""


OFF = {"nsslapd-db-durable-transaction": "off"}
CASES = {
    "389-ds": Case(family="389-ds"),
    "389-ds, not durable": Case(family="389-ds", settings=OFF),
    "389-ds, nobarrier": Case(family="389-ds", defaults="nobarrier"),
    "389-ds mdb, not durable": Case(family="389-ds", storage="mdb", settings=OFF),
    "slapd": Case(family="openldap"),
    "slapd, nometasync": Case(family="openldap", lines="envflags nometasync"),
    "slapd, dbnosync": Case(family="openldap", lines="dbnosync"),
    "slapd, mapasync": Case(family="openldap", lines="envflags writemap mapasync"),
    "slapd, nobarrier": Case(family="openldap", options="nobarrier"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a load."""

    acknowledged: int
    """Changes."""
    lost: int
    """Acknowledged changes that the server does not have after its restart."""
    flushes: int
    """That the disk was asked for between the load's begin and the cut."""

    @property
    def flushes_per_write(self) -> float:
        """Return how many flushes one acknowledged change took."""
        return self.flushes / self.acknowledged


def cut(
    laboratory: Laboratory, case: Case, *, power: bool = True, look: Callable[[Server], object] | None = None
) -> Outcome:
    """Cut the power under a loaded server, or end its process alone (kill -9); `look` is called before the load."""
    with Host("ldap") as host:
        volume = _volume(laboratory, host, case)
        server = _server(laboratory, host, case)
        if look is not None:
            look(server)
        load = WriteLoad(server)
        volume.settle()
        before = volume.disk.counts().flushes
        load.start()
        load.wait_for(CHANGES)
        flushes, pid = volume.disk.counts().flushes - before, server.pid
        if power:
            volume.disk.cut(server=pid)
        else:
            host.run(["kill", "-KILL", str(pid)])
        acknowledged = load.stop()
        server.process.end()
        if power:
            volume.after_power_cut()
        server.start()
        total = sum(acknowledged.values())
        return Outcome(acknowledged=total, lost=lost(acknowledged, values(server)), flushes=flushes)


def place_of(case: Case) -> str:
    """Return where its volume is mounted."""
    return DATABASE_389 if case.family == "389-ds" else DATABASE_SLAPD


def _volume(laboratory: Laboratory, host: Host, case: Case) -> Volume:
    made = FileSystem("ext4", options=",".join(filter(None, [LONG_COMMIT, case.options])), defaults=case.defaults)
    return mount_slow(
        host, laboratory.slow_disk, made, place_of(case), flush_milliseconds=FLUSH_MILLISECONDS,
        megabytes=ROOM_FOR_389 if case.family == "389-ds" else MEGABYTES,
    )  # fmt: skip


def _server(laboratory: Laboratory, host: Host, case: Case) -> Server:
    if case.family == "389-ds":
        return laboratory.ds389(host, storage=case.storage, database=case.settings)
    return laboratory.slapd(host, database=INDEXES + case.lines)
