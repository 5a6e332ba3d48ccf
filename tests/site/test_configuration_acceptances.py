"""What accepting a finding changes, and what it never changes: in the gate, in the order, in each format."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import INCIDENT, diagnose, ldapdiag
from ldapdiag.check import Check, check
from ldapdiag.cli.judging import exit_code
from ldapdiag.cli.judging_options import Gate
from ldapdiag.cli.option_groups import FailOn
from ldapdiag.diagnosis import Diagnosis
from ldapdiag.diagnosis import diagnose as judged_by
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.finding import Clear, Confidence, Finding, Judged, NotJudged, Severity, Standing, finding_id
from ldapdiag.site.configuration import AcceptedFinding, SiteConfiguration, checks_in_force, decide
from ldapdiag.sources.gathering import gather

TODAY = date(2026, 11, 23)
LATER, BEFORE = TODAY + timedelta(days=100), TODAY - timedelta(days=1)
LEVELS = (FailOn.CRITICAL, FailOn.HIGH, FailOn.MEDIUM, FailOn.LOW, FailOn.NEVER)


def finding(severity: Severity = Severity.HIGH, subject: str = "s", server: str | None = "ds1") -> Finding:
    known = {"title": "t", "detail": "d", "observed": {}, "confidence": Confidence.CERTAIN}
    return Finding(subject=subject, severity=severity, server=server, **known)


def entry(place: int = 1, until: date = LATER, up_to: Severity = Severity.HIGH, **what: str) -> AcceptedFinding:
    return AcceptedFinding(place=place, reason=f"r{place}", until=until, up_to=up_to, **(what or {"id": "x|s"}))


def named(judge, name: str) -> Check[...]:
    one = check(judge)
    one.id = name
    return one


@cache
def evidence() -> Bundle:
    return gather([str(INCIDENT)])


def run(severity: Severity, site: SiteConfiguration, *, open_subject: bool = False) -> Diagnosis:
    """Return the diagnosis of a check x that finds something, and of a check y that judges nothing or is clear."""

    def finds(kernels: tuple[KernelSettings, ...]):
        """Find."""
        yield finding(severity)

    def lacks(kernels: tuple[KernelSettings, ...]):
        """Lack."""
        yield NotJudged(subject="s", reason="r") if open_subject else Clear(subject="s", reason="r")

    checks = [named(finds, "x"), named(lacks, "y")]
    in_force = checks_in_force(checks, site, today=TODAY)
    return judged_by(evidence(), in_force.checks, in_force=in_force)


DISABLED = {"x": "r"}
TABLE = {
    # state of a high finding:       (entries, disabled)                       critical high medium low never
    "undecided": ((), {}, (0, 1, 1, 1, 0)),
    "accepted": ((entry(),), {}, (0, 0, 0, 0, 0)),
    "accepted to the day": ((entry(until=TODAY),), {}, (0, 0, 0, 0, 0)),
    "accepted with its check": ((entry(check="x"),), {}, (0, 0, 0, 0, 0)),
    "accepted at its server": ((entry(check="x", server="ds1"),), {}, (0, 0, 0, 0, 0)),
    "at another server": ((entry(check="x", server="ds2"),), {}, (0, 1, 1, 1, 0)),
    "another accepted": ((entry(id="x|t"), entry(check="y")), {}, (0, 1, 1, 1, 0)),
    "over": ((entry(until=BEFORE),), {}, (0, 1, 1, 1, 0)),
    "above": ((entry(up_to=Severity.MEDIUM),), {}, (0, 1, 1, 1, 0)),
    "over and above": ((entry(until=BEFORE, up_to=Severity.LOW),), {}, (0, 1, 1, 1, 0)),
    "over and accepted": ((entry(until=BEFORE), entry(2)), {}, (0, 0, 0, 0, 0)),
    "accepted and above": ((entry(), entry(2, up_to=Severity.LOW)), {}, (0, 0, 0, 0, 0)),
    "disabled": ((), DISABLED, (0, 0, 0, 0, 0)),
    "disabled and accepted": ((entry(),), DISABLED, (0, 0, 0, 0, 0)),
    "disabled and over": ((entry(until=BEFORE),), DISABLED, (0, 0, 0, 0, 0)),
}


@pytest.mark.parametrize("state", TABLE)
def test_the_gate(state: str) -> None:
    accepted, disabled, codes = TABLE[state]
    site = SiteConfiguration(path="f", sha256="", accepted=accepted, disabled=disabled)
    diagnosis = run(Severity.HIGH, site)
    assert tuple(exit_code(diagnosis, Gate(fail_on=level, strict=False)) for level in LEVELS) == codes
    assert tuple(exit_code(diagnosis, Gate(fail_on=level, strict=True)) for level in LEVELS) == codes
    with_open = run(Severity.HIGH, site, open_subject=True)
    assert [exit_code(with_open, Gate(fail_on=level, strict=True)) for level in LEVELS] == [1] * 5
    # a critical finding is above all these acceptances
    worse = run(Severity.CRITICAL, site)
    assert tuple(exit_code(worse, Gate(fail_on=level, strict=False)) for level in LEVELS) == (
        (0,) * 5 if disabled else (1, 1, 1, 1, 0)
    )  # fmt: skip


def test_without_a_configuration_every_finding_counts() -> None:
    in_force = checks_in_force([named(lambda: iter(()), "x")], None)
    assert (in_force.configuration, in_force.disabled) == (None, {})


days = st.dates(TODAY - timedelta(days=30), TODAY + timedelta(days=30))
names = st.sampled_from("xyz")
entries = st.builds(
    lambda until, up_to, check, server, subject: (
        entry(1, until, up_to, id=f"{check}|{subject}") if server is None else
        entry(1, until, up_to, check=check, **({"server": server} if server else {}))
    ),
    days, st.sampled_from(Severity), names, st.sampled_from([None, "", "ds1", "ds2"]), names,
)  # fmt: skip
findings = st.lists(
    st.builds(
        lambda check, *about: Judged(check=check, verdict=finding(*about)),
        names, st.sampled_from(Severity), names, st.sampled_from([None, "ds1", "ds2"]),
    ),
    max_size=6,
)  # fmt: skip


@given(findings, st.lists(entries, max_size=3), entries)
def test_another_acceptance_never_changes_a_finding_that_it_does_not_match(judged, before, added) -> None:
    before = [replace(one, place=place) for place, one in enumerate(before, 2)]
    first = decide(judged, before, TODAY, checks="xyz").judged
    second = decide(judged, [*before, added], TODAY, checks="xyz").judged
    for original, one, other in zip(judged, first, second, strict=True):
        was, now = one.verdict, other.verdict
        assert replace(now, acceptance=None) == original.verdict
        matches = (
            added.id == finding_id(one.check, was)
            if added.id
            else added.check == one.check and (not added.server or added.server == was.server)
        )
        if not matches:
            assert now == was
        assert now.is_accepted >= was.is_accepted
        if now.is_accepted and not was.is_accepted:
            assert matches
            assert now.severity <= added.up_to
            assert added.until >= TODAY


@given(findings, st.lists(entries, min_size=1, max_size=3))
def test_no_finding_is_lost_and_none_is_hidden_above_its_highest_severity(judged, accepted) -> None:
    decided = decide(judged, accepted, TODAY, checks="xyz").judged
    assert [one.check for one in decided] == [one.check for one in judged]
    for one in decided:
        if one.verdict.severity > max(each.up_to for each in accepted):
            assert not one.verdict.is_accepted


def test_the_notes_name_what_ends_soon_and_what_matches_nothing() -> None:
    judged = [Judged(check="x", verdict=finding())]
    accepted = [
        entry(1, TODAY + timedelta(days=14)),
        entry(2, TODAY + timedelta(days=15)),
        entry(3, id="x|gone"),
        entry(4, check="x", server="ds9"),
        entry(5, check="not-run"),
        entry(6, BEFORE),
    ]
    assert decide(judged, accepted, TODAY, checks=("x", "y")).notes == (
        "accepted[1], x|s: it ends on 2026-12-07",
        "accepted[3], x|gone: it matches no finding; gone, or not judged now",
        "accepted[4], x at ds9: it matches no finding; gone, or not judged now",
    )


SITE = """schema = "ldapdiag.config/1"
[[accepted]]
id = "ghost-connections|10.77.2.2|10.77.1.2:389"
reason = "rule on fw changes with CHG-4711"
until = 2027-03-01
up_to = "{up_to}"
[[accepted]]
check = "idle-timeout"
reason = "drained <by> hand"
until = 2026-01-01
up_to = "critical"
"""


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[int, Path]:
    """Return the exit code and the folder of the reports of the incident, its ghosts accepted up to a severity."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ldapdiag.toml").write_text(SITE.format(up_to=request.param))
    outputs = [part for name in ("t.txt", "t.json", "t.html", "t.md", "t.csv") for part in ("--output", name)]
    ran = diagnose(INCIDENT, *outputs, "-q", "--fail-on", "critical")
    return ran.code, tmp_path


