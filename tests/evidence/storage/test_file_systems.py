"""What file systems state about themselves: options of ext4 in force, superblocks, XFS' geometry, ZFS' properties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.document import Document
from ldapdiag.evidence.formats import head_of, recognise
from ldapdiag.evidence.storage import EffectiveOptions, Superblock, XfsGeometry, ZfsProperties
from ldapdiag.evidence.storage.ext4_options import FORMAT as EXT4_OPTIONS
from ldapdiag.evidence.storage.superblock import FORMAT as SUPERBLOCK
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

COLLECTED = """/proc/fs/ext4/dm-0/options:rw
/proc/fs/ext4/dm-0/options:nobarrier
/proc/fs/ext4/dm-0/options:data=writeback
/proc/fs/ext4/sda1/options:ro
/proc/fs/ext4/sda1/options:barrier
/proc/fs/ext4/sda1/options:data=ordered
"""
ZFS = """NAME           PROPERTY    VALUE                  SOURCE
tank/my ldap   sync        disabled               local
tank/my ldap   creation    Sat Feb  2 11:09 2013  -
tank           mountpoint  /tank                  default
"""
ZFS_H = "tank/ldap\tsync\tstandard\tdefault\ntank/ldap\tatime\toff\tinherited from tank\n"


def test_options_of_several_devices() -> None:
    first, second = facts_of(COLLECTED)
    assert (first.device, first.options) == ("dm-0", ("rw", "nobarrier", "data=writeback"))
    assert (second.device, second.options) == ("sda1", ("ro", "barrier", "data=ordered"))


def test_options_without_their_device(captures: Path) -> None:
    content = (captures / "storage" / "ext4-tune2fs-nobarrier" / "proc_fs_ext4_options.txt").read_bytes()
    (found,) = facts_of(content)
    assert isinstance(found, EffectiveOptions)
    assert (found.device, found.options[0], "nobarrier" in found.options) == ("", "rw", True)
    assert EXT4_OPTIONS.read
    document = Document(path="o.txt", source=content.decode().splitlines(), asked="cat /proc/fs/ext4/sdb1/options")
    assert [fact.device for fact in EXT4_OPTIONS.read(document)] == ["sdb1"]


def test_a_part_of_the_options_is_none() -> None:
    assert facts_of("/proc/fs/ext4/dm-0/options:rw\n/proc/fs/ext4/dm-0/options:commit=5\n") == []


def test_options_after_headings_of_tail() -> None:
    text = "==> /proc/fs/ext4/sda1/options <==\nrw\nbarrier\n\n==> /proc/fs/ext4/sdb1/options <==\nrw\nnobarrier\n"
    assert [(one.device, one.options[1]) for one in facts_of(text)] == [("sda1", "barrier"), ("sdb1", "nobarrier")]


@given(
    st.lists(
        st.from_regex(r"[a-z][a-z0-9_]{1,12}(=[^\s]{1,8})?", fullmatch=True).filter(lambda o: o not in {"rw", "ro"})
    )
)
def test_all_options_are_read_back(options: list[str]) -> None:
    expected = ("rw", "barrier", *options)
    text = "".join(f"/proc/fs/ext4/sda1/options:{one}\n" for one in expected)
    assert [one.options for one in facts_of(text, form=EXT4_OPTIONS)] == [expected]


def test_the_superblock_shows_its_defaults(captures: Path) -> None:
    (found,) = facts_of((captures / "storage" / "ext4-tune2fs-nobarrier" / "tune2fs_l.txt").read_bytes())
    assert isinstance(found, Superblock)
    assert found.default_options == ("user_xattr", "acl", "nobarrier")
    assert (found.last_mounted_on, found.block_bytes, found.error_count) == ("/srv/ldap/vol", 1024, None)
    assert {"dir_index", "has_journal"} <= found.features
    assert (found.device, found.origin.not_understood) == ("", 0)
    (same,) = facts_of((captures / "storage" / "ext4-tune2fs-nobarrier" / "dumpe2fs_h.txt").read_bytes())
    assert (same.uuid, same.default_options, same.features) == (found.uuid, found.default_options, found.features)


def test_several_superblocks_with_their_commands_and_errors(captures: Path) -> None:
    text = (captures / "storage" / "ext4-default" / "tune2fs_l.txt").read_text()
    errors = "FS Error count:           3\nFirst error time:         Sun Nov 22 04:49:07 2026\n"
    session = f"# tune2fs -l /dev/sda1\n{text}{errors}\n# tune2fs -l /dev/mapper/vg-db\n{text}"
    first, second = facts_of(session, form=SUPERBLOCK)
    assert (first.device, first.error_count, first.first_error) == ("/dev/sda1", 3, "Sun Nov 22 04:49:07 2026")
    assert (second.device, second.error_count) == ("/dev/mapper/vg-db", None)


def test_the_geometry_of_xfs(captures: Path) -> None:
    (found,) = facts_of((captures / "storage" / "xfs-default" / "xfs_info.txt").read_bytes())
    assert isinstance(found, XfsGeometry)
    assert (found.device, found.log, found.block_bytes, found.log_blocks) == ("/dev/loop0", "internal log", 4096, 16384)
    assert found.origin.not_understood == 0


def test_the_properties_of_zfs() -> None:
    (found,) = facts_of(ZFS)
    assert isinstance(found, ZfsProperties)
    assert found.datasets == {
        "tank/my ldap": {"sync": "disabled", "creation": "Sat Feb  2 11:09 2013"},
        "tank": {"mountpoint": "/tank"},
    }
    (fields,) = facts_of(ZFS_H)
    assert fields.datasets == {"tank/ldap": {"sync": "standard", "atime": "off"}}
    assert (found.origin.not_understood, fields.origin.not_understood) == (0, 0)


def test_other_tables_with_tabulators_are_none_of_zfs() -> None:
    assert recognise(head_of("list.txt", b"name\tkey\tvalue\tnowhere\n", whole=True)) is None
