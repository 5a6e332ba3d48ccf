"""The storage of real servers, as it is collected: their own mounts, volumes and files, by the kernel's count."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from lab.host import Host, wait_for
from lab.volumes import ROOM_FOR_389, FileSystem, mount
from ldapdiag.evidence.storage import MountTable
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.ssh.remote import ScriptSession
from ldapdiag.sources.recognition.reading import with_facts

if TYPE_CHECKING:
    from pathlib import Path

DATABASE = {"389-ds": "/var/lib/dirsrv/slapd-live/db", "openldap": "/var/lib/ldap"}
LARGEST = {"389-ds": "log.0000000001", "openldap": "data.mdb"}

FILE_SYSTEMS = [
    FileSystem("ext2"),
    FileSystem("ext4"),
    FileSystem("ext4", options="nodelalloc"),
    FileSystem("xfs"),
    FileSystem("btrfs"),
    FileSystem("btrfs", options="compress-force=zlib"),
    FileSystem("tmpfs"),
]
SCATTER = """
import os, sys
files = [os.open(f"{sys.argv[1]}/{number}.db", os.O_RDWR | os.O_CREAT) for number in range(3)]
for block in range(64):
    for file in files:
        os.pwrite(file, bytes(8192), 8192 * block if block % 8 else 8192 * (block + 4))
        os.fsync(file)