@pytest.mark.parametrize("reports", ["critical"], indirect=True)
def test_an_accepted_finding_stays_in_every_format_after_the_others(reports: tuple[int, Path]) -> None:
    code, folder = reports
    assert code == 0
    report = json.loads((folder / "t.json").read_text())
    assert report["findings"][-1]["check"] == "ghost-connections"
    assert report["findings"][-1]["acceptance"] == {
        "standing": "accepted",
        "reason": "rule on fw changes with CHG-4711",
        "until": "2027-03-01",
        "up_to": "critical",
    }
    sentence = "accepted until 2027-03-01: rule on fw changes with CHG-4711"
    for name in ("t.txt", "t.html", "t.md"):
        text = " ".join((folder / name).read_text().split())
        assert sentence in text, name
        assert "1 accepted" in text, name
        assert "accepted until 2026-01-01, over, so it counts: drained" in text, name
    assert "<by>" not in (folder / "t.html").read_text()
    assert (folder / "t.txt").read_text().index("HIGH") < (folder / "t.txt").read_text().index("accepted    268")
    row = next(line for line in (folder / "t.csv").read_text().splitlines() if "ghost-connections," in line)
    assert ",accepted,2027-03-01,rule on fw changes with CHG-4711," in row


@pytest.mark.parametrize("reports", ["high"], indirect=True)
def test_a_finding_above_its_acceptance_comes_first_and_counts(reports: tuple[int, Path]) -> None:
    code, folder = reports
    assert code == 1
    report = json.loads((folder / "t.json").read_text())
    assert (report["findings"][0]["check"], report["findings"][0]["acceptance"]["standing"]) == (
        "ghost-connections", Standing.EXCEEDED,
    )  # fmt: skip
    assert "accepted up to high only, so it counts" in (folder / "t.txt").read_text()


