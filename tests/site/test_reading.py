from __future__ import annotations

import tomllib
from datetime import date

import pytest

from ldapdiag.errors import UsageError
from ldapdiag.finding import Severity
from ldapdiag.site.configuration import AcceptedFinding, SiteConfiguration, SiteTarget
from ldapdiag.site.reading import read_configuration

TODAY = date(2026, 11, 23)
CHECKS = ("ghost-connections", "keepalive-too-slow", "descriptor-headroom", "unused-index")
SCHEMA = 'schema = "ldapdiag.config/1"\n'
WHOLE = (
    SCHEMA
    + """
[defaults]
target = "prod"
fail_on = "medium"
[targets.prod]
evidence = ["ldaps://ds1.example.com", "ssh://ds1"]
bind_dn = "cn=monitor,dc=example,dc=com"
password_file = "/etc/ldapdiag/prod.pw"
timeout = 20
apart = "1m30s"
ldap_ports = [1389]
[checks.descriptor-headroom]
hours_left = 12
[checks.unused-index]
enabled = false
reason = "log of one hour only"
[[accepted]]
id = "ghost-connections|10.77.2.2|10.77.1.2:389"
reason = "rule on fw changes with CHG-4711"
until = 2026-12-31
up_to = "medium"
[[accepted]]
check = "keepalive-too-slow"
server = "ldap"
reason = "restart planned"
until = 2027-03-31
"""
)


def read(text: str) -> SiteConfiguration:
    return read_configuration(tomllib.loads(text), path="ldapdiag.toml", sha256="0" * 64, today=TODAY, checks=CHECKS)


def test_every_section_is_read() -> None:
    options = {
        "bind_dn": "cn=monitor,dc=example,dc=com",
        "password_file": "/etc/ldapdiag/prod.pw",
        "timeout": 20,
        "apart": 90,
        "ldap_ports": [1389],
    }
    assert read(WHOLE) == SiteConfiguration(
        path="ldapdiag.toml",
        sha256="0" * 64,
        target="prod",
        fail_on="medium",
        targets={
            "prod": SiteTarget(name="prod", evidence=("ldaps://ds1.example.com", "ssh://ds1"), options=options),
        },
        check_settings={"descriptor-headroom": {"hours_left": 12}},
        disabled={"unused-index": "log of one hour only"},
        accepted=(
            AcceptedFinding(
                id="ghost-connections|10.77.2.2|10.77.1.2:389",
                reason="rule on fw changes with CHG-4711",
                until=date(2026, 12, 31),
                up_to=Severity.MEDIUM,
                place=1,
            ),
            AcceptedFinding(
                check="keepalive-too-slow",
                server="ldap",
                reason="restart planned",
                until=date(2027, 3, 31),
                up_to=Severity.HIGH,
                place=2,
            ),
        ),
    )


