"""connection-share: by account where cn=monitor tells, else by client."""

from __future__ import annotations

import facts
from ldapdiag.analysis.load.accounts import count_accounts
from ldapdiag.evidence.monitor import MonitoredConnection
from ldapdiag.finding import NotJudged, Severity
from ldapdiag_checks.connection_share import judge

ROWS = [*facts.at_server(5), *facts.at_server(2, facts.APP2)]


def connected(count, account, client=facts.APP1):
    return [MonitoredConnection(account=account, client=client)] * count


def test_counts_by_client_in_the_table() -> None:
    (found,) = judge(facts.server(), facts.host("ldap", facts.table(ROWS)))
    assert found.severity is Severity.INFO
    assert found.observed == {
        "server": "ldap",
        "by_account": [],
        "by_client": [{"client": facts.APP1, "connections": 5}, {"client": facts.APP2, "connections": 2}],
    }


def test_counts_by_account_in_cn_monitor_whatever_their_case() -> None:
    told = facts.monitor(connections=(*connected(2, "uid=xyz"), *connected(1, "UID=XYZ"), *connected(1, "")))
    server = facts.server(monitor=told)
    (found,) = judge(server, facts.host("ldap", facts.table(ROWS)), count_accounts(server))
    assert found.observed["by_account"] == [
        {"bind_dn": "uid=xyz", "connections": 3},
        {"bind_dn": "anonymous", "connections": 1},
    ]
    assert found.title == "uid=xyz has 3 of the 4 connections in cn=monitor"


def test_is_not_judged_with_neither() -> None:
    (verdict,) = judge(facts.server(), facts.host("ldap"))
    assert (type(verdict), verdict.missing) == (NotJudged, ("monitor", "socket-table"))
    assert verdict.how
