"""What is not known has the command that shows it, and no text of the evidence can become part of a command."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import storage_site
from ldapdiag.analysis.storage.server_storage import ServerStorage
from ldapdiag.diagnosis import diagnose
from ldapdiag.evidence.storage.settings import Role
from ldapdiag.report.storage.as_data import PLACEHOLDER, folder_of, unknowns


def joined(*more: object, whole: bool) -> ServerStorage:
    (found,) = diagnose(storage_site.bundle(*more, whole=whole), ()).facts.every(ServerStorage)
    return found


def test_of_everything_read_is_only_the_sync_time() -> None:
    assert [one.what for one in unknowns(joined(whole=True), frozenset())] == ["the sync time of /srv/ldap"]
    assert unknowns(joined(whole=True), frozenset({"/srv/ldap"})) == []


def test_of_a_mount_table_alone_names_a_command_for_each() -> None:
    found = {one.what.partition(":")[0]: one.how for one in unknowns(joined(whole=False), frozenset())}
    assert "grep -H '' /proc/fs/ext4/*/options" in found["whether /srv/ldap uses barriers"]
    assert "lsblk -O -J" in found["the disks of /srv/ldap"]
    assert found["the free space of /srv/ldap"] == "df -PkT /srv/ldap/db > df.txt"
    assert found["the extents of the files on /srv/ldap"] == "filefrag /srv/ldap/db/* > filefrag.txt"
    assert found["the sync time of /srv/ldap"].startswith("ldapdiag storage --probe /srv/ldap, ")
    assert "dmesg" in found["I/O errors that the kernel reported"]


@pytest.mark.parametrize(
    ("paths", "mount_point", "shown"),
    [
        (["/srv/ldap/db"], "/srv/ldap", "/srv/ldap"),
        (["/srv/ldap/db", "/srv/ldap/db/changelog"], "/srv/ldap", "/srv/ldap"),
        (["/srv/ldap/db/userRoot", "/srv/ldap/db"], "/", "/srv/ldap"),
        (["/srv/ldap"], "/srv/ldap", PLACEHOLDER),
        (["/srv/ldap/db", "/srv/ldap"], "/srv/ldap", PLACEHOLDER),
    ],
)
def test_a_probe_is_beside_the_folders_of_the_server(paths, mount_point, shown) -> None:
    placed = tuple((Role.DATABASE, path) for path in paths)
    volume = replace(joined(whole=False).volumes[0], paths=placed, mount_point=mount_point)
    storage = replace(joined(whole=False), volumes=(volume,), unplaced=())
    (how,) = [one.how for one in unknowns(storage, frozenset()) if one.what.startswith("the sync time")]
    assert how.startswith(f"ldapdiag storage --probe {shown}, ")


def test_a_volume_of_access_logs_alone_has_none() -> None:
    assert [one.what for one in unknowns(joined(whole=False), frozenset()) if " / " in f"{one.what} "] == []


@pytest.mark.parametrize("path", ["/srv/a;reboot", "/srv/a\nreboot", "/srv/$(reboot)", "/srv/`reboot`", "-rf", "/a'b"])
def test_a_path_that_is_none_is_not_in_a_command(path: str) -> None:
    volume = joined(whole=False).volumes[0]
    assert folder_of(replace(volume, paths=((Role.DATABASE, path),), mount_point=path)) == PLACEHOLDER


@given(st.text(max_size=40).map(lambda text: f"/{text}"))
def test_a_path_is_one_word_of_a_shell(path: str) -> None:
    volume = replace(joined(whole=False).volumes[0], paths=((Role.DATABASE, path),), mount_point="/")
    assert shlex.split(folder_of(volume)) in ([path], ["/"])
