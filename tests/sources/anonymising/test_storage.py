"""Evidence of storage keeps its meaning and loses its names when a capture is anonymised."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conftest import CAPTURES
from ldapdiag.evidence.formats import HEAD_BYTES, head_of, recognise
from ldapdiag.evidence.storage import KernelErrors
from ldapdiag.sources.anonymising.contents import anonymised_content
from ldapdiag.sources.anonymising.pseudonyms import Pseudonyms
from ldapdiag.sources.anonymising.storage import FORMATS
from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

MOUNTS = rb"""21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
64 21 253:0 /zorro/db /zorrodata/my\040zorro rw,noatime - ext4 /dev/mapper/vgzorro-db rw,nobarrier
65 21 0:52 / /srv/zorro rw - nfs4 nas1.zorro.example:/export/zorro rw,vers=4.2,hard,addr=10.77.1.9
66 21 0:60 / /merged rw - overlay overlay rw,lowerdir=/srv/zorro/a:/srv/zorro/b,upperdir=/zorrodata/up
67 21 0:61 / /pool rw - zfs zorropool/ldap rw,xattr
"""
SYSFS = b"""/sys/block/dm-0/dm/name:vgzorro-db
/sys/block/dm-0/dm/uuid:CRYPT-LUKS2-0123456789abcdef-vgzorro-db
/sys/block/dm-0/queue/write_cache:write back
/sys/block/loop0/loop/backing_file:/zorrodata/images/zorro 1.img
/sys/block/dm-0/slaves/sda1
"""
LSBLK = b"""{"blockdevices": [{"name": "vgzorro-db", "kname": "dm-0", "type": "lvm", "label": "zorro",
"maj:min": "253:0", "uuid": "7ad05904-ad2c-4423-8cf0-16b720a13f3d",
"path": "/dev/mapper/vgzorro-db", "mountpoints": ["/srv/my zorro"]}]}
"""
ZFS = b"zorropool/ldap\tmountpoint\t/zorrodata\tlocal\nzorropool/ldap\tsync\tdisabled\tlocal\n"
KERNEL = b"""Nov 22 04:49:09 zorro1 kernel: EXT4-fs error (device sda1): ext4_find_entry:1436: comm zorrod: reading
Nov 22 04:49:09 zorro1 kernel: nfs: server nas.zorro.example not responding, timed out
"""
TUNE2FS = b"""Filesystem volume name:   zorro
Last mounted on:          /zorrodata/db
Filesystem UUID:          7ad05904-ad2c-4423-8cf0-16b720a13f3d
Filesystem magic number:  0xEF53
Filesystem features:      has_journal
Default mount options:    nobarrier
"""
NAMED = {
    "mountinfo.txt": MOUNTS, "block-devices.txt": SYSFS, "lsblk.json": LSBLK, "zfs.txt": ZFS, "kernel.txt": KERNEL,
    "tune2fs.txt": TUNE2FS,
    "df.txt": b"Filesystem Type 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 ext4 9 1 8 12% /my zorro\n",
    "filefrag.txt": b"/zorrodata/db/zorro.mdb: 3 extents found\n",
    "file-extents.txt": b"/zorrodata/db/data.mdb\t9\t9\t-\tpermission denied\n",
    "directory-sizes.txt": b"/zorrodata/db\t9\t/mnt/zorro/db\t\n",
    "findmnt.json": b'{"filesystems": [{"target": "/my zorro", "source": "//zorro/x", "options": "rw,relatime"}]}\n',
    "xfs-info.txt": b"meta-data=/dev/mapper/zorro-db isize=512 agcount=4\nlog =internal log bsize=4096 blocks=9\n",
    "probe.json": b"""{"ldapdiag-storage-probe": 1, "directory": "/zorrodata/my zorro", "mount_point": "/zorrodata",
"fs_type": "ext4", "device": "8:1", "begun": "2026-11-23T06:00:00+00:00", "ended": "2026-11-23T06:00:09+00:00",
"written_bytes": 9, "syncs": [], "commits": [], "files": [], "access_times": null, "stopped_because": ""}
""",
    "mount.txt": b"/dev/mapper/vgzorro-db on /my zorro type ext4 (rw,relatime)\n",
    "mounts.txt": b"/dev/mapper/vgzorro-db /my\\040zorro ext4 rw,relatime 0 0\n",
    "stat.txt": b'  File: "/my zorro"\n    ID: 0        Namelen: 255     Type: nfs\n'
    b"Block size: 9 Fundamental block size: 9\nBlocks: Total: 9 Free: 9 Available: 9\n",
}  # fmt: skip


def anonymised(content: bytes, name: str, anonymiser: TextAnonymiser | None = None) -> bytes:
    anonymiser = anonymiser or TextAnonymiser(Pseudonyms(b"secret"))
    anonymised_content(content, f"ldap/{name}", anonymiser)  # twice, as in a capture
    return anonymised_content(content, f"ldap/{name}", anonymiser)


@pytest.mark.parametrize("name", NAMED)
def test_names_are_lost_and_the_format_is_kept(name: str) -> None:
    content = anonymised(NAMED[name], name)
    assert b"zorro" not in content
    before, after = facts_of(NAMED[name]), facts_of(content)
    assert [type(fact) for fact in after] == [type(fact) for fact in before]
    assert all(fact.origin.not_understood == 0 for fact in after)


def test_every_format_of_storage_has_names_to_lose() -> None:
    known = {recognise(head_of(name, content, whole=True)) for name, content in NAMED.items()}
    assert {form.name for form in known if form} == FORMATS


def test_a_mount_keeps_all_but_its_names() -> None:
    (before,), (after,) = facts_of(MOUNTS), facts_of(anonymised(MOUNTS, "mountinfo.txt"))
    for one, other in zip(before.mounts, after.mounts, strict=True):
        assert (one.fs_type, one.device, one.options) == (other.fs_type, other.device, other.options)
        assert [option.partition("=")[0] for option in one.super_options] == [
            option.partition("=")[0] for option in other.super_options
        ]
    assert after.mounts[0] == before.mounts[0]
    assert " " in after.mounts[1].mount_point
    assert after.mounts[1].super_options == ("rw", "nobarrier")


def test_a_path_is_the_same_in_the_configuration() -> None:
    anonymiser = TextAnonymiser(Pseudonyms(b"secret"))
    (table,) = facts_of(anonymised(MOUNTS, "mountinfo.txt", anonymiser))
    text = anonymised_content(b"directory /zorrodata/up/db\n", "ldap/slapd.conf", anonymiser).decode()
    upper = table.mounts[3].super_options[-1].partition("=")[2]
    assert upper in text
    mapper = anonymised(SYSFS, "block-devices.txt", anonymiser).decode()
    assert f"dm/name:{table.mounts[1].source.removeprefix('/dev/mapper/')}\n" in mapper


@pytest.mark.parametrize(
    "path", sorted(path for path in (CAPTURES / "storage").rglob("*.txt")), ids=lambda path: "/".join(path.parts[-2:])
)
def test_captures_keep_their_meaning(path: Path) -> None:
    content = path.read_bytes()
    form = recognise(head_of(path.name, content[:HEAD_BYTES], whole=True))
    assert form
    after = facts_of(anonymised(content, path.name), form=form)

    assert [measured(fact) for fact in after] == [measured(fact) for fact in facts_of(content, form=form)]


def measured(fact: Any) -> Any:
    """Return a fact without its names."""
    if isinstance(fact, KernelErrors):
        return fact.lines_read, [(one.device, one.what, one.since_boot_seconds, one.mounted) for one in fact.errors]
    names = ("path", "last_mounted_on", "uuid", "device", "datasets", "mounts", "rows", "devices")
    bare = {name: None for name in names if hasattr(fact, name)}
    return replace(fact, **bare, origin=replace(fact.origin, samples=()))
