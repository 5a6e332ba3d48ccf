from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from audits import PARTLY, UNINDEXED, UNKNOWN, Audit
from incidents import clear, not_judged
from indexes_389 import BACKEND, LIST, index, limits
from ldapdiag.finding import Confidence, Severity


@pytest.fixture
def audit() -> Audit:
    """Return a server that is asked for uid all day, which is indexed."""
    story = Audit()
    story.has("uid", "eq")
    story.asks("(uid=joe)", times=50, took=0.001)
    return story


def test_a_filter_that_scans_names_its_attribute_and_type(audit: Audit) -> None:
    audit.asks("(displayName=joe)", UNINDEXED)
    (found,) = audit.found("missing-index").values()
    assert found.observed | {"etime_seconds": 0, "saves_seconds": 0, "after_seconds": {}, "share": 0} == {
        "server": "ldap",
        "backend": "userRoot",
        "attribute": "displayName",
        "types": ["eq"],
        "sets": [{"attribute": "displayName", "types": ["eq"], "rules": []}],
        "base": "dc=example,dc=com",
        "searches": 20,
        "refused": 0,
        "etime_seconds": 0,
        "saves_seconds": 0,
        "after_seconds": {},
        "share": 0,
        "shapes": ["(displayName=?)"],
        "clients": ["10.77.2.2"],
        "accounts": ["uid=foo,ou=services,dc=example"],
        "refused_accounts": [],
        "since": None,
        "until": None,
        "growing": None,
        "first_share": None,
        "last_share": None,
    }
    assert found.observed["etime_seconds"] == pytest.approx(2.0)
    assert found.observed["saves_seconds"] == pytest.approx(2.0, rel=0.02)
    assert found.confidence is Confidence.CERTAIN


@pytest.mark.parametrize(
    ("filter_", "wanted"),
    [
        ("(displayName=joe*)", {"displayName": ["sub"]}),
        ("(displayName=*)", {"displayName": ["pres"]}),
        ("(employeeNumber>=5)", {"employeeNumber": ["eq"]}),
        ("(displayName~=joe)", {"displayName": ["approx"]}),
        ("(|(uid=joe)(displayName=joe)(mail=joe*))", {"displayName": ["eq"], "mail": ["sub"]}),
        ("(&(objectClass=person)(displayName=joe))", {"displayName": ["eq"]}),
        ("(&(displayName=joe*)(employeeNumber=5))", {"employeeNumber": ["eq"]}),
    ],
)
def test_what_is_wanted(audit: Audit, filter_: str, wanted: dict[str, list[str]]) -> None:
    audit.asks("(objectClass=person)", b"", entries=6000, times=1)
    audit.asks(filter_, UNINDEXED)
    told = audit.found("missing-index")
    assert {name: one.observed["types"] for name, one in told.items()} == wanted


@pytest.mark.parametrize(
    ("filter_", "notes"),
    [
        ("(&(uid=joe)(employeeNumber=5))", PARTLY),
        ("(&(employeeNumber=5)(uid=joe))", b""),
        ("(nosuch=1)", UNKNOWN),
        ("(!(uid=joe))", UNINDEXED),
        ("(objectClass=*)", UNINDEXED),
        ("(objectClass=person)", UNINDEXED),
    ],
)
def test_what_no_index_is_missing_for(audit: Audit, filter_: str, notes: bytes) -> None:
    audit.asks("(objectClass=person)", b"", entries=6000, times=1)
    audit.asks(filter_, notes, took=0.001 if notes in {PARTLY, b"", UNKNOWN} else 0.1)
    assert audit.found("missing-index") == {}


def test_one_entry_is_no_scan(audit: Audit) -> None:
    audit.asks("(displayName=joe)", scope=0)
    assert audit.found("missing-index") == {}


def test_what_takes_no_time_is_worth_no_index(audit: Audit) -> None:
    audit.asks("(displayName=joe)", UNINDEXED, took=0.001, times=2)
    assert audit.found("missing-index") == {}
    verdict = clear(audit.diagnosis(), "missing-index", "ldap")
    assert "1 kind without an index that helps" in verdict.reason


def test_what_is_refused_for_want_of_an_index_counts_though_it_takes_no_time(audit: Audit) -> None:
    audit.asks("(displayName=joe)", UNINDEXED, took=0.001, times=2, err=53, entries=0)
    (found,) = audit.found("missing-index").values()
    assert "2 of them failed for lack of an index." in found.detail
    assert (found.severity, found.observed["saves_seconds"]) == (Severity.MEDIUM, 0), "a refusal is no time to be saved"


