"""ldapdiag indexes, run as a person runs it: what it reads, what it advises, how it ends."""

from __future__ import annotations

import subprocess
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
QUICK = header() + run(1, 20).replace(b'base="dc=x"', b'base="dc=example,dc=com"')
"""Twenty connections, each with two searches of 0.2 ms by an attribute that has an index."""
CONFIGURATION = BACKEND + LIST + index("nsIndexType: eq") + limits("nsslapd-idlistscanlimit: 4000")
INDEX_CHECKS = {
    "harmful-index",
    "index-drift",
    "index-not-built",
    "replica-differs",
    "missing-index",
    "missing-server-index",
    "missing-vlv-index",
    "scan-limit-exceeded",
    "substring-too-short",
    "unindexable-filter",
    "unknown-attribute",
    "unused-index",
    "wrong-answers-possible",
}
TIDY = CONFIGURATION + index("nsIndexType: eq", attribute="displayName")


@pytest.fixture
def access(tmp_path: Path) -> Path:
    """Return the log of a server: twenty quick connections, and one search of a minute."""
    folder = tmp_path / "log" / "slapd-ds1"
    folder.mkdir(parents=True)
    (folder / "access").write_bytes(QUICK + SCAN)
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


TOOLS = '-x -H "${LDAP_URI:?}" -D "cn=Directory Manager" -y "$password_copy"'
SEARCH = f"search() {{ ldapsearch {TOOLS} -LLL -o ldif-wrap=no "
BUILD = "task userRoot displayName; } | apply"
CHECK = "check_answers dc=example,dc=com displayName '(displayName=@)'"


WANTED_ADDRESS = (
    "# LDAP_URI, exported once, must be the URL of slapd-ds1: not in the evidence, "
    "ldap://HOST:PORT or ldaps://HOST:PORT"
)


class TestText:
    def test_shows_the_cost_the_indexes_to_add_and_for_whom(self, access, dse):
        lines = indexes(access, dse).text.splitlines()
        assert lines[:4] == [
            "verdicts    1 high · 9 clear · 3 not judged",
            "",
            "slapd-ds1 · 1 min 34 s of log · 41 searches",
            "63 s of search time, 63 s (99 %) of it without an index",
        ]
        assert lines[5:10] == [
            "PLAN        1 index change removes 99 % of the unindexed search time (the smallest set found)",
            "    first   add the indexes with the commands of this plan, one server at a time, off peak",
            "            saves           searches  add  attribute",
            "             63 s ━━━━━━━━         1   eq  displayName",
            "                 (displayName=?) · uid=quickr (10.10.1.168) · high, certain · then each 0.4 ms",
        ]
        assert "steps() {" not in lines

    def test_prints_the_commands_with_v(self, access, dse):
        lines = indexes(access, dse, "-v").text.splitlines()
        place = lines.index("(")
        tested = ': "${LDAP_URI:?export the URL of the server first}"'
        assert lines[place - 3 : place] == ["", WANTED_ADDRESS, tested]
        assert lines[place + 1].startswith(SEARCH)
        commands = lines[place : lines.index(")") + 1]
        assert [line for line in commands if line in {BUILD, "wait_for_build", CHECK, "answers_right"}] == [
            BUILD,
            "wait_for_build",
            CHECK,
            "answers_right",
        ]

    @pytest.mark.parametrize(
        ("old", "new"), [(b"(displayName=joe)", "(display\u202eName=joe)".encode()), (b"dc=example", b"dc=elsewhere")]
    )
    def test_a_search_that_cannot_be_judged_is_no_all_clear(self, access, dse, old, new):
        access.write_bytes(QUICK + SCAN.replace(old, new))
        text = " ".join(indexes(access, dse).text.split())
        assert "unknown Nothing wrong found, but 1 of 41 searches (63" in text

    def test_of_a_tidy_server_is_short_and_ends_with_zero(self, access, dse):
        access.write_bytes(QUICK)
        ran = indexes(access, dse)
        assert ran.code == 0
        assert ran.text.splitlines()[2:7] == [
            "clear       Nothing wrong found by 10 checks; 3 checks could not judge",
            "",
            "slapd-ds1 · 19.3 s of log · 40 searches · 8 ms of search time, none of it without an index",
            "",
            "PLAN        no index to add",
        ]
        assert "| apply" not in ran.text

    def test_without_the_configuration_the_cause_is_undecided(self, access):
        ran = indexes(access)
        assert ran.code == 1, "a log of unindexed searches alone is no all-clear"
        lines = ran.text.splitlines()
        assert lines[0].startswith("verdicts    1 high")
        assert lines[2].startswith("HIGH        (displayName=?) below ")
        assert "            costly-search · certain" in lines
        place = next(number for number, line in enumerate(lines) if line.startswith("PLAN"))
        assert lines[place : place + 6] == [
            "PLAN        possible: 1 index change removes 99 % of the unindexed search time (the smallest set",
            "            found)",
            "    then    add the index configuration: its dse.ldif",
            "            saves           searches  add  attribute",
            "             63 s ━━━━━━━━         1   eq  displayName",
            "                 (displayName=?) · uid=quickr (10.10.1.168) · then each 0.4 ms",
        ]
        said = " ".join(ran.text.split())
        assert "The index configuration is not in the evidence, so the cause is open: no index, not" in said
        assert "| apply" not in ran.text


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
        nowhere = tmp_path / "nothing"
        (complaint,) = ran.complaints
        assert complaint == (f"ldapdiag: {nowhere}: there is no such file or folder; check the spelling")

    def test_is_two_for_two_forms_at_once(self, access, dse):
        ran = indexes(access, dse, "--ldif", "--script")
        assert (ran.code, ran.out) == (2, b"")
        assert ran.complaints == ["ldapdiag: --ldif, --script and --format exclude each other: use one of them"]


