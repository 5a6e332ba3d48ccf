"""What ldapdiag knows of Active Directory, and what it offers to run there."""

from __future__ import annotations

import pytest

from facts import address_of
from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, RemedyKind
from ldapdiag.servers.products import product_of

AD = product_of(Family.AD)
DC1 = address_of("dc1")
HOSTILE = ('dc1" "Delete everything', "dc1;reboot", "$(reboot)", "a b", "a\nb", "", "%COMSPEC%", "dc1&calc", "a" * 300)


def every_remedy(name="dc1"):
    name = address_of(name)
    yield AD.remedies.set_idle_timeout(name, 300, 900)
    yield AD.remedies.set_idle_timeout(name, 300, None)
    yield AD.remedies.set_keepalive(name, 120)
    yield AD.remedies.set_keepalive(name, 120, 300)
    yield AD.remedies.raise_descriptor_limit(name, None, 10_000)
    yield AD.remedies.raise_backlog(name, None, 1000)
    yield AD.remedies.raise_threads(name, None, 8)
    yield AD.remedies.raise_threads(name, 8, -1)
    yield AD.remedies.require_secure_binds(name)


def test_an_idle_connection_is_closed_after_900_s_by_default():
    assert AD.defaults.idle_timeout_seconds.at(()) == 900


def test_windows_keepalive_applies_and_no_document_says_whether_it_is_on():
    assert AD.defaults.sets_keepalive_time.at(()) is False
    assert AD.defaults.keepalive_seconds.at(()) is None
    assert AD.defaults.sends_keepalives.at(()) is None


@pytest.mark.parametrize(
    "remedy", [pytest.param(remedy, id=f"{number}-{remedy.title}") for number, remedy in enumerate(every_remedy())]
)
class TestEveryRemedy:
    def test_is_complete(self, remedy):
        assert all((remedy.title, remedy.text, remedy.changes, remedy.risk, remedy.undo, remedy.verify))
        assert remedy.family is Family.AD

    def test_is_one_command_that_cmd_and_powershell_read_alike(self, remedy):
        for text in (remedy.text, remedy.undo) if remedy.kind is RemedyKind.SHELL else ():
            assert "\n" not in text
            assert text.startswith(("ntdsutil ", "reg "))
            assert text.count('"') % 2 == 0
            assert not set("%$&|<>^`'!") & set(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_host_name_never_enters_a_command(name):
    for remedy in every_remedy(name):
        for text in (remedy.text, remedy.undo, remedy.verify):
            assert '"Connect to server SERVER"' in text or "Connect to server" not in text
            assert "reboot" not in text


def test_the_idle_timeout_is_a_policy_of_the_forest():
    remedy = AD.remedies.set_idle_timeout(DC1, 300, 900)
    assert remedy.text == (
        'ntdsutil "LDAP policies" "Connections" "Connect to server dc1" "Quit" "Set MaxConnIdleTime to 300" '
        '"Commit Changes" "Show Values" "Quit" "Quit"'
    )
    assert "Set MaxConnIdleTime to 900" in remedy.undo
    assert "Set" not in remedy.verify
    assert "every domain controller of the forest" in remedy.changes
    assert "Set-ADObject" in remedy.changes
    assert "No account can be exempted" in remedy.risk
    assert AD.remedies.exempt_from_idle_timeout(DC1, ("CN=app,DC=x",)) is None


def test_without_a_former_value_the_undo_writes_the_default():
    assert "Set MaxConnIdleTime to 900" in AD.remedies.set_idle_timeout(DC1, 300, None).undo
    assert "Set MaxConnections to 5000" in AD.remedies.raise_descriptor_limit(DC1, 1024, 10_000).undo


def test_keepalive_is_that_of_windows_and_undone_by_deleting_it():
    remedy = AD.remedies.set_keepalive(DC1, 120)
    assert "KeepAliveTime /t REG_DWORD /d 120000 /f" in remedy.text
    assert remedy.undo.startswith("reg delete ")
    assert remedy.needs is Needs.RESTART


def test_threads_count_for_each_processor():
    assert "Set MaxPoolThreads to 4" in AD.remedies.raise_threads(DC1, 8, -1).text
    assert "per processor" in AD.remedies.raise_threads(DC1, None, 8).title