@pytest.mark.parametrize(
    ("err", "said"),
    [
        (3, "By the configuration, nsslapd-timelimit is 2 s, unless the entry of the account"),
        (4, ""),
        (11, "Which limit applies is not judged: nsslapd-lookthroughlimit is 700, unless the entry of the account"),
        (53, ""),
    ],
)
def test_the_limit_that_stops_a_scan_is_named(audit: Audit, err: int, said: str) -> None:
    audit.others = (limits("nsslapd-lookthroughlimit: 700"), "dn: cn=config\nnsslapd-timelimit: 2\n\n")
    audit.asks("(displayName=joe)", UNINDEXED, took=2, err=err, entries=0)
    audit.asks("(displayName=joe)", UNINDEXED, took=3)
    (found,) = audit.found("missing-index").values()
    assert said in found.detail
    assert ("nsslapd-" in found.detail) is bool(said)
    assert ("20 of them ended before the scan did" in found.detail) is (err == 3)


REQUIRES = "nsslapd-require-index: on"


@pytest.mark.parametrize(
    ("answered", "severity", "title"),
    [
        (False, Severity.HIGH, "20 searches failed for lack of it"),
        (True, Severity.MEDIUM, "20 searches failed for lack of it; an index would save about 0.38 s"),
    ],
)
def test_a_refused_search_is_a_failure_of_an_application(audit, answered, severity, title) -> None:
    """The title's time is that of the searches of another account, which are answered."""
    audit.others = (BACKEND.replace("\n\n", f"\n{REQUIRES}\n\n"),)
    audit.asks("(displayName=joe)", UNINDEXED, took=0.002, err=53, entries=0)
    if answered:
        audit.asks("(displayName=joe)", UNINDEXED, took=0.02)
    (found,) = audit.found("missing-index").values()
    assert found.severity is severity
    assert title in found.title
    assert ("answered instead of refused" in found.detail) is not answered
    assert "until then they are refused, as before" in found.remedies[0].changes


@pytest.mark.parametrize(
    ("times", "took", "severity"),
    [(20, 0.1, Severity.LOW), (200, 0.1, Severity.MEDIUM), (700, 0.1, Severity.HIGH)],
)
def test_severity_by_number(audit: Audit, times: int, took: float, severity: Severity) -> None:
    audit.asks("(uid=joe)", times=20, took=1)
    audit.asks("(displayName=joe)", UNINDEXED, times=times, took=took)
    (found,) = audit.found("missing-index").values()
    assert found.severity is severity


def test_an_alias_or_an_option_is_the_same_attribute(audit: Audit) -> None:
    audit.has("cn", "eq")
    audit.asks("(commonName=joe*)", UNINDEXED)
    audit.asks("(cn;lang-fr=joe*)", UNINDEXED)
    (found,) = audit.found("missing-index").values()
    assert (found.observed["attribute"], found.observed["types"]) == ("cn", ["sub"])
    assert found.observed["searches"] == 40


def test_without_the_configuration_it_is_possible_and_no_finding(audit: Audit) -> None:
    audit.configured = False
    audit.asks("(displayName=joe)", UNINDEXED)
    diagnosis = audit.diagnosis()
    verdict = not_judged(diagnosis, "missing-index", "ldap")
    assert "displayName eq (1.98 s)" in verdict.reason
    assert verdict.missing == ("index-configuration",)


def test_the_servers_own_places_need_no_index(audit: Audit) -> None:
    audit.asks("(nsslapd-suffix=joe)", UNINDEXED, base=b"cn=config")
    assert audit.found("missing-index") == {}


HOSTILE = (
    '(a";touch pwned;"=x)',
    "(a$(touch pwned)b=x)",
    "(x`touch pwned`=x)",
    "(displayName;`touch pwned`=x)",
    "(cn:`touch pwned`:=x)",
    "(displayName='; touch pwned; ')",
    "(displayName=x\nLDIF\ntouch pwned\n)",
    "(x\ndn: cn=config\nchangetype: delete\n=x)",
)
BASES = (
    b"dc=$(touch pwned),dc=example,dc=com",
    b"ou='; touch pwned; ',dc=example,dc=com",
    b"ou=a\ntouch pwned\n,dc=example,dc=com",
)
STUB = "#!/bin/sh\nfor word; do printf '%s\\n' \"$word\"; done >> said\ncat >> said\n"


