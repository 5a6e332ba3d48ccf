"""Remedies for volumes: what needs an unmounted file system, and the root of a host, which cannot be unmounted."""

from __future__ import annotations

from functools import partial

import pytest

from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.volumes.layout_remedies import use_relatime
from ldapdiag.servers.volumes.volume_remedies import (
    add_directory_index,
    add_journal,
    on_its_host,
    use_barriers,
    use_btrfs_barriers,
    use_ordered_journal,
)

OFFLINE = {
    "has_journal": add_journal,
    "dir_index": add_directory_index,
    "data=writeback": partial(use_ordered_journal, device="/dev/sda1", in_superblock=False),
    "journal_data_writeback": partial(use_ordered_journal, device="/dev/sda1", in_superblock=True),
}


@pytest.mark.parametrize("option", OFFLINE)
def test_the_root_is_not_to_be_unmounted(option) -> None:
    remedy = OFFLINE[option]("ldap", "/")
    assert remedy.kind is RemedyKind.ADVICE
    assert option in remedy.text
    assert "unmount it" not in remedy.text + remedy.undo
    assert "rescue system" in remedy.text or "restart the host" in remedy.text
    assert "The host is not available" in remedy.risk


@pytest.mark.parametrize("option", OFFLINE)
@pytest.mark.parametrize("mount_point", ["/var", "/srv/ldap"])
def test_another_volume_is_unmounted_while_the_server_is_stopped(option, mount_point) -> None:
    remedy = OFFLINE[option]("ldap", mount_point)
    assert f"stop the server and what else uses {mount_point}, unmount it, " in remedy.text
    assert option in remedy.text
    assert "rescue system" not in remedy.text
    assert "The server is not available" in remedy.risk


BARRIERS = partial(use_barriers, "ldap", device="/dev/sda1", in_superblock=False)
IN_FSTAB = [
    *(
        made
        for point in ("/srv/ldap", "/a b")
        for made in (
            BARRIERS(point),
            use_btrfs_barriers("ldap", point),
            use_ordered_journal("ldap", point, "/dev/sda1", in_superblock=False),
            add_journal("ldap", point),
        )
    ),
    use_ordered_journal("ldap", "/", "/dev/sda1", in_superblock=False),
    use_relatime("ldap", "/srv/ldap", ""),
    on_its_host(BARRIERS("/srv/ldap"), "/dev/sda1"),
]


@pytest.mark.parametrize("remedy", IN_FSTAB, ids=map(str, range(len(IN_FSTAB))))
def test_a_change_of_fstab_is_verified_before_the_next_boot(remedy) -> None:
    assert "fstab" in remedy.text
    assert remedy.text.rindex("findmnt --verify") > remedy.text.rindex("fstab")
