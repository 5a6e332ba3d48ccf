"""@NAME, --config, and what the command line overrides."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from command import INCIDENT, diagnose, ldapdiag
from ldapdiag.cli.option_groups import FailOn
from ldapdiag.cli.site_options import named_targets, with_target
from ldapdiag.errors import UsageError
from ldapdiag.site.configuration import SiteConfiguration, SiteTarget
from ldapdiag.site.keys import FAIL_ON
from ldapdiag.sources.site_file import SiteFile

AUDIT = INCIDENT.parent / "audit"
SITE = f"""schema = "ldapdiag.config/1"
[defaults]
target = "incident"
fail_on = "never"
[targets.incident]
evidence = ["{INCIDENT}"]
[targets.audit]
evidence = ["{AUDIT}", "ssh://ds1"]
[targets.closed]
evidence = ["ldap://127.0.0.1:1"]
bind_dn = "cn=monitor"
password_file = "pw"
timeout = 1
[checks.descriptor-headroom]
critical_percent = 1.7
high_percent = 1.6
medium_percent = 1.5
[checks.keepalive-too-slow]
enabled = false
reason = "clients are replaced in 2027"
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with a site configuration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ldapdiag.toml").write_text(SITE)
    (tmp_path / "ldapdiag.toml").chmod(0o644)
    return tmp_path


def site(**targets: SiteTarget) -> SiteFile:
    return SiteFile(configuration=SiteConfiguration(path="f", sha256="", target="a", targets=targets))


A = SiteTarget(name="a", evidence=("x", "y"), options={"timeout": 5})
SAME = SiteTarget(name="same", evidence=("y", "z"), options={"timeout": 5})
OTHER = SiteTarget(name="other", evidence=("z",), options={"timeout": 6})


def test_a_name_stands_for_its_evidence() -> None:
    found = site(a=A, same=SAME, other=OTHER)
    assert named_targets(["@a", "w"], found, default=True) == (["x", "y", "w"], A)
    assert named_targets(["@a", "@same"], found, default=True) == (["x", "y", "z"], A)
    assert named_targets([], found, default=True) == (["x", "y"], A)
    assert named_targets([], found, default=False) == ([], None)
    assert named_targets(["./@a"], found, default=True) == (["./@a"], None)


@pytest.mark.parametrize(
    ("evidence", "wanted"),
    [
        (["@a", "@other"], "@a and @other have different options; name one of them in a run"),
        (["@sane"], "@sane: no such target in f; it has: a, same, other. Did you mean 'same'?"),
    ],
)
def test_what_a_name_cannot_stand_for_is_an_error(evidence: list[str], wanted: str) -> None:
    with pytest.raises(UsageError) as error:
        named_targets(evidence, site(a=A, same=SAME, other=OTHER), default=True)
    assert str(error.value) == wanted


BIND = SiteTarget(
    name="b",
    evidence=("x",),
    options={"bind_dn": "cn=a", "password_file": "/pw", "start_tls": "must", "ldap_ports": [1389], "sudo": True},
)
GIVEN = {
    "bind_dn": None, "sasl": None, "simple": False, "prompt": False, "password_file": None, "start_tls": 0,
    "ldap_port": None, "sudo": False,
}  # fmt: skip
FILE = GIVEN | {
    "bind_dn": "cn=a", "password_file": Path("/pw"), "start_tls": 2, "ldap_port": [1389], "sudo": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ({}, FILE),
        ({"sudo": False}, FILE | {"sudo": False}),
        ({"start_tls": 1}, FILE | {"start_tls": 1}),
        ({"prompt": True}, FILE | {"prompt": True, "password_file": None}),
        ({"bind_dn": "cn=b", "prompt": True}, FILE | {"bind_dn": "cn=b", "prompt": True, "password_file": None}),
        ({"sasl": "GSSAPI"}, FILE | {"sasl": "GSSAPI", "bind_dn": None, "password_file": None}),
    ],
    ids=["nothing", "off", "tls", "password", "dn", "sasl"],
)
def test_the_command_line_comes_before_the_file(typed: dict[str, object], wanted: dict[str, object]) -> None:
    assert with_target(GIVEN | typed, set(typed), BIND) == wanted


def test_without_a_target_nothing_changes() -> None:
    assert with_target(GIVEN, set(), None) == GIVEN