@pytest.mark.parametrize("filter_", HOSTILE)
def test_hostile_names_never_reach_a_command(audit: Audit, filter_: str, tmp_path: Path) -> None:
    """All commands of a report are run by a shell in which every tool only writes down what it was given."""
    for base in BASES:
        audit.asks(filter_, UNINDEXED, base=base)
    audit.asks("(displayName=joe)", UNINDEXED, base=BASES[0])
    (tmp_path / "password").write_text("secret")
    for tool in ("ldapsearch", "ldapmodify", "dsconf", "grep"):
        (tmp_path / tool).write_text(STUB)
        (tmp_path / tool).chmod(0o755)
    remedies = [one for found in audit.diagnosis().findings for one in found.remedies if one.kind != "advice"]
    assert remedies
    for text in (text for one in remedies for text in (one.text, one.undo, one.verify) if one.kind != "ldif"):
        password = {"LDAP_PASSWORD_FILE": str(tmp_path / "password"), "TMPDIR": str(tmp_path)}
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "LDAP_URI": "ldap://ds1", **password}
        subprocess.run(["sh", "-c", text], cwd=tmp_path, env=environment, input=b"", check=False)
    assert not (tmp_path / "pwned").exists()
    assert "changetype: delete" not in (tmp_path / "said").read_text().splitlines()


@pytest.mark.parametrize(
    "filter_",
    [
        "(ancestorid=5)",
        "(entryid=5)",
        "(entryrdn=a*)",
        "(nsuniqueid=abc*)",
        "(objectClass~=person)",
        "(userPassword=secret)",
        "(member=uid=joe*)",
        "(nsRole=cn=a,dc=example,dc=com)",
    ],
)
def test_what_is_the_servers_own_or_would_do_harm_is_never_advised(audit: Audit, filter_: str) -> None:
    audit.asks(filter_, UNINDEXED)
    assert audit.found("missing-index") == {}


def test_searches_that_return_more_than_the_server_lists_get_no_index(audit: Audit) -> None:
    audit.asks("(shadowMax>=0)", UNINDEXED, entries=6900)
    audit.asks("(&(employeeType=a)(!(title=b)))", UNINDEXED, entries=8663)
    assert audit.found("missing-index") == {}
    assert set(audit.found("scan-limit-exceeded")) >= {"(shadowMax>=?)"}


def test_a_search_of_a_suffix_is_answered_by_the_databases_below_it_too(audit: Audit) -> None:
    below = BACKEND.replace("userRoot", "subRoot").replace("dc=example", "ou=sub,dc=example")
    audit.others = (below, LIST.replace("userRoot", "subRoot"), index("nsIndexType: eq", backend="subRoot"))
    audit.asks("(displayName=joe)", UNINDEXED)
    subjects = {one.subject for one in audit.diagnosis().findings if one.observed.get("attribute") == "displayName"}
    assert subjects == {"displayName of userRoot at ldap", "displayName of subRoot at ldap"}


def test_many_filters_that_one_index_ends_count_together(audit: Audit) -> None:
    audit.asks("(uid=joe)", times=1000, took=1)
    for number in range(60):
        audit.asks("(displayName=joe)", UNINDEXED, times=1, took=0.2, base=b"ou=part%d,dc=example,dc=com" % number)
    assert set(audit.found("missing-index")) == {"displayName"}


def test_a_slow_server_makes_no_index_missing(audit: Audit) -> None:
    audit.asks("(uid=jim)", took=0.008, times=100)
    audit.asks("(&(uid=joe)(employeeNumber=5))", PARTLY, took=0.008, times=100)
    assert audit.found("missing-index") == {}


@pytest.mark.parametrize("indexed", [(), ("eq",), ("pres",)])
def test_an_extensible_match_needs_the_rule_that_the_clients_send(indexed: tuple[str, ...]) -> None:
    audit = Audit()
    if indexed:
        audit.has("uid", *indexed)
    audit.asks("(uid:caseExactMatch:=joe)", UNINDEXED)
    found = audit.found("missing-index")["uid"]
    assert found.observed["types"] == (["caseExactMatch"] if "eq" in indexed else ["eq", "caseExactMatch"])
    assert "caseExactMatch" in found.remedies[0].text


def test_an_index_with_the_rule_of_the_clients_is_enough() -> None:
    audit = Audit()
    audit.has("uid", "eq", lines=("nsMatchingRule: caseExactMatch",))
    audit.asks("(uid:caseExactMatch:=joe)")
    assert audit.found("missing-index") == {}


def test_a_range_of_numbers_needs_the_rule_of_numbers() -> None:
    audit = Audit()
    audit.has("uidNumber", "eq")
    audit.asks("(uidNumber>=7)", UNINDEXED)
    assert audit.found("missing-index")["uidNumber"].observed["types"] == ["integerOrderingMatch"]
