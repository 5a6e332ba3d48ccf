"""The mounts that /proc/mounts, mount and findmnt print, on Linux and on Solaris."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.storage import Mount, MountTable
from ldapdiag.evidence.storage.findmnt import FORMAT as FINDMNT
from ldapdiag.evidence.storage.mount import FORMAT as MOUNT
from ldapdiag.evidence.storage.proc_mounts import FORMAT as PROC_MOUNTS
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

PROC = """proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
/dev/sda1 / ext4 rw,relatime,errors=remount-ro 0 0
/dev/mapper/vg-db /srv/my\\040ldap ext4 rw 0 0
"""
OLD_MTAB = """/dev/sda1 / ext4 rw 0 0
/dev/sdb1 /srv/ldap ext4 rw,noatime 0 0
"""
MNTTAB = (
    "/dev/dsk/c0t0d0s0\t/\tufs\trw,intr,logging,xattr,dev=2200000\t1234567890\n"
    "rpool/ldap\t/ldap\tzfs\trw,devices,setuid,exec,atime,dev=4010005\t1234567891\n"
)
FSTAB = """# /etc/fstab: static file system information.
UUID=7ad05904-ad2c-4423-8cf0-16b720a13f3d / ext4 errors=remount-ro 0 1
/dev/sdb1 /srv/ldap ext4 rw,noatime 0 0
"""
PRINTED = """proc on /proc type proc (rw,nosuid,nodev,noexec,relatime)
/dev/sda1 on / type ext4 (rw,relatime,errors=remount-ro) [root]
//nas/share on /srv/two words type cifs (rw,noatime)
"""
SOLARIS_V = """/dev/dsk/c1t0d0s0 on / type ufs read/write/setuid/devices/logging/dev=1980000 on Fri Jul  5 11:13:05 2013
rpool/ldap on /ldap type zfs read only/setuid/devices/exec/xattr/noatime/dev=4010005 on Mon Jul  8 09:00:00 2013
"""
SOLARIS = "/ldap on rpool/ldap read/write/setuid/devices/xattr/atime/dev=4010005 on Mon Jul  8 09:00:00 2013\n"


def table(text: str | bytes) -> MountTable:
    (found,) = facts_of(text)
    assert isinstance(found, MountTable)
    assert found.origin.not_understood == 0
    return found


def test_proc_mounts() -> None:
    found = table(PROC)
    assert found.mounts[2] == Mount(
        mount_point="/srv/my ldap", source="/dev/mapper/vg-db", fs_type="ext4", super_options=("rw",)
    )
    assert found.mounts[1].super_options == ("rw", "relatime", "errors=remount-ro")
    assert (found.complete, found.shows_atime) == (True, True)


def test_an_old_mtab_does_not_show_access_times() -> None:
    assert not table(OLD_MTAB).shows_atime


def test_fstab_lists_what_is_to_be_mounted_and_is_no_evidence() -> None:
    assert recognise(head_of("fstab", FSTAB.encode(), whole=True)) is None


def test_mnttab_of_solaris() -> None:
    root, ldap = table(MNTTAB).mounts
    assert (root.source, root.mount_point, root.fs_type) == ("/dev/dsk/c0t0d0s0", "/", "ufs")
    assert (ldap.source, ldap.fs_type, ldap.super_options[4]) == ("rpool/ldap", "zfs", "atime")
    assert not table(MNTTAB).shows_atime


def test_mount_of_linux() -> None:
    found = table(PRINTED)
    assert [mount.mount_point for mount in found.mounts] == ["/proc", "/", "/srv/two words"]
    assert found.mounts[2].source == "//nas/share"
    assert found.mounts[1].super_options == ("rw", "relatime", "errors=remount-ro")
    assert found.shows_atime


def test_mount_of_solaris() -> None:
    root, ldap = table(SOLARIS_V).mounts
    assert (root.source, root.mount_point, root.fs_type) == ("/dev/dsk/c1t0d0s0", "/", "ufs")
    assert root.super_options == ("rw", "setuid", "devices", "logging", "dev=1980000")
    assert (ldap.super_options[0], ldap.super_options[-2]) == ("ro", "noatime")
    (plain,) = table(SOLARIS).mounts
    assert (plain.mount_point, plain.source, plain.fs_type) == ("/ldap", "rpool/ldap", "")


def findmnt(*nodes: dict[str, Any]) -> str:
    return json.dumps({"filesystems": nodes}, indent=3)


def test_findmnt_is_read_from_the_root_down() -> None:
    child = {
        "target": "/srv/ldap",
        "source": "/dev/sdb[/slapd/db]",
        "fstype": "ext4",
        "options": "rw",
        "maj:min": "8:16",
    }
    root = {"target": "/", "source": "/dev/sda1", "fstype": "ext4", "options": "rw,relatime", "children": [child]}
    found = table(findmnt(root))
    assert found.mounts == (
        Mount(mount_point="/", source="/dev/sda1", fs_type="ext4", super_options=("rw", "relatime")),
        Mount(
            mount_point="/srv/ldap", source="/dev/sdb", fs_type="ext4", super_options=("rw",), device="8:16",
            root="/slapd/db",
        ),
    )  # fmt: skip
    assert (found.complete, found.shows_atime) == (True, True)


def test_findmnt_of_fstab_is_not_taken_for_mounts() -> None:
    wanted = {"target": "/srv/ldap", "source": "UUID=1", "fstype": "ext4", "options": "defaults,noatime"}
    assert facts_of(findmnt(wanted)) == []


@pytest.mark.parametrize("text", ["", "[", "[[]]", "[" * 100_000, '{"filesystems": 3}', '{"filesystems": [3, null]}'])
def test_other_json_is_no_table(text: str) -> None:
    assert facts_of(text, form=FINDMNT) == []


@pytest.mark.parametrize("name", ["proc_mounts.txt", "mount.txt", "findmnt.json"])
def test_captures_agree_with_mountinfo(captures: Path, name: str) -> None:
    for path in sorted((captures / "storage").glob(f"*/{name}")):
        (kernel,) = facts_of((path.parent / "mountinfo.txt").read_bytes())
        for read, expected in zip(table(path.read_bytes()).mounts, kernel.mounts, strict=True):
            assert (read.mount_point, read.source, read.fs_type) == (
                expected.mount_point,
                expected.source,
                expected.fs_type,
            )
            options = {*expected.options, *expected.super_options}
            assert {*read.options, *read.super_options} == options, path


NAMES = st.text(st.sampled_from("abz09-_. \\é"), min_size=1, max_size=12)
OPTIONS = st.lists(st.from_regex(r"[a-z_]{1,9}(=[^,\s\"\\()]{1,9})?", fullmatch=True), max_size=4)


@given(st.lists(st.tuples(NAMES, NAMES, OPTIONS), min_size=1, max_size=5))
def test_what_linux_writes_is_read_back(rows: list[tuple[str, str, list[str]]]) -> None:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\134").replace(" ", "\\040")

    expected = [
        Mount(mount_point=f"/{point}", source=source, fs_type="ext4", super_options=("rw", *options))
        for source, point, options in rows
    ]
    texts = [
        (PROC_MOUNTS, "".join(f"{escaped(s)} /{escaped(p)} ext4 {','.join(['rw', *o])} 0 0\n" for s, p, o in rows)),
        (MOUNT, "".join(f"{s} on /{p} type ext4 ({','.join(['rw', *o])})\n" for s, p, o in rows)),
    ]
    for form, text in texts:
        assert [mount for found in facts_of(text, form=form) for mount in found.mounts] == expected