def test_a_report_of_accepted_findings_alone_is_no_plain_all_clear(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    ids = [one["id"] for one in diagnose(INCIDENT, "--format", "json").report["findings"]]
    text = 'schema = "ldapdiag.config/1"\n'
    for one in ids:
        text += f'[[accepted]]\nid = {json.dumps(one)}\nreason = "r"\nuntil = 2027-03-01\nup_to = "critical"\n'
    site.write_text(text)
    ran = diagnose(INCIDENT, "--config", site, "-q", "-o", "-", "-o", tmp_path / "t.html", "-o", tmp_path / "t.md")
    assert ran.code == 0
    for shown in (ran.text, (tmp_path / "t.html").read_text(), (tmp_path / "t.md").read_text()):
        assert f"Nothing wrong found apart from {len(ids)} accepted findings" in " ".join(shown.split())
    assert f"no other finding · {len(ids)} accepted" in ran.text


def test_an_accepted_missing_index_is_named_beside_its_plan(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text(
        SITE.partition("[[")[0] + '[[accepted]]\ncheck = "missing-index"\nreason = "r"\nuntil = 2027-03-01\n'
    )
    audit = INCIDENT.parent / "audit"
    ran = ldapdiag("indexes", audit, "--config", site, "-q", "--fail-on", "low")
    assert (ran.code, "accepted until 2027-03-01: r" in ran.text) == (0, True)
    assert ldapdiag("indexes", audit, "--config", "none", "-q", "--fail-on", "low").code == 1


@pytest.mark.parametrize(
    ("until", "up_to", "code"),
    [
        (None, "", 0),  # the same as in the baseline
        ("2027-03-01", "critical", 0),
        ("2026-01-01", "critical", 1),  # over: it counts, as the report states
        ("2027-03-01", "high", 1),  # more severe than accepted
    ],
)
def test_an_acceptance_that_is_not_in_force_counts_for_the_gate_on_what_is_new(
    tmp_path: Path, until: str | None, up_to: str, code: int
) -> None:
    baseline, site = tmp_path / "baseline.json", tmp_path / "site.toml"
    assert diagnose(INCIDENT, "-o", baseline, "-q", "--fail-on", "never").code == 0
    entry = f'[[accepted]]\ncheck = "ghost-connections"\nreason = "r"\nuntil = {until}\nup_to = "{up_to}"\n'
    site.write_text('schema = "ldapdiag.config/1"\n' + (entry if until else ""))
    ran = diagnose(INCIDENT, "--config", site, "--baseline", baseline, "--fail-on-new", "-q")
    assert ran.code == code
