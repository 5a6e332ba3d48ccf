from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ldapdiag.evidence.monitor import Monitor, MonitoredConnection
from ldapdiag.evidence.monitor.own_connection import parse_own_connection, without_own_connection
from reading import facts_of

MANAGER = "cn=Directory Manager"
EARLY = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
LATE = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
TOLD = f"10.0.0.1:40001 as {MANAGER}"
RESTING = MonitoredConnection(
    account=MANAGER, client="10.0.0.1", opened=LATE, operations_started=3, operations_completed=3
)
OLDER = replace(RESTING, operations_started=4, opened=EARLY)
OURS = replace(OLDER, account="cn=directory manager", opened=LATE)


class TestTheComment:
    @pytest.mark.parametrize(
        ("text", "client", "port", "account"),
        [
            (TOLD, "10.0.0.1", 40001, MANAGER),
            ("10.0.0.1:40001 as ", "10.0.0.1", 40001, ""),
            ("10.0.0.1:40001 as", "10.0.0.1", 40001, ""),
            ("[2001:db8::1]:389 as uid=a as b", "2001:db8::1", 389, "uid=a as b"),
            ("ldapi as cn=root", "ldapi", None, "cn=root"),
        ],
    )
    def test_names_our_end_and_account(self, text, client, port, account):
        own = parse_own_connection(text)
        assert (own.client, own.port, own.account) == (client, port, account)

    @pytest.mark.parametrize("text", ["", "somebody", "10.0.0.1 as x", "10.0.0.1:x as y", " as "])
    def test_without_a_connection_removes_none(self, text):
        assert parse_own_connection(text) is None
        assert without_own_connection((OURS,), 1, text) == ((OURS,), 1)


class TestWithoutPorts:
    def test_ours_is_the_newest_of_our_account_that_waits(self):
        assert without_own_connection((RESTING, OURS, OLDER), 3, TOLD) == ((RESTING, OLDER), 2)

    @pytest.mark.parametrize(
        "other",
        [RESTING, replace(OURS, account="uid=a"), replace(OURS, client="10.0.0.2"), replace(OURS, client="ldapi")],
        ids=["resting", "account", "address", "socket"],
    )
    def test_another_connection_stays_and_is_counted(self, other):
        assert without_own_connection((other,), 1, TOLD) == ((other,), 1)

    def test_a_server_that_names_no_client_is_asked_for_the_account(self):
        assert without_own_connection((replace(OURS, client=""),), 1, TOLD) == ((), 0)


class TestWithPorts:
    def test_ours_is_the_one_at_our_port(self):
        other, ours = replace(OURS, client_port=40000), replace(RESTING, client_port=40001)
        assert without_own_connection((other, ours), 2, TOLD) == ((other,), 1)

    def test_none_is_removed_when_a_middlebox_has_translated_our_address(self):
        other = replace(OURS, client_port=40000)
        assert without_own_connection((other,), 1, TOLD) == ((other,), 1)


class TestHidden:
    def test_the_counter_alone_is_lowered(self):
        assert without_own_connection(None, 7, TOLD) == (None, 6)
        assert without_own_connection(None, None, TOLD) == (None, None)
        assert without_own_connection(None, 0, TOLD) == (None, 0)


class TestCaptures:
    """What is left out of a capture is one connection, and nothing without the comment."""

    @pytest.mark.parametrize(
        ("file", "text"),
        [
            ("389ds/held-43/cn-monitor-base.ldif", "127.0.0.1:40001 as cn=Directory Manager"),
            ("openldap/held-42/cn-Monitor-subtree.ldif", None),
            ("opendj/held-39/cn-monitor-subtree.ldif", None),
        ],
    )
    def test_of_each_family(self, captures, file, text):
        content = (captures / file).read_bytes()
        (whole,) = [fact for fact in facts_of(content) if isinstance(fact, Monitor)]
        some = whole.connections[-1]
        text = text or f"{some.client}:{some.client_port} as {some.account}"
        asked = facts_of(f"# asked by {text}\n".encode() + content)
        (without,) = [fact for fact in asked if isinstance(fact, Monitor)]
        assert len(without.connections) == len(whole.connections) - 1
        assert without.current_connections == whole.current_connections - 1
        assert without.total_connections == whole.total_connections
        assert without.origin.not_understood == whole.origin.not_understood

    def test_any_other_comment_is_ignored(self, captures):
        content = (captures / "389ds/held-43/cn-monitor-base.ldif").read_bytes()
        assert facts_of(b"# asked for by ldapi as x\n#\n" + content)[0].connections == facts_of(content)[0].connections