"""
COUNT = """
import sys, time
from ldapdiag.sources.live.local.extents import extents_text
print(*extents_text(((path, path) for path in sys.argv[1:]), time.monotonic() + 20), sep="", end="")
"""

CONTENT = re.compile(r"(read|pread64|mmap)\([^\"]*<[^>\"]*/data\.mdb>")
"""A system call on an open file of the database, as strace -y prints it."""


@pytest.fixture
def host():
    with Host("ldap") as running:
        yield running


@pytest.mark.parametrize("made", FILE_SYSTEMS, ids=lambda made: f"{made.type} {made.options}".strip())
def test_extents_are_those_that_filefrag_counts(laboratory, host, made) -> None:
    mount(host, made, "/var/db")
    host.run([sys.executable, "-c", SCATTER, "/var/db"])
    files = [f"/var/db/{number}.db" for number in range(3)]
    rows = [line.split("\t") for line in host.run([sys.executable, "-c", COUNT, *files]).splitlines()]
    assert [row[0] for row in rows] == files
    for path, size, allocated, extents, remark in rows:
        found = host.attempt(["filefrag", path]).stdout.partition(": ")[2].partition(" ")[0]
        bytes_there, blocks = host.run(["stat", "-c", "%s %b", path]).split()
        assert (size, allocated) == (bytes_there, str(512 * int(blocks)))
        assert extents == (found or "-")
        compressed = "compressed" if "compress" in made.options else ""
        assert remark == ("the file system does not report extents" if made.type == "tmpfs" else compressed)


def collected(host: Host, **settings: object) -> dict[str, Input]:
    """Return the pieces that the script prints on a host, by name; there may be no gap."""
    with ScriptSession(
        argv=host.enter(["sh"]), target="ssh://ldap", folder="ldap", timeout_seconds=20, **settings
    ) as session:
        answers = list(session.collect())
    assert [one for one in answers if not isinstance(one, Input)] == []
    return {one.path.rpartition("/")[2]: one for one in answers}


def rows_of(piece: Input) -> list[list[str]]:
    with piece.open() as stream:
        return [line.split("\t") for line in stream.read().decode().splitlines()]


@pytest.mark.parametrize("family", DATABASE)
def test_a_server_s_volume_comes_along(laboratory, host, family) -> None:
    folder = DATABASE[family]
    volume = mount(host, FileSystem("ext4", defaults="nobarrier"), folder, megabytes=ROOM_FOR_389)
    server = laboratory.server(family, host)
    pieces = collected(host)
    assert pieces["mountinfo.txt"].asked == f"cat /proc/{server.pid}/mountinfo on ldap"
    (table,) = with_facts(pieces["mountinfo.txt"]).facts
    assert isinstance(table, MountTable)
    (own,) = [one for one in table.mounts if one.mount_point == folder]
    assert (own.fs_type, own.source, own.super_options) == ("ext4", f"/dev/{volume.device}", ("rw",))
    options = {row[0] for row in rows_of(pieces["ext4-options.txt"])}
    assert f"/proc/fs/ext4/{volume.device}/options:nobarrier" in options, "which the table of mounts does not show"
    devices = {row[0] for row in rows_of(pieces["block-devices.txt"])}
    assert f"/sys/block/{volume.device}/queue/write_cache:write back" in devices
    assert f"/sys/block/{volume.device}/loop/backing_file:{volume.image}" in devices
    printed = [row[0].split() for row in rows_of(pieces["file-system-space.txt"])]
    space, inodes = [words for words in printed if words[-1] == folder]
    assert inodes[2] == host.run(["stat", "-f", "-c", "%c", folder]).strip()
    assert space[:3] == [f"/dev/{volume.device}", "ext4", space[2]]
    assert int(space[2]) > 1 << 20
    names = {row[0]: row[1:] for row in rows_of(pieces["directory-sizes.txt"])}
    assert names[folder] == [str(len(host.run(["ls", "-A", folder]).splitlines())), folder, ""]
    files = {row[0]: row[1:] for row in rows_of(pieces["file-extents.txt"])}
    size, allocated, extents, remark = files[f"{folder}/{LARGEST[family]}"]
    assert host.run(["stat", "-c", "%s %b", f"{folder}/{LARGEST[family]}"]).split() == [
        size,
        str(int(allocated) // 512),
    ]
    assert int(extents) >= 1
    assert remark == ""
    first, *_ = rows_of(pieces["kernel-errors.txt"])
    assert " lines of dmesg read" in first[0]


def test_the_database_of_a_server_is_not_read(laboratory, host) -> None:
    laboratory.slapd(host)
    calls = ["strace", "-f", "-qq", "-y", "-e", "trace=openat,read,pread64,mmap", "-o", "/run/trace"]
    if host.attempt([*calls, "true"]).returncode:
        pytest.skip("strace does not work here")
    with ScriptSession(argv=host.enter([*calls, "sh"]), target="x", folder="x", timeout_seconds=60) as session:
        list(session.collect())
    lines = host.run(["cat", "/run/trace"]).splitlines()
    assert [line for line in lines if "openat(" in line and '"/var/lib/ldap/data.mdb"' in line], (
        "its extents are counted"
    )
    assert [line for line in lines if CONTENT.search(line)] == [], "and nothing of it is read"


def test_a_server_with_mounts_of_its_own_is_seen_as_it_sees_itself(laboratory, host, tmp_path: Path) -> None:
    """On the host, the folder of its database is another file system, with other files."""
    volume = mount(host, FileSystem("xfs"), "/var/volume")
    server = laboratory.slapd(host)
    server.stop()
    host.run("cp -a /var/lib/ldap/. /var/volume/; mkdir /var/volume/inner")
    host.run("echo stranger > /var/lib/ldap/other.db")
    inside = f"mount --bind /var/volume /var/lib/ldap && exec {' '.join(map(_quoted, server.argv))}"
    host.start(["unshare", "--mount", "sh", "-c", inside], log=server.log)
    ask = ["ldapwhoami", "-Q", "-Y", "EXTERNAL", "-H", f"ldapi://{server.ldapi}"]
    wait_for(lambda: host.attempt(ask).returncode == 0, "it does not answer with mounts of its own")
    pieces = collected(host)
    (table,) = with_facts(pieces["mountinfo.txt"]).facts
    assert [one.source for one in table.mounts if one.mount_point == "/var/lib/ldap"] == [f"/dev/{volume.device}"]
    assert rows_of(pieces["directory-sizes.txt"]) == [["/var/lib/ldap", "3", "/var/lib/ldap", ""]]
    ((path, *_),) = rows_of(pieces["file-extents.txt"])
    assert path == "/var/lib/ldap/data.mdb", "and none of the host's own files"
    text = "\n".join("\t".join(row) for row in rows_of(pieces["file-system-space.txt"]))
    assert 'File: "/var/lib/ldap"' in text
    assert "Type: xfs" in text


def test_each_of_two_servers_has_its_own_evidence(laboratory, topology, desk) -> None:
    """The second has another file system at the place of its database."""
    volume = mount(topology.ldap, FileSystem("btrfs"), "/var/volume")
    first = laboratory.slapd(topology.ldap, by_file=True)
    topology.ldap.run(
        "mkdir /run/second; sed 's,/run/slapd/,/run/second/,' /etc/ldap/slapd.conf > /run/second/slapd.conf"
    )
    topology.ldap.run("cp -a /var/lib/ldap/. /var/volume")
    url = "ldap://:1389 ldapi://%2Frun%2Fsecond%2Fldapi"
    inside = f"mount --bind /var/volume /var/lib/ldap && exec slapd -f /run/second/slapd.conf -h '{url}' -d none"
    topology.ldap.start(["unshare", "--mount", "sh", "-c", inside], log=first.log)
    ask = ["ldapwhoami", "-x", "-H", "ldap://127.0.0.1:1389"]
    wait_for(lambda: topology.ldap.attempt(ask).returncode == 0, "the second does not answer")
    pieces = collected(topology.ldap)
    sources = {}
    for name in ("mountinfo.txt", "mountinfo-2.txt"):
        (table,) = with_facts(pieces[name]).facts
        sources[name] = [one.source for one in table.mounts if one.mount_point == "/var/lib/ldap"]
    assert sources == {"mountinfo.txt": [], "mountinfo-2.txt": [f"/dev/{volume.device}"]}
    said = desk.diagnose("local:", "--apart", "0.1", host=topology.ldap)
    assert said.report["gaps"] == []
    own = {"mounts", "file-extents", "directory-size", "file-system-space"}
    found = {(one["fact"], one["origin"], one["server"]) for one in said.report["evidence"] if one["fact"] in own}
    names = {"mounts": "mountinfo", "directory-size": "directory-sizes"}
    assert found == {
        (fact, f"ldap/{names.get(fact, fact)}{ending}.txt", server)
        for fact in own
        for ending, server in {"": "ldap:389", "-2": "ldap:1389"}.items()
    }


def test_a_link_to_another_volume_is_followed(laboratory, host) -> None:
    mount(host, FileSystem("xfs"), "/var/volume")
    server = laboratory.slapd(host)
    server.stop()
    host.run("cp -a /var/lib/ldap/. /var/volume/; mv /var/lib/ldap /var/lib/former; ln -s ../volume /var/lib/ldap")
    server.start()
    pieces = collected(host)
    assert rows_of(pieces["directory-sizes.txt"]) == [["/var/lib/ldap", "2", "/var/volume", ""]]
    (row,) = rows_of(pieces["file-extents.txt"])
    assert row[0] == "/var/volume/data.mdb"
    assert [row[0].split()[-1] for row in rows_of(pieces["file-system-space.txt"])] == [
        "on",
        "/var/volume",
    ] * 2, "of space, and of inodes"


def _quoted(word: str) -> str:
    return f"'{word}'"


def test_collect_on_the_server_itself_asks_the_kernel(laboratory, topology, desk, tmp_path: Path) -> None:
    mount(topology.ldap, FileSystem("ext4"), "/var/lib/ldap")
    server = laboratory.slapd(topology.ldap)
    capture = tmp_path / "capture"
    code, _, err = desk.run("collect", "local:", "--apart", "0.1", "--output", str(capture), host=topology.ldap)
    assert code == 0, err
    entries = json.loads((capture / "manifest.json").read_text())
    entries = {one["path"].rpartition("/")[2]: one for one in entries["pieces"]}
    extents = entries["file-extents.txt"]
    assert extents["asked"] == f"FIEMAP of the database files of process {server.pid} on ldap"
    assert "database-files.txt" not in entries
    (row,) = [line.split("\t") for line in (capture / extents["path"]).read_text().splitlines()]
    assert row[0] == "/var/lib/ldap/data.mdb"
    assert int(row[3]) >= 1


STORAGE = {
    "mounts",
    "ext4-options",
    "block-devices",
    "file-system-space",
    "file-extents",
    "directory-size",
    "kernel-messages",
}


def test_an_anonymised_capture_shows_the_same_storage(laboratory, topology, desk, tmp_path: Path) -> None:
    mount(topology.ldap, FileSystem("ext4"), DATABASE["389-ds"], megabytes=ROOM_FOR_389)
    laboratory.ds389(topology.ldap)
    capture = tmp_path / "capture"
    arguments = ("local:", "--apart", "0.1", "--anonymise", "--output", str(capture))
    code, _, err = desk.run("collect", *arguments, host=topology.ldap)
    assert code == 0, err
    said = desk.diagnose(str(capture))
    read = [one for one in said.report["evidence"] if one["fact"] in STORAGE]
    assert {one["fact"] for one in read} == STORAGE
    assert {one["lines_not_understood"] for one in read} == {0}
    files = [one for one in capture.rglob("*") if one.is_file()]
    assert [one.name for one in files if b"slapd-live" in one.read_bytes()] == [], "the name of the instance"
    (extents,) = [one.read_text() for one in files if one.name == "file-extents.txt"]
    (sizes,) = [one.read_text() for one in files if one.name == "directory-sizes.txt"]
    (mounts,) = [one.read_text() for one in files if one.name == "mountinfo.txt"]
    folder = sizes.split("\t", 1)[0]
    assert f" {folder} " in mounts, "one pseudonym for one path in all files"
    assert extents.startswith(f"{folder}/log.0000000001\t")
