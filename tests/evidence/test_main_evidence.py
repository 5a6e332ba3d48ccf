"""The main evidence: a report without it, or with most of it passed over, says so first and does not exit with 0."""

from __future__ import annotations

import gzip
import shutil
from typing import TYPE_CHECKING

import pytest

from command import INCIDENT, diagnose, ldapdiag
from conftest import CAPTURES

if TYPE_CHECKING:
    from pathlib import Path

SYSCTL = "net.ipv4.tcp_keepalive_time = 7200\n"


@pytest.fixture
def ticket(tmp_path: Path) -> Path:
    """Make a folder with a hidden incident and a file that only describes a host."""
    shutil.copytree(INCIDENT, tmp_path / "ticket" / ".incident")
    (tmp_path / "ticket" / "sysctl.txt").write_text(SYSCTL)
    return tmp_path / "ticket"


def test_evidence_that_was_passed_over_comes_first_and_ends_in_2(ticket: Path) -> None:
    ran = diagnose(ticket)
    assert ran.code == 2
    assert ran.text.startswith("NOT READ    no connection, log or configuration was read (kernel-settings only); ")
    assert "files of evidence passed over in" in ran.complaints[0]


def test_one_table_does_not_outweigh_an_incident(ticket: Path) -> None:
    shutil.copytree(INCIDENT / "fw", ticket / "fw")
    ran = diagnose(ticket, "--format", "json", "--fail-on", "never")
    assert ran.code == 2
    assert ran.report["shortfall"]["reason"].startswith("most of the evidence was not read: ")
    assert ran.report["shortfall"]["reason"].endswith(f"passed over in {ticket / '.incident'}")


def test_a_hidden_copy_of_one_file_does_not_outweigh_an_incident(tmp_path: Path) -> None:
    shutil.copytree(INCIDENT, tmp_path / "incident")
    shutil.copytree(INCIDENT / "app2", tmp_path / "incident" / ".app2")
    ran = diagnose(tmp_path / "incident", "--format", "json")
    assert (ran.code, ran.report["shortfall"]) == (1, None)


def test_what_only_describes_a_host_is_no_reason_for_exit_code_0(tmp_path: Path) -> None:
    (tmp_path / "sysctl.txt").write_text(SYSCTL)
    assert diagnose(tmp_path).code == 2


def test_an_audit_of_indexes_needs_a_log_or_a_configuration_of_indexes() -> None:
    ran = ldapdiag("indexes", INCIDENT)
    assert ran.code == 2
    assert ran.text.startswith("NOT READ    no access log and no index configuration was read (")
    assert ldapdiag("indexes", CAPTURES / "389ds" / "indexes").code != 2


def test_of_storage_needs_mounts_or_settings_and_these_count_against_what_was_passed_over(tmp_path: Path) -> None:
    ran = ldapdiag("storage", INCIDENT / "app1")
    assert ran.code == 2
    assert ran.text.startswith("NOT READ    no mount table and no storage setting of a server was read (")
    (tmp_path / "mountinfo.txt").write_text("26 23 254:0 / /srv rw,relatime shared:14 - ext4 /dev/vda1 rw\n")
    (tmp_path / ".hidden").mkdir()
    shutil.copy(next((INCIDENT / "app1").glob("ss*")), tmp_path / ".hidden" / "ss.txt")
    assert ldapdiag("storage", tmp_path).code == 0
    assert diagnose(tmp_path).code == 2


def test_but_a_finding_in_it_counts(tmp_path: Path) -> None:
    full = "net.netfilter.nf_conntrack_count = 65536\nnet.netfilter.nf_conntrack_max = 65536\n"
    (tmp_path / "sysctl.txt").write_text(full)
    ran = diagnose(tmp_path, "--format", "json")
    assert (ran.code, ran.report["shortfall"]) == (1 if ran.report["findings"] else 2, None)


@pytest.mark.parametrize(("start", "code"), [(b"PK\x03\x04\x14\0\0\0", 2), (b"PK\x03\x04\x14\0[Content_Types].xml", 0)])
def test_an_archive_that_is_not_opened_weighs_as_much_as_a_host(tmp_path: Path, start: bytes, code: int) -> None:
    shutil.copytree(INCIDENT / "app2", tmp_path / "app2")
    (tmp_path / "rest.zip").write_bytes(start + bytes(1000))
    ran = diagnose(tmp_path)
    assert ran.code == code
    assert ran.text.startswith("NOT READ") is (code == 2)


def test_damaged_evidence_counts_too(tmp_path: Path) -> None:
    shutil.copytree(INCIDENT / "app2", tmp_path / "app2")
    table = next((INCIDENT / "app1").glob("ss*")).read_bytes()
    for number in range(3):
        (tmp_path / f"{number}.gz").write_bytes(gzip.compress(table)[:-50])
    ran = diagnose(tmp_path)
    assert ran.code == 2
    assert ran.text.startswith("NOT READ")


def test_indexes_and_its_scripts_say_so_too(ticket: Path) -> None:
    ran = ldapdiag("indexes", ticket, "--ldif")
    assert ran.code == 2
    assert "files of evidence passed over in" in ran.complaints[0]