ENTRY = '[[accepted]]\nid = "ghost-connections|x"\nreason = "r"\nuntil = 2026-12-31\n'
ERRORS = {
    "": 'the key schema is missing ("ldapdiag.config/1"): the format of this file',
    'schema = "ldapdiag.config/2"': 'schema: expected "ldapdiag.config/1", found "ldapdiag.config/2"',
    SCHEMA + "target = 1": "target: unknown key; known are schema, defaults, targets, checks, accepted."
    " Did you mean 'targets'?",
    SCHEMA + "defaults = 1": "defaults: a section is expected: [defaults]",
    SCHEMA + '[defaults]\ntargt = "p"': "defaults.targt: unknown key; known are target, fail_on."
    " Did you mean 'target'?",
    SCHEMA + '[defaults]\nfail_on = "all"': 'defaults.fail_on: expected "critical" or "high" or "medium" or "low" or '
    '"never", found "all"',
    SCHEMA + '[defaults]\ntarget = "prd"\n[targets.prod]\nevidence = ["local:"]': "defaults.target: the file has no"
    " target 'prd'. Did you mean 'prod'?",
    SCHEMA + '[targets.prod]\nbind_dn = "cn=x"': "targets.prod: the key evidence is missing (a list of strings): what"
    " the command would name: targets, files, folders",
    SCHEMA + "[targets.prod]\nevidence = []": "targets.prod.evidence: expected a list of strings, found this list",
    SCHEMA + '[targets.prod]\nevidence = "local:"': "targets.prod.evidence: expected a list of strings, found this"
    " string",
    SCHEMA + '[targets.prod]\nevidence = ["-"]': "targets.prod.evidence: standard input cannot be named in a file; name"
    " - on the command line",
    SCHEMA + '[targets.prod]\nevidence = ["@a"]': "targets.prod.evidence: a target cannot name another target; list its"
    " evidence",
    SCHEMA + '[targets."a b"]\nevidence = ["local:"]': "targets.a b: the name of a target has letters, digits, and"
    " - _ . after the first character",
    SCHEMA + '[targets.p]\nevidence = ["local:"]\ntimeout = 0': "targets.p.timeout: expected 1 to 3,600 seconds, or"
    " as in 5m, found 0",
    SCHEMA + '[targets.p]\nevidence = ["local:"]\ntimeout = true': "targets.p.timeout: expected 1 to 3,600 seconds, or"
    " as in 5m, found true or false",
    SCHEMA
    + '[targets.p]\nevidence = ["local:"]\nldap_ports = [0]': "targets.p.ldap_ports: expected a list of whole numbers"
    " from 1 to 65535, found this list",
    SCHEMA
    + '[targets.p]\nevidence = ["local:"]\napart = nan': "targets.p.apart: expected 0 to 86,400 seconds, or as in"
    " 5m, found so large a number",
    SCHEMA + "[checks.unusd-index]\nenabled = true": "checks.unusd-index: there is no check 'unusd-index';"
    " 'ldapdiag checks' lists them. Did you mean 'unused-index'?",
    SCHEMA + "[checks.unused-index]\nenabled = false": "checks.unused-index: a disabled check needs a reason, which"
    " every report states: reason = …",
    SCHEMA + '[checks.unused-index]\nreason = "r"': "checks.unused-index.reason: a reason belongs to enabled = false;"
    " remove it",
    SCHEMA + "[accepted]\n": "accepted: entries are expected, each below a line [[accepted]]",
    SCHEMA + ENTRY + 'check = "unused-index"': "accepted[1]: exactly one of id (one finding) and check (all of a check)"
    " is expected",
    SCHEMA + ENTRY + 'server = "ds1"': "accepted[1].server: server belongs to check; an id contains its server",
    SCHEMA + ENTRY + ENTRY.replace("2026-12-31", '"2026-12-31"'): "accepted[2].until: expected a date without quotes,"
    " as in 2026-12-31, found this string",
    SCHEMA + ENTRY.replace("2026-12-31", "2026-12-31T00:00:00"): "accepted[1].until: expected a date without quotes,"
    " as in 2026-12-31, found a date or time",
    SCHEMA + ENTRY.replace("2026-12-31", "2027-12-29"): "accepted[1].until: at most 400 days ahead: 2027-12-28 today",
    SCHEMA + ENTRY.replace('"r"', '" "'): "accepted[1].reason: expected a string, found an empty string",
    SCHEMA + ENTRY.replace("ghost-connections|x", "ghost-connections"): "accepted[1].id: an id has the form"
    " CHECK|SUBJECT; the JSON report has it",
    SCHEMA + ENTRY.replace("ghost-connections", "ghost-conections"): "accepted[1].id: there is no check"
    " 'ghost-conections'; 'ldapdiag checks' lists them. Did you mean 'ghost-connections'?",
    SCHEMA + ENTRY.replace("until = 2026-12-31", ""): "accepted[1]: the key until is missing (a date without quotes, as"
    " in 2026-12-31): the last day, at most 400 days ahead",
}


@pytest.mark.parametrize("text", ERRORS)
def test_an_error_names_file_and_key_and_what_is_expected(text: str) -> None:
    with pytest.raises(UsageError) as error:
        read(text)
    assert str(error.value) == f"ldapdiag.toml: {ERRORS[text]}"


@pytest.mark.parametrize("key", ["password", "bind_password", "passwd", "pw", "client_secret", "Passphrase", "bind_pw"])
def test_a_password_is_an_error_that_does_not_show_it(key: str) -> None:
    with pytest.raises(UsageError, match="must not contain a password") as error:
        read(f'{SCHEMA}[targets.p]\nevidence = ["local:"]\n{key} = "hunter2"')
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("evidence", ["ssh://root:hunter2@ds1", "ldaps://cn=x:hunter2@ds1", "s3://key:hunter2@bucket"])
def test_a_password_in_a_url_is_an_error_that_does_not_show_it(evidence: str) -> None:
    with pytest.raises(UsageError, match="must not contain a password") as error:
        read(f'{SCHEMA}[targets.p]\nevidence = ["{evidence}"]')
    assert "hunter2" not in str(error.value)


def test_certificates_are_always_verified_unless_the_command_line_says_otherwise() -> None:
    with pytest.raises(UsageError, match="on the command line only"):
        read(f'{SCHEMA}[targets.p]\nevidence = ["local:"]\ninsecure = true')


def test_an_acceptance_of_400_days_and_one_that_is_over_are_read() -> None:
    assert [one.until for one in read(SCHEMA + ENTRY.replace("2026-12-31", "2027-12-28")).accepted] == [
        date(2027, 12, 28)
    ]
    assert [one.until for one in read(SCHEMA + ENTRY.replace("2026-12-31", "2020-01-01")).accepted] == [
        date(2020, 1, 1)
    ]
