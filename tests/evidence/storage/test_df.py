"""The space of file systems, as df and stat -f print it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import facts
from ldapdiag.analysis.storage.host_storage import HostDevices, HostStorage
from ldapdiag.evidence.storage import FileSystemSpace, Mount, Space
from ldapdiag.evidence.storage.df import FORMAT as DF
from ldapdiag.evidence.storage.sizes import bytes_of
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

WRAPPED = """Filesystem           1K-blocks      Used Available Use% Mounted on
/dev/mapper/vg_with_a_long_name-database
                        100000     40000     60000  40% /srv/my ldap
nas:/export              200      100      100  50% /home
"""
SOLARIS = """Filesystem            kbytes    used   avail capacity  Mounted on
rpool/ldap           41037824  102400 30000000     1%    /ldap
"""
ROUNDED = """Filesystem      Size  Used Avail Use% Mounted on
/dev/sda1       1.5G  512M  1.0G  33% /
"""


def rows(text: str | bytes) -> tuple[Space, ...]:
    (found,) = facts_of(text)
    assert isinstance(found, FileSystemSpace)
    assert found.origin.not_understood == 0
    return found.rows


def test_captures_of_df(captures: Path) -> None:
    (volume,) = rows((captures / "storage" / "ext4-default" / "df_T.txt").read_bytes())
    assert volume == Space(
        mount_point="/srv/ldap/vol", source="/dev/loop0", fs_type="ext4",
        total_bytes=296_847 << 10, used_bytes=13_335 << 10, free_bytes=263_032 << 10,
    )  # fmt: skip
    (remote,) = rows((captures / "storage" / "uml-nfs-vers-4-2" / "df_T.txt").read_bytes())
    assert (remote.source, remote.fs_type) == ("127.0.0.1:/", "nfs4")


def test_stat_f_shows_what_df_shows(captures: Path) -> None:
    for path in sorted((captures / "storage").glob("*/stat_f.txt")):
        (volume,) = rows(path.read_bytes())
        (same,) = rows((path.parent / "df_T.txt").read_bytes())
        assert (volume.mount_point, volume.total_bytes, volume.free_bytes) == (
            same.mount_point,
            same.total_bytes,
            same.free_bytes,
        )
        printed = re.search(r"Inodes: Total: (\d+) +Free: (\d+)", path.read_text())
        assert (str(volume.total_inodes), str(volume.free_inodes)) == printed.groups()


def test_a_wrapped_line_is_one_row() -> None:
    volume, home = rows(WRAPPED)
    assert (volume.source, volume.mount_point) == ("/dev/mapper/vg_with_a_long_name-database", "/srv/my ldap")
    assert (volume.total_bytes, home.mount_point) == (100_000 << 10, "/home")


def test_df_of_solaris_and_rounded_sizes() -> None:
    assert rows(SOLARIS)[0].free_bytes == 30_000_000 << 10
    assert rows(ROUNDED)[0].total_bytes == 3 << 29


@pytest.mark.parametrize(
    ("unit", "size"),
    [("512", 512), ("1024", 1024), ("1K", 1024), ("4K", 4096), ("1M", 1 << 20), ("1048576", 1 << 20), ("1G", 1 << 30),
     ("1073741824", 1 << 30), ("1B", 1)],
)  # fmt: skip
def test_amounts_count_blocks_of_the_size_in_the_header(unit: str, size: int) -> None:
    (row,) = rows(f"Filesystem  {unit}-blocks  Used Available Use% Mounted on\n/dev/sda  300  200  100  67% /srv\n")
    assert (row.total_bytes, row.used_bytes, row.free_bytes) == (300 * size, 200 * size, 100 * size)


def test_less_than_nothing_is_no_space() -> None:
    (row,) = rows("Filesystem  1024-blocks  Used Available Capacity Mounted on\n/dev/sda  300  290  -20  107% /srv\n")
    assert row.free_bytes == 0


INODES = [
    """Filesystem     Inodes IUsed IFree IUse% Mounted on
/dev/loop0      81920   319 81601    1% /srv/ldap/vol
""",
    """Filesystem     Type Inodes IUsed IFree IUse% Mounted on
/dev/loop0     ext4  81920   319 81601    1% /srv/ldap/vol
""",
    """Filesystem              Inodes      Used Available Use% Mounted on
/dev/loop0               81920       319     81601   1% /srv/ldap/vol
""",
]
"""As GNU and busybox print them."""


@pytest.mark.parametrize("text", INODES)
def test_df_of_inodes_shows_no_space(text: str) -> None:
    (row,) = rows(text)
    assert (row.mount_point, row.total_inodes, row.free_inodes) == ("/srv/ldap/vol", 81_920, 81_601)
    assert (row.total_bytes, row.used_bytes, row.free_bytes) == (None, None, None)


def test_space_and_inodes_of_one_volume_are_read_from_one_file(captures: Path) -> None:
    space, inodes = rows((captures / "storage" / "ext4-default" / "df_T.txt").read_text() + INODES[1])
    assert (space.total_bytes, space.total_inodes) == (296_847 << 10, None)
    assert (inodes.total_bytes, inodes.total_inodes) == (None, 81_920)
    storage = HostStorage(
        host="ldap",
        tables=(),
        devices=HostDevices(()),
        spaces=(FileSystemSpace(origin=facts.origin(), rows=(inodes, space)),),
    )
    both = storage.space_of(Mount(mount_point="/srv/ldap/vol", source="/dev/loop0", fs_type="ext4"))
    assert both == replace(space, total_inodes=81_920, free_inodes=81_601)


def test_a_file_system_without_a_number_of_inodes_has_none() -> None:
    text = INODES[0].replace("81920   319 81601    1%", "    -     -     -     -")
    (row,) = rows(text)
    assert (row.total_inodes, row.free_inodes, row.total_bytes) == (0, None, None)


SIZES = [("1024", 1024), ("4,0K", 4096), ("1.5T", 3 << 39), ("128KiB", 1 << 17), ("-", None), ("", None)]


@pytest.mark.parametrize(("text", "expected"), SIZES)
def test_sizes(text: str, expected: int | None) -> None:
    assert bytes_of(text) == expected


POINTS = st.from_regex(r"/[a-z0-9%-]{1,8}( [a-z0-9%]{1,8}){0,2}", fullmatch=True)


@given(st.lists(st.tuples(POINTS, st.integers(0, 1 << 50), st.integers(0, 1 << 50)), min_size=1, max_size=4))
def test_what_df_writes_is_read_back(volumes: list[tuple[str, int, int]]) -> None:
    text = "Filesystem     Type 1024-blocks    Used Available Capacity Mounted on\n" + "".join(
        f"/dev/sda{at}   ext4  {used + free} {used} {free}  12% {point}\n"
        for at, (point, used, free) in enumerate(volumes)
    )
    (found,) = facts_of(text, form=DF)
    assert [(row.mount_point, row.used_bytes, row.free_bytes) for row in found.rows] == [
        (point, used << 10, free << 10) for point, used, free in volumes
    ]
