from __future__ import annotations

import pytest

from ldapdiag.analysis.hosts.layout import Layout, lay_out

LDAP, APP, OTHER = {"10.77.1.2"}, {"10.77.2.2"}, {"10.88.1.2"}


def hosts(layout: Layout) -> set[str]:
    return set(layout.hosts.values())


@pytest.mark.parametrize("pattern", ["/x/{}/ldap", "/x/ldap/{}", "/x/{}/site/ldap"])
@pytest.mark.parametrize(
    "names", [("snap1", "snap2", "snap10"), ("before", "during", "after"), ("10:00", "10:30", "11:00")]
)
def test_snapshots_of_a_host_are_numbered_in_order(pattern: str, names: tuple[str, ...]) -> None:
    folders = [pattern.format(name) for name in names]
    layout = lay_out(folders, dict.fromkeys(folders, LDAP))
    assert len(hosts(layout)) == 1
    assert [layout.numbers[folder] for folder in folders] == [1, 2, 3]
    assert {layout.name(folder) for folder in folders} == {"ldap"}
    assert not layout.unordered


def test_what_lies_beside_old_evidence_is_newer() -> None:
    layout = lay_out(["/x/ldap", "/x/ldap/old"], {})
    assert layout.numbers == {"/x/ldap/old": 1, "/x/ldap": 2}
    assert layout.name("/x/ldap/old") == "ldap"


def test_sites_are_no_snapshots() -> None:
    folders = ["/x/dc1/ldap", "/x/dc2/ldap"]
    layout = lay_out(folders, {folders[0]: LDAP, folders[1]: OTHER})
    assert hosts(layout) == set(folders)
    assert not layout.numbers


def test_folders_of_different_addresses_are_no_snapshots_whatever_their_names() -> None:
    folders = ["/x/old/ldap", "/x/new/ldap", "/x/old/fw", "/x/new/fw"]
    layout = lay_out(folders, {folders[0]: LDAP, folders[1]: OTHER})
    assert hosts(layout) == set(folders)


def test_numbers_are_snapshots_only_where_a_host_has_the_same_addresses() -> None:
    folders = ["/x/1/ldap", "/x/2/ldap", "/x/1/fw", "/x/2/fw"]
    assert hosts(lay_out(folders, {folders[0]: LDAP, folders[1]: LDAP})) == {"/x/ldap", "/x/fw"}
    assert hosts(lay_out(folders, {})) == set(folders)


def test_any_names_are_snapshots_where_two_hosts_have_the_same_addresses() -> None:
    folders = ["/x/a/ldap", "/x/b/ldap", "/x/a/app1", "/x/b/app1"]
    addresses = {folders[0]: LDAP, folders[1]: LDAP, folders[2]: APP, folders[3]: APP}
    layout = lay_out(folders, addresses)
    assert hosts(layout) == {"/x/ldap", "/x/app1"}
    assert layout.unordered == set(folders)
    assert hosts(lay_out(folders[:2], addresses)) == set(folders[:2])


def test_folders_named_by_near_times_are_one_snapshot_of_several_hosts() -> None:
    folders = [f"/x/{host}/2026-11-22T{at}" for at in ("10:0{}", "11:0{}") for host in ("ldap", "app1")]
    folders = [folder.format(number) for number, folder in enumerate(folders)]
    assert [lay_out(folders, {}).numbers[folder] for folder in folders] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    "inside", ["proc/net", "etc/dirsrv/slapd-a", "var/log/dirsrv/slapd-a", "sos_commands/networking", "etc", "proc/77"]
)
def test_the_tree_of_a_host_is_one_folder(inside: str) -> None:
    layout = lay_out([f"/x/sosreport-app1-2026-11-22-abcdefg/{inside}"], {})
    assert list(layout.roots.values()) == ["/x/sosreport-app1-2026-11-22-abcdefg"]
    assert layout.name(next(iter(layout.roots))) == "app1"


@pytest.mark.parametrize(
    "folder", ["/proc/net", "/var/log/dirsrv/slapd-a", "/x/proc/app1", "/x/etc/app1", "/x/var/log/app1"]
)
def test_other_folders_are_no_trees(folder: str) -> None:
    assert lay_out([folder], {}).root(folder) == folder


@pytest.mark.parametrize(
    ("folder", "host"),
    [
        ("sosreport-app1", "app1"),
        ("sosreport-my-host-01234567-2026-11-22-abcdefg", "my-host"),
        ("sosreport-ds1.01234-20261122", "ds1"),
    ],
)
def test_a_report_is_named_after_its_host(folder: str, host: str) -> None:
    assert lay_out([f"/x/{folder}/proc"], {}).name(f"/x/{folder}/proc") == host


def test_a_sequence_of_numbers_for_hosts_is_no_series() -> None:
    folders = ["/x/1/app", "/x/2/fw", "/x/3/app", "/x/4/ldap"]
    addresses = {folders[0]: APP, folders[2]: APP, folders[3]: LDAP}
    assert hosts(lay_out(folders, addresses)) == set(folders)


def test_hosts_beside_unnamed_snapshots_are_none() -> None:
    folders = ["/x/a/ldap", "/x/b/ldap", "/x/a/app1", "/x/b/app1", "/x/dns"]
    addresses = {**dict.fromkeys(folders[:2], LDAP), **dict.fromkeys(folders[2:4], APP), folders[4]: OTHER}
    assert hosts(lay_out(folders, addresses)) == {"/x/ldap", "/x/app1", "/x/dns"}


def test_an_archive_is_the_folder_that_it_unpacks_to() -> None:
    folders = ["/x/snap1.tar.gz/snap1/ldap", "/x/snap2.tgz/snap2/ldap", "/x/fw.tar/fw"]
    layout = lay_out(folders, {})
    assert [layout.host(folder) for folder in folders] == ["/x/ldap", "/x/ldap", "/x/fw"]
    assert [layout.numbers.get(folder) for folder in folders] == [1, 2, None]
    assert layout.name(folders[2]) == "fw"
