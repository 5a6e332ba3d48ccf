"""/proc/PID/mountinfo: real rows, rows as the kernel writes them, and text that is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.storage import Mount, MountTable
from ldapdiag.evidence.storage.mount_options import MOST_MOUNTS
from ldapdiag.evidence.storage.mountinfo import FORMAT
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

NAMESPACE = """21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
64 21 0:52 /@ldap /srv/my\\040ldap rw,noatime shared:30 master:2 - btrfs /dev/sdb rw,space_cache=v2,subvol=/@ldap
70 21 0:60 / /srv/files rw - fuse.sshfs  rw,context="system_u:object_r:x:s0:c1,c2",user_id=0
"""


def table(text: str) -> MountTable:
    (found,) = facts_of(text, form=FORMAT)
    assert isinstance(found, MountTable)
    return found


def test_a_namespace_is_read_row_by_row() -> None:
    found = table(NAMESPACE)
    root, volume, files = found.mounts
    assert (root.mount_point, root.source, root.fs_type, root.device) == ("/", "/dev/sda1", "ext4", "8:1")
    assert (root.options, root.super_options) == (("rw", "relatime"), ("rw", "errors=remount-ro"))
    assert (volume.mount_point, volume.root, volume.super_options[1]) == ("/srv/my ldap", "/@ldap", "space_cache=v2")
    assert (files.source, files.super_options[1]) == ("", 'context="system_u:object_r:x:s0:c1,c2"')
    assert (found.complete, found.shows_atime, found.origin.not_understood) == (True, True, 0)


class TestAMountBelowACoveredFolder:
    ROOT = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    UPPER = "60 22 0:40 / /srv/ldap rw - tmpfs tmpfs rw\n"

    @pytest.mark.parametrize("below", ["/srv/ldap/db", "/srv/ldap/a/b/c"])
    def test_is_left_out_wherever_it_stands(self, below) -> None:
        lower = f"50 22 8:16 / {below} rw - xfs /dev/sdb rw\n51 50 8:17 / {below}/x rw - xfs /dev/sdc rw\n"
        for text in (self.ROOT + lower + self.UPPER, self.UPPER + lower + self.ROOT):
            assert {one.mount_point for one in table(text).mounts} == {"/", "/srv/ldap"}

    def test_is_kept_if_it_was_mounted_later(self) -> None:
        later = "61 60 8:16 / /srv/ldap/db rw - xfs /dev/sdb rw\n62 22 8:17 / /srv/ldapx/db rw - xfs /dev/sdc rw\n"
        assert len(table(later + self.ROOT + self.UPPER).mounts) == 4

    def test_is_not_sought_for_ever_among_mounts_that_are_their_own_parents(self) -> None:
        assert len(table("7 8 8:1 / /a rw - ext4 /dev/sda1 rw\n8 7 8:2 / /b rw - ext4 /dev/sda2 rw\n").mounts) == 2


def test_rows_without_the_root_are_an_excerpt() -> None:
    assert not table("\n".join(NAMESPACE.splitlines()[1:])).complete


@pytest.mark.parametrize(
    ("folder", "row"),
    [
        ("ext4-strictatime", ("ext4", "7:0", "/", ("rw",))),
        ("ext4-tune2fs-nobarrier", ("ext4", "7:0", "/", ("rw",))),
        ("overlay-volatile", ("overlay", "0:40", "/", None)),
        ("uml-lvm-linear-ext4", ("ext4", "254:0", "/", ("rw",))),
        ("bind-subfolder-ext4", ("ext4", "7:0", "/slapd/db", ("rw",))),
    ],
)
def test_captures(captures: Path, folder: str, row: tuple[object, ...]) -> None:
    (found,) = facts_of((captures / "storage" / folder / "mountinfo.txt").read_bytes())
    mount = found.mounts[-1]
    assert (mount.fs_type, mount.device, mount.root) == row[:3]
    assert row[3] is None or mount.super_options == row[3]
    assert ("relatime" in mount.options) == (folder != "ext4-strictatime")
    assert found.origin.not_understood == 0


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]) | st.just(" "), min_size=1)
OPTIONS = st.lists(st.from_regex(r"[a-z_]{1,9}(=[^,\s\"\\]{1,9})?", fullmatch=True), min_size=1, max_size=5)


def escaped(name: str) -> str:
    return "".join(f"\\{ord(sign):03o}" if sign in ' \t\n\\#"' else sign for sign in name)


@given(st.lists(st.tuples(NAMES, NAMES, OPTIONS, OPTIONS, st.lists(st.sampled_from(["shared:1", "master:22"])))))
def test_what_the_kernel_writes_is_read_back(rows: list[tuple[str, str, list[str], list[str], list[str]]]) -> None:
    """Each is mounted on the one before, so that none covers another."""
    text = "".join(
        f"{20 + at} {19 + at} 8:{at} / /{escaped(point)} {','.join(own)} {' '.join([*tags, '-'])} "
        f"ext4 {escaped(source)} {','.join(shared)}\n"
        for at, (point, source, own, shared, tags) in enumerate(rows)
    )
    expected = [
        Mount(
            mount_point=f"/{point}", source=source, fs_type="ext4", device=f"8:{at}", root="/",
            options=tuple(own), super_options=tuple(shared),
        )
        for at, (point, source, own, shared, _) in enumerate(rows)
    ]  # fmt: skip
    assert [mount for found in facts_of(text, form=FORMAT) for mount in found.mounts] == expected


def test_bad_lines_are_counted() -> None:
    assert table(NAMESPACE + "no row\n64 21 0:52 / /srv\n").origin.not_understood == 2


def test_a_table_beyond_the_limit_is_not_used() -> None:
    rows = NAMESPACE + "64 21 0:52 / /m rw - tmpfs tmpfs rw\n" * MOST_MOUNTS
    assert facts_of(rows, form=FORMAT) == []