class TestJson:
    def test_has_the_plan_beside_the_verdicts(self, access, dse):
        report = indexes(access, dse, "--format", "json").report
        assert report["schema"] == "ldapdiag.report/1"
        (server,) = report["indexes"]
        assert (server["server"], server["configured"], server["exact"]) == ("slapd-ds1", True, True)
        (row,) = server["plan"]
        assert (row["attribute"], row["types"], row["backend"]) == ("displayName", ["eq"], "userRoot")
        assert (round(row["saves_seconds"], 3), row["shapes"]) == (63.0, ["(displayName=?)"])
        assert {one["check"]: one["severity"] for one in report["findings"]} == {"missing-index": "high"}
        assert {one["check"] for one in report["verdicts"]} == INDEX_CHECKS

    def test_is_the_same_twice(self, access, dse):
        one, two = (
            indexes(access, dse, "--format", "json", environment={"PYTHONHASHSEED": seed}).report for seed in "12"
        )
        assert {**one, "taken_at": ""} == {**two, "taken_at": ""}

    def test_of_diagnose_has_the_finding_too(self, access, dse):
        report = ldapdiag("diagnose", access, dse, "--format", "json").report
        assert "indexes" not in report
        told = {one["check"]: one for one in report["findings"]}
        assert told["missing-index"]["observed"]["attribute"] == "displayName"
        assert "an index would help: displayName eq" in told["costly-search"]["detail"]


def without_comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


class TestRemediesAlone:
    def test_as_a_script(self, access, dse):
        text = indexes(access, dse, "--script").text
        assert text.startswith("#!/bin/sh\n")
        assert without_comments(text)[0] == "set -e"
        assert without_comments(text)[1].startswith("LDAP_URI=${LDAP_URI:-} ")
        assert without_comments(text).count(BUILD) == without_comments(text).count(CHECK) == 1
        assert subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=True).stderr == ""

    def test_as_ldif(self, access, dse):
        text = indexes(access, dse, "--ldif").text
        assert without_comments(text) == [
            "dn: cn=displayName,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config",
            "changetype: add",
            "objectClass: top",
            "objectClass: nsIndex",
            "cn: displayName",
            "nsSystemIndex: false",
            "nsIndexType: eq",
            "dn: cn=ldapdiag-userRoot-displayName,cn=index,cn=tasks,cn=config",
            "changetype: add",
            "objectClass: top",
            "objectClass: extensibleObject",
            "cn: ldapdiag-userRoot-displayName",
            "nsInstance: userRoot",
            "nsIndexAttribute: displayName",
        ]

    @pytest.mark.parametrize("form", ["--script", "--ldif"])
    def test_with_nothing_to_do_say_so(self, access, dse, form):
        access.write_bytes(QUICK)
        text = indexes(access, dse, form).text
        assert without_comments(text) == (["set -e"] if form == "--script" else [])
        assert text.rstrip().splitlines()[-1] == "# nothing to change"

    def test_go_to_a_file(self, access, dse, tmp_path):
        ran = indexes(access, dse, "--script", "--output", tmp_path / "fix.sh")
        assert ran.out == b""
        assert (tmp_path / "fix.sh").read_text() == indexes(access, dse, "--script").text