def test_the_levels_of_the_file_are_those_of_the_option() -> None:
    assert tuple(FailOn) == FAIL_ON


class TestCommand:
    def test_of_no_evidence_takes_the_default_target_and_level(self, work: Path) -> None:
        ran = diagnose("--format", "json")
        assert (ran.code, ran.complaints) == (0, [f"ldapdiag: site configuration: {work}/ldapdiag.toml"])
        assert [host["name"] for host in ran.report["hosts"]] == ["app1", "app2", "fw", "ldap"]
        assert ran.report["tool"]["config"]["path"] == f"{work}/ldapdiag.toml"
        assert not {one["check"] for one in ran.report["verdicts"]} & {"keepalive-too-slow"}

    def test_hands_its_thresholds_to_the_checks(self) -> None:
        ran = diagnose("--format", "json", "-q")
        severities = {one["check"]: one["severity"] for one in ran.report["findings"]}
        assert severities["descriptor-headroom"] == "high"  # 335 of 20,000: 1.675 %
        assert ran.report["tool"]["config"]["thresholds"] == {
            "descriptor-headroom": {
                "critical_percent": {"value": 1.7, "default": 95.0},
                "high_percent": {"value": 1.6, "default": 80.0},
                "medium_percent": {"value": 1.5, "default": 60.0},
            }
        }
        default = diagnose("--format", "json", "--config", "none", INCIDENT)
        assert "descriptor-headroom" not in {one["check"] for one in default.report["findings"]}

    def test_explains_a_check_with_the_settings_in_force(self, work: Path) -> None:
        ran = ldapdiag("checks", "descriptor-headroom")
        assert "high_percent = 1.6 %" in ran.text
        assert "hours_left = 24 h (by default)" in ran.text
        assert ldapdiag("checks", "keepalive-too-slow").text.endswith(
            f"DISABLED\n  by {work}/ldapdiag.toml: clients are replaced in 2027\n"
        )
        assert "high_percent = 80 % (by default)" in ldapdiag("checks", "descriptor-headroom", "--config", "none").text

    @pytest.mark.parametrize(
        ("line", "wanted"),
        [
            ("hours_lft = 1", "no setting 'hours_lft'; its settings: critical_percent, high_percent,"),
            ("hours_lft = 1", "Did you mean 'hours_left'?"),
            ("hours_left = '1'", "hours_left is '1'; it needs a number (h)"),
            ("high_percent = 96", "high_percent (96 %) is stricter than critical_percent (95 %)"),
        ],
    )
    @pytest.mark.parametrize("command", [("diagnose", INCIDENT), ("config",), ("checks", "descriptor-headroom")])
    def test_reports_a_wrong_setting(self, work: Path, command: tuple[str, ...], line: str, wanted: str) -> None:
        text = re.sub(r"critical_percent[^[]*", f"{line}\n", SITE)
        (work / "ldapdiag.toml").write_text(text)
        ran = ldapdiag(*command)
        assert (ran.code, ran.out) == (2, b"")
        assert f"{work}/ldapdiag.toml: checks.descriptor-headroom: " in ran.complaints[-1]
        assert wanted in ran.complaints[-1]

    def test_lists_the_disabled_checks_in_every_format(self, work: Path) -> None:
        outputs = [part for name in ("t.txt", "t.json", "t.html", "t.md") for part in ("--output", name)]
        assert diagnose(*outputs, "-q").code == 0
        for name in ("t.txt", "t.html", "t.md"):
            shown = (work / name).read_text()
            assert "1 disabled" in shown
            assert re.search(r"keepalive-too-slow(\*\*|</strong>)?: clients are replaced in 2027", shown), name
        report = json.loads((work / "t.json").read_text())
        assert report["disabled"] == [{"check": "keepalive-too-slow", "reason": "clients are replaced in 2027"}]
        rows = diagnose("--format", "csv", "--table", "verdicts", "-q").text.splitlines()
        assert [row for row in rows if ",disabled," in row] == [
            "keepalive-too-slow,,,disabled,clients are replaced in 2027,,"
        ]

    def test_gives_no_all_clear_where_a_decisive_check_is_disabled(self, work: Path) -> None:
        off = '[checks.unsafe-writes]\nenabled = false\nreason = "r"\n'
        (work / "ldapdiag.toml").write_text(SITE + off)
        ran = ldapdiag("storage", INCIDENT.parent / "storage", "-q")
        assert "it is not known whether a power cut loses acknowledged changes" in ran.text

    def test_overrides_the_level(self) -> None:
        assert diagnose("--fail-on", "high", "-q").code == 1

    def test_names_a_disabled_check_and_runs_it(self) -> None:
        ran = diagnose("--check", "keepalive-too-slow", "--format", "json")
        assert {one["check"] for one in ran.report["verdicts"]} == {"keepalive-too-slow"}

    def test_with_no_configuration_runs_every_check(self) -> None:
        ran = diagnose(INCIDENT, "--config", "none", "--format", "json")
        assert (ran.code, ran.err, ran.report["tool"]["config"]) == (1, b"", None)
        assert "keepalive-too-slow" in {one["check"] for one in ran.report["verdicts"]}

    def test_takes_the_bind_of_a_target(self, work: Path) -> None:
        ran = diagnose("@closed")
        assert ran.complaints[1].startswith(f"ldapdiag: cannot read the password from {work}/pw: no such file")

    @pytest.mark.parametrize("command", ["diagnose", "indexes", "storage", "log"])
    def test_reports_an_unknown_name_in_one_line(self, command: str, work: Path) -> None:
        ran = ldapdiag(command, "@incidnt", "-q")
        assert (ran.code, ran.out) == (2, b"")
        known = "it has: incident, audit, closed. Did you mean 'incident'?"
        assert ran.complaints == [f"ldapdiag: @incidnt: no such target in {work}/ldapdiag.toml; {known}"]

    def test_reports_a_name_without_a_file_with_the_places(self, work: Path) -> None:
        (work / "ldapdiag.toml").unlink()
        ran = diagnose("@prod")
        assert ran.code == 2
        assert ran.complaints[0].startswith(
            f"ldapdiag: @prod: there is no site configuration (looked for: {work}/ldapdiag.toml, "
        )

    def test_reports_an_error_of_the_file_before_it_reads_evidence(self, work: Path) -> None:
        (work / "ldapdiag.toml").write_text(SITE + "[checks.x]\n")
        ran = diagnose(INCIDENT)
        assert (ran.code, ran.out) == (2, b"")
        assert len(ran.complaints) == 1
        assert f"{work}/ldapdiag.toml: checks.x: there is no check 'x'" in ran.complaints[0]

    def test_with_every_check_disabled_is_no_all_clear(self, work: Path) -> None:
        ids = [one["id"] for one in ldapdiag("checks", "--format", "json").report["checks"]]
        off = "".join(f'[checks.{one}]\nenabled = false\nreason = "r"\n' for one in ids)
        (work / "ldapdiag.toml").write_text(SITE.partition("[checks")[0] + off)
        ran = diagnose(INCIDENT, "-q")
        assert (ran.code, ran.out) == (2, b"")
        assert ran.complaints[0].endswith("every check of this command is disabled; enable one, or use --config none")

    def test_indexes_and_log_take_what_they_can_read_of_a_target(self) -> None:
        ran = ldapdiag("log", "@audit", "-q", "--format", "json")
        assert (ran.code, ran.err) == (0, b"")
        assert ran.report["lines"] == 360

    def test_of_this_host_takes_no_default_target(self, work: Path) -> None:
        assert ldapdiag("collect", "--print-script", "-q").code == 0
        ran = ldapdiag("storage", "--probe", work / "absent", "-q")
        assert (ran.code, "measures this host" in ran.complaints[0]) == (2, False)

    def test_log_has_no_use_for_a_target_of_servers(self) -> None:
        ran = ldapdiag("log", "@closed", "-q")
        assert (ran.code, ran.complaints) == (
            2,
            ["ldapdiag: @closed: it has no files and no hosts, and a server shows no access log over LDAP"],
        )

    def test_collect_takes_the_targets(self) -> None:
        ran = ldapdiag("collect", "@incident", "-o", "x.tar.gz", "-q")
        assert (ran.code, ran.complaints) == (
            2, [f"ldapdiag: {INCIDENT}: collect accepts only live targets; give files to diagnose"],
        )  # fmt: skip
