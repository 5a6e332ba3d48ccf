"""ldapdiag indexes, run as a person runs it: what it reads, what it advises, how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from command import ldapdiag
from indexes_389 import BACKEND, LIST, index, limits
from log_lines import header, run, stamp

SCAN = "\n".join(
    (
        f"{stamp(30)} conn=77 fd=70 slot=70 connection from 10.10.1.168 to 10.0.0.9",
        f'{stamp(30)} conn=77 op=0 BIND dn="uid=quickr,ou=services,dc=example,dc=com" method=128 version=3',
        f'{stamp(30)} conn=77 op=0 RESULT err=0 tag=97 nentries=0 etime=0.000100000 dn="uid=quickr,ou=services,dc=x"',
        f'{stamp(31)} conn=77 op=1 SRCH base="dc=example,dc=com" scope=2 filter="(displayName=joe)" attrs=ALL',
        f"{stamp(94)} conn=77 op=1 RESULT err=0 tag=101 nentries=1 etime=63.000000000 notes=A",
        "",
    )
).encode()
CONFIGURATION = BACKEND + LIST + index("nsIndexType: eq") + limits("nsslapd-idlistscanlimit: 4000")
TIDY = CONFIGURATION + index("nsIndexType: eq", attribute="displayName")


@pytest.fixture
def access(tmp_path: Path) -> Path:
    """Return the log of a server: twenty quick connections, and one search of a minute."""
    folder = tmp_path / "log" / "slapd-ds1"
    folder.mkdir(parents=True)
    (folder / "access").write_bytes(header() + run(1, 20) + SCAN)
    return folder / "access"


@pytest.fixture
def dse(tmp_path: Path) -> Path:
    """Return its configuration, which lies elsewhere."""
    folder = tmp_path / "etc" / "slapd-ds1"
    folder.mkdir(parents=True)
    (folder / "dse.ldif").write_text(CONFIGURATION)
    return folder / "dse.ldif"


def indexes(*arguments: str | Path, **more):
    return ldapdiag("indexes", *arguments, **more)


class TestText:
    def test_says_what_it_costs_what_to_add_for_whom_and_how(self, access, dse):
        ran = indexes(access, dse)
        lines = ran.text.splitlines()
        assert lines[0].startswith("slapd-ds1 · ")
        assert "63.0 s (99 %) of it without an index" in ran.text or "(100 %) of it without an index" in ran.text
        assert "PLAN        1 change ends 100 % of it; no cheaper set of indexes does" in lines
        assert any(line.endswith("eq  displayName") for line in lines)
        assert "uid=quickr,ou=services,dc=example,dc=com (10.10.1.168)" in ran.text or "uid=quickr" in ran.text
        assert "backend index add" in ran.text
        assert "displayName" in ran.text.split("backend index add")[1].splitlines()[0]

    def test_of_a_tidy_server_is_short_and_ends_with_zero(self, access, dse):
        (access.parent / "access").write_bytes(header() + run(1, 20))
        ran = indexes(access, dse)
        assert ran.code == 0
        assert "PLAN        no index to add" in ran.text
        assert "none of it without an index" in ran.text

    def test_without_the_configuration_says_that_the_cause_is_open(self, access):
        ran = indexes(access)
        assert ran.code == 0
        assert "PLAN        perhaps: 1 change would end 100 % of it" in ran.text
        assert "The index configuration is not at hand" in ran.text
        assert "backend index add" not in ran.text


class TestExitCode:
    @pytest.mark.parametrize(
        ("options", "code"),
        [([], 1), (["--fail-on", "critical"], 0), (["--fail-on", "never"], 0), (["--fail-on", "low"], 1)],
    )
    def test_is_that_of_the_worst_finding(self, access, dse, options, code):
        assert indexes(access, dse, *options).code == code

    def test_with_strict_counts_what_cannot_be_judged(self, access):
        assert indexes(access, "--strict").code == 1

    def test_is_two_when_nothing_can_be_read(self, tmp_path):
        ran = indexes(tmp_path / "nothing")
        assert (ran.code, ran.out) == (2, b"")
        assert len(ran.complaints) == 1

    def test_is_two_for_two_forms_at_once(self, access, dse):
        ran = indexes(access, dse, "--ldif", "--script")
        assert ran.code == 2
        assert "choose one" in ran.complaints[0]


class TestJson:
    def test_has_the_plan_beside_the_verdicts(self, access, dse):
        report = indexes(access, dse, "--format", "json").report
        assert report["schema"] == "ldapdiag.report/1"
        (server,) = report["indexes"]
        assert (server["server"], server["configured"], server["exact"]) == ("slapd-ds1", True, True)
        (row,) = server["plan"]
        assert (row["attribute"], row["types"], row["backend"]) == ("displayName", ["eq"], "userRoot")
        assert (row["saves_seconds"], row["shapes"]) == (63.0, ["(displayName=?)"])
        assert {one["check"] for one in report["findings"]} >= {"missing-index"}
        assert {one["check"] for one in report["verdicts"]}.isdisjoint({"ghost-connections", "costly-search"})

    def test_is_the_same_twice(self, access, dse):
        one, two = (indexes(access, dse, "--format", "json").report for _ in range(2))
        assert {**one, "taken_at": ""} == {**two, "taken_at": ""}

    def test_of_diagnose_has_the_finding_too(self, access, dse):
        report = ldapdiag("diagnose", access, dse, "--format", "json").report
        assert "indexes" not in report
        told = {one["check"]: one for one in report["findings"]}
        assert told["missing-index"]["observed"]["attribute"] == "displayName"
        assert "An index would help: displayName eq" in told["costly-search"]["detail"]


class TestRemediesAlone:
    def test_as_a_script(self, access, dse):
        ran = indexes(access, dse, "--script")
        assert ran.text.startswith("#!/bin/sh\nset -e\n")
        assert "backend index add" in ran.text
        assert "one at a time" in ran.text

    def test_as_ldif(self, access, dse):
        ran = indexes(access, dse, "--ldif")
        lines = [line for line in ran.text.splitlines() if not line.startswith("#")]
        assert any(line.startswith("dn: cn=displayName,cn=index,cn=userRoot") for line in lines)
        assert "nsIndexType: eq" in lines

    @pytest.mark.parametrize("form", ["--script", "--ldif"])
    def test_with_nothing_to_do_say_so(self, access, dse, form):
        access.write_bytes(header() + run(1, 20))
        assert "# nothing to change" in indexes(access, dse, form).text

    def test_go_to_a_file(self, access, dse, tmp_path):
        ran = indexes(access, dse, "--script", "--output", tmp_path / "fix.sh")
        assert ran.out == b""
        assert (tmp_path / "fix.sh").read_text() == indexes(access, dse, "--script").text


def test_several_servers_have_a_plan_each(tmp_path):
    for name in ("ds1", "ds2"):
        folder = tmp_path / name
        folder.mkdir()
        log = header() + run(1, 20) + SCAN
        (folder / "access").write_bytes(log if name == "ds1" else log.replace(b"from 10.", b"from 172."))
        (folder / "dse.ldif").write_text(CONFIGURATION if name == "ds1" else TIDY)
    report = indexes(tmp_path / "ds1", tmp_path / "ds2", "--format", "json").report
    assert {one["server"]: len(one["plan"]) for one in report["indexes"]} == {"ds1": 1, "ds2": 0}, (
        "the index was added at ds2"
    )
    drift = [one for one in report["findings"] if one["check"] == "index-drift"]
    assert [one["observed"]["attribute"].lower() for one in drift] == ["displayname"]


def test_the_help_reads_well():
    ran = ldapdiag("indexes", "--help")
    assert ran.code == 0
    assert "Nothing is changed." in ran.text
    assert max(map(len, ran.text.splitlines())) <= 100
