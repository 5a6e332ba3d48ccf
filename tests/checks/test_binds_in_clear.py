"""binds-in-clear: passwords on the network, those that are not, and logs that do not show which."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import facts
from incidents import diagnosed
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.evidence.log.operation_kinds import EXTENDED
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity
from ldapdiag_checks.binds_in_clear import MOST, judge
from traffic import FOO, Log, at, verdicts_on

STARTTLS = b"1.3.6.1.4.1.1466.20037"
BAR = b"uid=bar,dc=example"


def judged(log: Log, server=None):
    return list(judge(server or facts.server(), log.traffic()))


def secured(log: Log) -> int:
    """Open a connection with StartTLS that succeeds."""
    number = log.opens()
    log.operates(number, 0, EXTENDED, STARTTLS)
    return number


def test_tells_its_numbers() -> None:
    log = Log()
    log.refuses(3, err=0)
    log.refuses(2, BAR, facts.APP2, err=49)
    log.refuses(4, BAR, "127.0.0.1", err=0)
    (found,) = judged(log)
    assert isinstance(found, Finding)
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.CERTAIN)
    assert found.observed == {
        "server": "ldap",
        "binds": 5,
        "accounts": [FOO.decode(), BAR.decode()],
        "account_count": 2,
        "clients": [facts.APP1, facts.APP2],
        "client_count": 2,
        "refused": 0,
        "same_host": 4,
        "unjudged_connections": 0,
    }
    assert found.title == (
        f"5 BINDs sent a password to ldap without TLS, as {FOO.decode()} and 1 other account, from {facts.APP1} and "
        "1 other client"
    )
    assert found.remedies[0].target == "the clients"


@pytest.mark.parametrize(
    ("dn", "mechanism", "sends"),
    [(FOO, b"simple", True), (b"", b"PLAIN", True), (b"", b"simple", False), (b"", b"GSSAPI", False)],
)
def test_a_bind_that_sends_a_password(dn, mechanism, sends) -> None:
    log = Log()
    log.binds(log.opens(), dn, mechanism=mechanism)
    (verdict,) = judged(log)
    assert isinstance(verdict, Finding if sends else Clear)


@pytest.mark.parametrize("client", ["127.0.0.1", "127.0.0.11", "::1", "::ffff:127.0.0.1", "local"])
def test_nothing_of_the_same_host_is_on_a_network(client) -> None:
    log = Log()
    log.refuses(2, client=client, err=0)
    (verdict,) = judged(log)
    assert isinstance(verdict, Clear)
    assert verdict.reason.endswith("2 did within the host (loopback, ldapi)")


def test_tls_from_the_beginning_or_by_starttls_is_clear() -> None:
    log = Log()
    log.binds(secured(log), op=1)
    log.scan.opened(77, at(log.now), facts.APP1.encode(), secured=True)
    log.binds(77)
    (verdict,) = judged(log)
    assert isinstance(verdict, Clear)


def test_a_password_before_starttls_was_sent_in_the_clear() -> None:
    log = Log()
    number = log.opens()
    log.binds(number)
    log.operates(number, 1, EXTENDED, STARTTLS)
    log.binds(number, op=2)
    assert judged(log)[0].observed["binds"] == 1


@pytest.mark.parametrize(
    ("others", "severity", "remedies"), [(0, Severity.LOW, 1), (1, Severity.MEDIUM, 2)], ids=["all", "not all"]
)
def test_a_server_that_requires_tls_was_sent_the_password_all_the_same(others, severity, remedies) -> None:
    log = Log()
    log.refuses(3, err=13)
    log.refuses(others, BAR, err=0)
    (found,) = judged(log, facts.server(identity=facts.DS389))
    assert (found.severity, found.observed["refused"], len(found.remedies)) == (severity, 3, remedies)
    assert "refused 3 of them because it requires TLS" in found.detail


def test_the_commands_bind_over_tls_as_the_server_refuses_the_others_then() -> None:
    log = Log()
    log.refuses(1, err=0)
    (found,) = judged(log, facts.server(identity=facts.DS389))
    commands = found.remedies[1]
    assert "nsslapd-require-secure-binds: on" in commands.text
    for text in (commands.text, commands.undo, commands.verify):
        assert "ldap://" not in text or " -ZZ " in text


def test_a_bind_without_a_password_cannot_be_told_from_a_locked_account() -> None:
    log = Log()
    log.refuses(2, err=53)
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    log.refuses(1, err=0)
    found, rest = judged(log)
    assert (found.observed["binds"], type(rest)) == (1, NotJudged)


def test_a_connection_that_began_before_the_log_is_not_judged() -> None:
    log = Log()
    log.binds(5, op=9)
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)
    assert verdict.reason.startswith("1 connection with BINDs with a password began before the log")


@pytest.mark.parametrize(
    ("lost", "tls", "confidence"),
    [(0, True, Confidence.CERTAIN), (2, True, Confidence.LIKELY), (3, True, None), (3, False, Confidence.CERTAIN)],
)
def test_a_lost_line_may_be_the_one_that_shows_tls(lost, tls, confidence) -> None:
    log = Log()
    if tls:
        secured(log)
    log.refuses(3, err=0)
    log.scan.segment.lost = lost
    (verdict,) = judged(log)
    assert getattr(verdict, "confidence", None) is confidence


def test_a_log_without_binds_is_not_judged() -> None:
    log = Log()
    log.closes(log.opens())
    (verdict,) = judged(log)
    assert isinstance(verdict, NotJudged)


def test_hostile_names_and_many_of_them_are_listed_within_bounds() -> None:
    log = Log()
    for number in range(MOST + 3):
        log.refuses(1, b"\x1b[31mcn=\xff$(id)%d" % number, f"10.0.0.{number}", err=0)
    (found,) = judged(log, facts.server(identity=facts.DS389))
    assert len(found.observed["accounts"]) == len(found.observed["clients"]) == MOST
    assert found.observed["account_count"] == MOST + 3
    assert found.detail.count(" more") == 2
    assert all("\x1b" not in remedy.text and "$(id)" not in remedy.text for remedy in found.remedies)


def test_captured_pools_bind_in_the_clear(captures) -> None:
    """The log's own lines: a simple BIND with a DN, of a client that is not the host itself, and no line about TLS."""
    path = captures / "access-logs" / "389-pools.head500.access"
    text = path.read_text()
    assert "TLS" not in text
    assert "SSL" not in text
    client, sent = {}, Counter()
    for line in text.splitlines():
        words = line.partition("] ")[2].split()
        if "connection" in words:
            client[words[0]] = words[words.index("from") + 1]
        elif "BIND" in words and 'dn=""' not in words and not client.get(words[0], "local").startswith("127."):
            sent[client.get(words[0])] += client.get(words[0]) != "local"
    (found, *_) = verdicts_on(path, "binds-in-clear")
    assert found.observed["binds"] == sum(sent.values())
    assert found.observed["client_count"] == len([one for one in sent if sent[one]])