def test_several_servers_have_a_plan_each(tmp_path):
    for name in ("ds1", "ds2"):
        folder = tmp_path / name
        folder.mkdir()
        log = QUICK + SCAN
        (folder / "access").write_bytes(log if name == "ds1" else log.replace(b"from 10.", b"from 172."))
        (folder / "dse.ldif").write_text(CONFIGURATION if name == "ds1" else TIDY)
    report = indexes(tmp_path / "ds1", tmp_path / "ds2", "--format", "json").report
    assert {one["server"]: len(one["plan"]) for one in report["indexes"]} == {"ds1": 1, "ds2": 0}
    assert {(one["check"], one["subject"]) for one in report["findings"]} == {
        ("missing-index", "displayName of userRoot at ds1"),
        ("index-not-built", "(displayName=?) at ds2"),
        ("index-drift", "displayName below dc=example,dc=com"),
    }


def test_the_help_reads_well():
    ran = ldapdiag("indexes", "--help")
    assert ran.code == 0
    assert "Nothing is changed." in ran.text
    assert max(map(len, ran.text.splitlines())) <= 100

    @pytest.mark.parametrize("form", ["--script", "--ldif"])
    def test_without_configuration_or_log_nothing_can_be_planned(self, access, dse, form, tmp_path):
        for evidence, lacking in ((access, "index configuration"), (dse, "access log")):
            written = tmp_path / "written"
            for options in ([], ["--output", written]):
                ran = indexes(evidence, form, *options)
                assert (ran.code, ran.out) == (2, b"")
                reason = f"ldapdiag: no {lacking}: nothing can be planned; name it, too (see ldapdiag indexes --help)"
                assert reason in ran.complaints
                assert not written.exists()

    @pytest.mark.parametrize("form", ["--script", "--ldif"])
    def test_a_server_without_configuration_is_a_comment_beside_the_others(self, access, dse, form, tmp_path):
        other = tmp_path / "log" / "slapd-ds2"
        other.mkdir()
        (other / "access").write_bytes((QUICK + SCAN).replace(b"10.10.1.168", b"10.10.1.169"))
        ran = indexes(access, other / "access", dse, form)
        assert ran.code == 1
        assert "# slapd-ds2: no index configuration: nothing can be planned" in ran.text.splitlines()
        assert "displayName" in ran.text


class TestPlanInADiagnosis:
    AUDIT = Path(__file__).parents[2] / "examples/audit"

    def test_a_name_that_begins_as_an_option_stays_a_name(self, tmp_path, monkeypatch):
        (tmp_path / "-audit").symlink_to(self.AUDIT)
        monkeypatch.chdir(tmp_path)
        assert "\nldapdiag indexes ./-audit\n" in ldapdiag("diagnose", "--", "-audit").text

    def test_the_findings_on_searches_are_one_block_with_the_command_that_goes_on(self):
        text = ldapdiag("diagnose", self.AUDIT).text
        assert text.count("\nPLAN ") == 1
        assert f"\nldapdiag indexes {self.AUDIT}\n" in text
        assert text.count("\nldapmodify ") == 1
        checks = [
            line.split(" · ")[0].strip() for line in text.splitlines() if " · certain" in line or " · likely" in line
        ]
        assert len(checks) == len(set(checks)) == 1

    def test_in_full_and_as_json_each_finding_is_there(self):
        assert "\nPLAN " not in ldapdiag("diagnose", self.AUDIT, "-v").text
        found = [one["check"] for one in ldapdiag("diagnose", self.AUDIT, "--format", "json").report["findings"]]
        assert sorted(found) == ["costly-search", "costly-search", "missing-index"]

    def test_a_log_of_scans_alone_fails_the_gate(self):
        for command in ("diagnose", "indexes"):
            assert ldapdiag(command, self.AUDIT).code == 1
