"""ldapdiag storage, run as a person runs it: what it needs, what it refuses, how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import INCIDENT, ldapdiag

ACCESS_LOG = INCIDENT.parent / "audit" / "ds1" / "access"
MOUNTINFO = "26 23 254:0 / /srv/ldap rw,relatime shared:14 - ext4 /dev/mapper/vg-ldap rw\n"


def storage(*arguments: str | Path, **more):
    return ldapdiag("storage", *arguments, **more)


class TestEvidence:
    def test_that_is_none_is_named(self, tmp_path):
        ran = storage(tmp_path / "nothing")
        assert (ran.code, ran.out) == (2, b"")
        (complaint,) = ran.complaints
        assert complaint.startswith(f"ldapdiag: {tmp_path / 'nothing'}: there is no such file or folder; ")

    def test_that_is_an_access_log_alone_is_not_enough_and_the_report_begins_with_what_to_collect(self):
        ran = storage(ACCESS_LOG)
        assert ran.code == 2
        said = " ".join(ran.text.split())
        assert said.startswith("NOT READ no mount table and no storage setting of a server was read (")
        assert "how: name /proc/PID/mountinfo of the directory server, lsblk -O -J and its configuration" in said

    def test_that_is_a_mount_table_is_read(self, tmp_path):
        (tmp_path / "mountinfo.txt").write_text(MOUNTINFO)
        report = storage(tmp_path, "--format", "json").report
        assert [one["fact"] for one in report["evidence"]] == ["mounts"]
        assert (report["storage"], report["probes"], report["shortfall"]) == ([], [], None)


class TestProbe:
    def test_of_this_host_does_not_belong_to_evidence_of_others(self, tmp_path):
        ran = storage(tmp_path, "--probe", tmp_path)
        assert (ran.code, ran.out) == (2, b"")
        (complaint,) = ran.complaints
        assert complaint == f"ldapdiag: --probe {tmp_path} measures this host; name local: as well, or no evidence"

    def test_that_is_to_be_saved_has_to_be_asked_for(self, tmp_path):
        ran = storage("--save-probe", tmp_path / "probe.json")
        assert (ran.code, ran.complaints) == (
            2,
            ["ldapdiag: --save-probe writes what --probe measures; add --probe DIRECTORY"],
        )

    def test_is_not_made_if_it_cannot_be_saved(self, tmp_path):
        ran = storage("--probe", tmp_path, "--save-probe", tmp_path / "nowhere" / "probe.json")
        assert (ran.code, ran.out) == (2, b"")
        assert list(tmp_path.iterdir()) == []

    def test_needs_a_directory(self, tmp_path):
        ran = storage("--probe", tmp_path / "nowhere", "-q")
        assert (ran.code, ran.out) == (2, b"")
        (complaint,) = ran.complaints
        assert str(tmp_path / "nowhere") in complaint

    def test_is_in_the_report_and_in_its_file_and_leaves_nothing(self, tmp_path):
        folder = tmp_path / "volume"
        folder.mkdir()
        file = tmp_path / "probe.json"
        bounds = ("--probe-seconds", "2", "--probe-size", "8")
        ran = storage("--probe", folder, *bounds, "--save-probe", file, "--format", "json", "--fail-on", "never")
        (probe,) = ran.report["probes"]
        assert probe["directory"] == str(folder)
        assert probe["written_bytes"] <= 8 << 20
        assert list(folder.iterdir()) == []
        assert ran.complaints[0].startswith(
            "ldapdiag: The probe writes at most 8 MiB in at most 2 s and removes all of it"
        )
        assert json.loads(file.read_text())["syncs"] == probe["syncs"]
        (read,) = storage(file, "--format", "json").report["probes"]
        assert read["syncs"] == probe["syncs"]


@pytest.mark.parametrize("form", ["text", "json", "html", "markdown", "csv"])
def test_every_format_is_written(form, tmp_path):
    (tmp_path / "mountinfo.txt").write_text(MOUNTINFO)
    ran = storage(tmp_path, "--format", form)
    assert ran.out
    assert ran.code == 0


@pytest.mark.parametrize(
    "table", ["volumes", "settings", "files", "probes", "findings", "verdicts", "gaps", "evidence"]
)
def test_every_table_has_a_header(table, tmp_path):
    (tmp_path / "mountinfo.txt").write_text(MOUNTINFO)
    assert storage(tmp_path, "--format", "csv", "--table", table).text.splitlines()[0].count(",") >= 2
