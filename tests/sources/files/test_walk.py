"""Captured evidence: folders of anything a file system can hold are walked without hanging or filling the memory."""

from __future__ import annotations

import os
import resource
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from command import INCIDENT, diagnose
from ldapdiag.evidence.bundle import Gap, PassedOver
from ldapdiag.sources.captures.find import find
from ldapdiag.sources.files import folders
from ldapdiag.sources.files.archives import MOST_FILES
from ldapdiag.sources.files.folders import MOST_DEPTH
from ldapdiag.sources.files.input import Input

TABLE = INCIDENT / "app2" / "ss-tiepmnaO.txt"
ROOT_WITHOUT_PRIVILEGES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with a table in it, to be made worse."""
    (tmp_path / "incident").mkdir()
    (tmp_path / "incident" / "ss.txt").write_bytes(TABLE.read_bytes())
    return tmp_path / "incident"


def pieces(named: Path) -> list[str]:
    """Return the files found, as a report names them."""
    return [one.path for one in find(str(named)) if isinstance(one, Input)]


def test_a_folder_and_its_sub_folders_are_read_in_order(folder: Path) -> None:
    for name in ("b", "a"):
        (folder / name).mkdir()
        (folder / name / "ss.txt").touch()
    assert pieces(folder) == ["a/ss.txt", "b/ss.txt", "incident/ss.txt"]


def test_folders_are_followed_to_where_the_evidence_is(folder: Path) -> None:
    deep = folder / "ticket" / "2026" / "ldap"
    deep.mkdir(parents=True)
    (deep / "ss.txt").write_bytes(TABLE.read_bytes())
    assert pieces(folder) == ["incident/ss.txt", "ldap/ss.txt"]


def test_what_is_too_deep_or_hidden_is_passed_over(folder: Path) -> None:
    deepest = folder.joinpath(*map(str, range(MOST_DEPTH + 1)))
    for place in (deepest, folder / ".cache"):
        place.mkdir(parents=True)
        (place / "ss.txt").write_bytes(TABLE.read_bytes())
    assert pieces(folder) == ["incident/ss.txt"]
    assert {one.target: one.reason for one in find(str(folder)) if isinstance(one, PassedOver)} == {
        str(folder / ".cache"): "a hidden folder; name it to read it",
        str(deepest): f"a folder more than {MOST_DEPTH} folders deep; name it to read it",
    }


def test_of_too_many_folders_the_nearest_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST_FOLDERS", 3)
    for name in ("a/deep/deeper", "b"):
        (folder / name).mkdir(parents=True)
        (folder / name / "ss.txt").touch()
    assert pieces(folder) == ["b/ss.txt", "incident/ss.txt"]
    (gap,) = (one for one in find(str(folder)) if isinstance(one, Gap))
    assert gap.reason == "contains more than 3 folders; those deeper inside are not read"


def test_links_from_folder_to_folder_end(folder: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (folder / name).mkdir()
        (folder / name / "ss.txt").touch()
        (folder / name / "link").symlink_to(f"../{other}")
    assert pieces(folder) == ["a/ss.txt", "b/ss.txt", "incident/ss.txt"]


def test_what_is_no_file_is_passed_over_and_never_opened(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    (folder / "null").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
        ran = diagnose(folder, "--format", "json")
    reasons = {Path(one["target"]).name: one["reason"] for one in ran.report["passed_over"]}
    assert reasons == dict.fromkeys(("fifo", "null", "socket"), "neither a file nor a folder")


def test_a_socket_that_is_named_is_one_line(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "ldapi"))
        ran = diagnose(tmp_path / "ldapi")
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "is a socket, not a file" in ran.complaints[0]


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device_that_is_named_is_one_line(device: str) -> None:
    ran = diagnose(device)
    assert (ran.code, len(ran.complaints)) == (2, 1)


def test_links_that_lead_nowhere_or_back_are_one_line_each(folder: Path) -> None:
    (folder / "itself").symlink_to("itself")
    (folder / "gone").symlink_to("missing")
    (folder / "me").symlink_to(".")
    (folder / "up").symlink_to("..")
    (folder / "sub").mkdir()
    (folder / "sub" / "back").symlink_to("..")
    ran = diagnose(folder, "--format", "json")
    assert [line.split(": ")[1].rpartition("/")[2] for line in sorted(ran.complaints)] == [
        "gone",
        "itself",
        "me",
        "back",
        "up",
    ]
    assert [one["origin"] for one in ran.report["evidence"]] == ["incident/ss.txt"]


def test_a_link_to_a_folder_elsewhere_is_followed(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(INCIDENT / "app1", tmp_path / "app1")
    (folder / "app").symlink_to("../app1")
    assert "app1/ss-tiepmnaO.txt" in pieces(folder)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_may_not_be_read_is_one_line(tmp_path: Path, kind: str) -> None:
    locked = tmp_path / "locked"
    if kind == "file":
        locked.write_bytes(TABLE.read_bytes())
    else:
        locked.mkdir()
    locked.chmod(0)
    before = ROOT_WITHOUT_PRIVILEGES if os.geteuid() == 0 else ()
    if before and subprocess.run([*before, "test", "-r", locked], check=False, capture_output=True).returncode != 1:
        pytest.skip("root cannot lay down its privileges here (setpriv)")
    ran = diagnose(locked, TABLE, before=before)
    locked.chmod(0o700)
    assert ran.code == 0
    advice = "run as a user who may read it, or ask its owner for a copy"
    assert ran.complaints == [f"ldapdiag: {locked}: cannot read it: permission denied; {advice}"]


@pytest.mark.long
def test_two_gigabytes_of_zeros_cost_neither_time_nor_memory(tmp_path: Path) -> None:
    zeros = tmp_path / "zeros"
    with zeros.open("wb") as file:
        file.truncate(2 << 30)
    limit = 512 << 20
    ran = diagnose(zeros, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert (ran.code, len(ran.complaints)) == (2, 1)
    assert "first bytes: 00 00 00 00" in ran.complaints[0]


@pytest.mark.long
def test_a_table_that_turns_into_zeros_fits_into_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "ss.txt"
    with path.open("wb") as file:
        file.write((INCIDENT / "ldap" / TABLE.name).read_bytes())
        file.truncate(200 << 20)
    limit = 1 << 30
    ran = diagnose(path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert ran.code == 0
    assert "not understood" in ran.text


@pytest.mark.long
def test_a_folder_of_a_hundred_thousand_files_is_one_line(folder: Path) -> None:
    for number in range(100_000):
        os.close(os.open(folder / f"z{number:06}", os.O_CREAT | os.O_WRONLY, 0o600))
    (folder / "ss.txt").touch()
    ran = diagnose(folder)
    assert ran.code == 0
    assert len(ran.complaints) == 1
    left_out = 100_001 - MOST_FILES
    assert (
        f"contains 100,001 files; all but the newest {MOST_FILES:,} are ignored ({left_out:,}, last changed"
        in ran.complaints[0]
    )


def test_of_too_many_files_the_newest_are_read_in_the_order_of_their_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MOST_FILES", 3)
    (folder / "sub").mkdir()
    for age, name in enumerate(("sub/a", "b", "c", "ss.txt", "sub/d")):
        (folder / name).touch()
        os.utime(folder / name, (1_800_000_000 - age, 1_800_000_000 - age))
    assert pieces(folder) == ["incident/b", "incident/c", "sub/a"]
    (gap,) = (one for one in find(str(folder)) if isinstance(one, Gap))
    assert gap.reason == (
        "contains 5 files; all but the newest 3 are ignored (2, last changed between 2027-01-15 07:59 and "
        "2027-01-15 07:59 UTC)"
    )
