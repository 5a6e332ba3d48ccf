"""Writes under load on a disk whose flush takes 20 ms, in memory, and with much work for each: what diagnose says."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from lab.desk import Said
from lab.directory_servers import DATABASE_389, DATABASE_SLAPD, SUFFIX
from lab.host import wait_for
from lab.raw_clients import WRITE_LOCK
from lab.terminal import paste
from lab.volumes import ROOM_FOR_389, FileSystem, mount, mount_slow
from lab.write_load import WriteLoad

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.desk import Desk
    from lab.directory_servers import Server
    from lab.laboratory import Laboratory
    from lab.topology import Topology

FLUSH_MILLISECONDS = 20
FLUSHES = {"389-ds": 1, "openldap": 2}
CHANGES = 60
"""Acknowledged before the server is looked at."""
WRITERS = 5
BULK = 20_000
"""Values of the entries that are changed: the server copies them with each change."""
LDAPDIAG = f"{sys.executable} -m ldapdiag storage"
CHECK = "commit-bound-writes"
NO_FINDING = ({"clear"}, {"not-judged"})

both = pytest.mark.parametrize("family", FLUSHES)


def started(laboratory: Laboratory, topology: Topology, family: str, *, slow: bool) -> Server:
    """Start a server whose database is on a volume of its own."""
    folder = DATABASE_389 if family == "389-ds" else DATABASE_SLAPD
    made = FileSystem("ext4")
    if slow:
        mount_slow(
            topology.ldap, laboratory.slow_disk, made, folder,
            flush_milliseconds=FLUSH_MILLISECONDS, megabytes=ROOM_FOR_389,
        )  # fmt: skip
    else:
        mount(topology.ldap, made, folder, megabytes=ROOM_FOR_389)
    return laboratory.server(family, topology.ldap)


@contextmanager
def under_load(server: Server, *, writers: int = WRITERS, changes: int = CHANGES) -> Iterator[WriteLoad]:
    """Let writers change entries meanwhile."""
    load = WriteLoad(server, writers=writers)
    load.start()
    try:
        load.wait_for(changes)
        yield load
    finally:
        load.stop()


def shown(desk: Desk) -> Said:
    """Return what `ldapdiag storage` reports; it reads the access log, too."""
    code, out, err = desk.run("storage", "ssh://ldap", "--format", "json")
    assert out, f"exit {code}: {err}"
    return Said(code, json.loads(out), err)


@both
def test_a_disk_with_a_slow_flush_is_found_and_proven(laboratory, topology, desk: Desk, family: str) -> None:
    with under_load(started(laboratory, topology, family, slow=True)):
        said = shown(desk)
    assert said.outcomes(CHECK) == {"finding"}
    (found,) = said.found(CHECK)
    seen = found["observed"]
    assert found["confidence"] == "certain"
    assert seen["shown_by"] == ["threads"]
    assert seen["flushes_per_write"] == [FLUSHES[family]]
    assert 1 <= seen["p50_seconds"] * 1000 / FLUSH_MILLISECONDS / FLUSHES[family] < 1.6
    assert seen["looks_in_sync"] >= 0.7 * seen["looks"]
    assert seen["p50_seconds"] < 1.2 * seen["p10_seconds"]


@both
def test_a_probe_proves_it_when_the_load_is_over(laboratory, topology, family: str) -> None:
    server = started(laboratory, topology, family, slow=True)
    with under_load(server):
        pass
    folder = DATABASE_389 if family == "389-ds" else DATABASE_SLAPD
    probed = f"{LDAPDIAG} -q --probe {folder} --probe-seconds 6 --format json --fail-on never"
    (found,) = [one for one in json.loads(topology.ldap.run(probed))["findings"] if one["check"] == CHECK]
    assert (found["confidence"], found["observed"]["shown_by"]) == ("certain", ["probe"])
    assert found["observed"]["sync_seconds"] == pytest.approx(FLUSH_MILLISECONDS / 1000, rel=0.2)
    assert found["observed"]["looks_in_sync"] < 0.5 * found["observed"]["looks"]


def test_the_remedy_halves_the_syncs_of_slapd_and_says_what_it_risks(laboratory, topology, desk: Desk) -> None:
    with under_load(started(laboratory, topology, "openldap", slow=True)) as load:
        (found,) = shown(desk).found(CHECK)
        faster, once = found["remedies"]
        assert (faster["kind"], once["kind"]) == ("advice", "shell")
        assert "lose the last acknowledged change" in once["risk"]
        before = _changes_of_three_seconds(load)
        paste(topology.ldap, once["text"])
        assert "nometasync" in paste(topology.ldap, once["verify"])
        assert 1.5 < _changes_of_three_seconds(load) / before < 2.5
        paste(topology.ldap, once["undo"])
        assert "nometasync" not in paste(topology.ldap, once["verify"])


@both
def test_a_server_in_memory_is_no_finding(laboratory, topology, desk: Desk, family: str) -> None:
    with under_load(started(laboratory, topology, family, slow=False)):
        assert shown(desk).outcomes(CHECK) in NO_FINDING


@both
def test_the_processors_work_on_large_entries_is_no_finding(laboratory, topology, desk: Desk, family: str) -> None:
    server = started(laboratory, topology, family, slow=False)
    load = WriteLoad(server, writers=1)
    values = "".join(f"seeAlso: uid=person{number},ou=people,{SUFFIX}\n" for number in range(BULK))
    server.modify(f"dn: uid=writer0,ou=services,{SUFFIX}\nchangetype: modify\nadd: seeAlso\n{values}")
    load.start()
    try:
        load.wait_for(CHANGES)
        assert shown(desk).outcomes(CHECK) in NO_FINDING
    finally:
        load.stop()


def test_a_lock_of_the_database_is_no_finding(laboratory, topology, desk: Desk, tmp_path) -> None:
    """Another process keeps slapd's writers waiting, now and then, for seconds."""
    with under_load(started(laboratory, topology, "openldap", slow=False)):
        for number in range(3):
            locked = tmp_path / f"locked{number}"
            holder = topology.ldap.start(["python3", "-I", "-S", "-c", WRITE_LOCK, DATABASE_SLAPD, str(locked)])
            wait_for(locked.exists, "the database is not locked")
            if number == 2:
                said = shown(desk)
            holder.end()
    assert said.outcomes(CHECK) in NO_FINDING


def _changes_of_three_seconds(load: WriteLoad) -> int:
    before = sum(load.acknowledged.values())
    time.sleep(3)
    return sum(load.acknowledged.values()) - before