@pytest.mark.parametrize(
    ("case", "log"),
    [
        ("1-389ds-unindexed", "access"),
        ("2-openldap-unindexed", "slapd.stderr.log"),
        ("2-openldap-unindexed", "syslog-iso.log"),
        ("3-opendj-unindexed", "access"),
        ("3-opendj-unindexed", "ldap-access.audit.json"),
    ],
)
def test_captured_binds_over_ldap_ldaps_and_starttls_are_those_of_the_client(corpus, case, log) -> None:
    """What the program that made the load sent, by address and DN; all within one host."""
    sent = (corpus / case / "groundtruth" / "ops.jsonl").read_text().splitlines()
    binds = [one for one in map(json.loads, sent) if one["op"] == "BIND" and one["bind"]]
    clear = Counter((one["src"], one["bind"]) for one in binds if one["tag"] == "bind-ldap")
    assert {one["tag"] for one in binds} > {"bind-ldap"}, "others were sent over LDAPS or after StartTLS"
    (traffic,) = diagnosed(corpus / case / log).facts.every(Traffic)
    logged = {(client.decode(), dn.decode()): count for (client, dn), count in traffic.segment.clear_binds.items()}
    sources = {one["src"] for one in binds}
    assert {key: count for key, count in logged.items() if key[0] in sources - {"::1"}} == {
        key: count for key, count in clear.items() if key[0] != "::1"
    }
    (verdict,) = verdicts_on(corpus / case / log, "binds-in-clear")
    assert isinstance(verdict, Clear)
