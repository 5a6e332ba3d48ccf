"""Layouts: the folders that people really send, with the findings of the incident in them."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from command import INCIDENT, diagnose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOSTS = ("ldap", "app1", "app2", "fw")
UNTIMED = shutil.ignore_patterns("captured-at*")


def report(named: Path) -> dict[str, Any]:
    return diagnose(named, "--format", "json").report


def ids(named: Path) -> list[str]:
    return [one["id"] for one in report(named)["findings"]]


@pytest.fixture(scope="module")
def expected() -> list[str]:
    """Return the findings of the incident where its folder is named."""
    found = ids(INCIDENT)
    assert any(one.startswith("ghost-connections") for one in found)
    return found


def deeper(root: Path) -> None:
    shutil.copytree(INCIDENT, root / "incident")


def two_deeper(root: Path) -> None:
    shutil.copytree(INCIDENT, root / "evidence" / "incident")


def with_strays(root: Path) -> None:
    shutil.copytree(INCIDENT, root / "incident")
    (root / "README").write_text("Evidence of the incident.\n")
    (root / "incident" / "notes.txt").write_text("called the network team at 10:00\n")
    (root / ".DS_Store").write_bytes(bytes(6148))
    (root / "incident" / "app3").mkdir()
    (root / ".git").mkdir()


def with_a_clock(root: Path) -> None:
    shutil.copytree(INCIDENT, root / "incident")
    (root / "captured-at.txt").write_text("2026-11-20T09:00:00Z\n")


def one_snapshot_each(root: Path) -> None:
    for host in HOSTS:
        shutil.copytree(INCIDENT / host, root / host / "2026-11-20T08:57")


def one_snapshot(root: Path) -> None:
    shutil.copytree(INCIDENT, root / "2026-11-20")


def archives(root: Path) -> None:
    for host in HOSTS:
        subprocess.run(["tar", "-czf", root / f"{host}.tar.gz", "-C", INCIDENT, host], check=True)


def archive_of_archives(root: Path) -> None:
    archives(root)
    subprocess.run(["tar", "-cf", root / "all.tar", *(f"{host}.tar.gz" for host in HOSTS)], cwd=root, check=True)
    for host in HOSTS:
        (root / f"{host}.tar.gz").unlink()


def sub_folders(root: Path) -> None:
    shutil.copytree(INCIDENT, root / "incident")
    for host in ("ldap", "app1"):
        (root / "incident" / host / "more").mkdir()
        for file in (root / "incident" / host).glob("*"):
            if file.is_file() and not file.name.startswith(("ss", "captured")):
                file.rename(root / "incident" / host / "more" / file.name)


LAYOUTS = (
    *(deeper, two_deeper, with_strays, with_a_clock, one_snapshot_each, one_snapshot),
    *(archives, archive_of_archives, sub_folders),
)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_where_the_evidence_lies_does_not_change_the_findings(
    tmp_path: Path, expected: list[str], layout: Callable[[Path], None]
) -> None:
    (tmp_path / "ticket").mkdir()
    layout(tmp_path / "ticket")
    assert ids(tmp_path / "ticket") == expected


def test_two_snapshots_are_the_same_hosts_twice(tmp_path: Path, expected: list[str]) -> None:
    for name in ("snap1", "snap2"):
        shutil.copytree(INCIDENT, tmp_path / name)
    found = report(tmp_path)
    assert {one["name"]: one["looks"] for one in found["hosts"]} == {"app1": 2, "app2": 2, "fw": 0, "ldap": 2}
    assert [one["id"] for one in found["findings"]] == expected


class TestSnapshotsOfUnknownTime:
    """`snap1` is healthy, `snap2` has the ghosts; nothing but the names of the folders shows the order."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        shutil.copytree(INCIDENT, tmp_path / "snap2", ignore=UNTIMED)
        (tmp_path / "snap1" / "ldap").mkdir(parents=True)
        (tmp_path / "snap1" / "app1").mkdir()
        head = "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
        server = "".join(f"ESTAB 0 0 10.77.1.2:389 10.77.2.2:{port}\n" for port in range(20000, 20010))
        client = "".join(f"ESTAB 0 0 10.77.2.2:{port} 10.77.1.2:389\n" for port in range(20000, 20010))
        (tmp_path / "snap1" / "ldap" / "ss.txt").write_text(head + server)
        (tmp_path / "snap1" / "app1" / "ss.txt").write_text(head + client)
        return tmp_path

    def test_the_last_snapshot_is_judged(self, root: Path) -> None:
        found = report(root)
        alone = report(root / "snap2")
        assert {one["name"]: one["looks"] for one in found["hosts"]}["ldap"] == 2
        ghosts = [one for one in found["findings"] if one["check"] == "ghost-connections"]
        assert ghosts
        assert [one["id"] for one in ghosts] == [
            one["id"] for one in alone["findings"] if one["check"] == "ghost-connections"
        ]
        assert not any("order of its snapshots" in gap["reason"] for gap in found["gaps"])

    def test_tables_of_different_snapshots_make_no_ghosts(self, root: Path) -> None:
        shutil.rmtree(root / "snap2" / "app1")
        assert not any("10.77.2.2" in one for one in ids(root) if one.startswith(("ghost", "stranded")))


def test_sites_stay_apart(tmp_path: Path) -> None:
    shutil.copytree(INCIDENT, tmp_path / "dc1")
    for file in (file for file in (tmp_path / "dc1").rglob("*") if file.is_file()):
        copy = tmp_path / "dc2" / file.relative_to(tmp_path / "dc1")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes().replace(b"10.77.", b"10.88."))
    names = {one["name"] for one in report(tmp_path)["hosts"]}
    assert names == {f"{site}/{host}" for site in ("dc1", "dc2") for host in HOSTS}
