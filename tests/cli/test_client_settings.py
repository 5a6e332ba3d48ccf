"""ldapdiag client-settings: the settings of the clients that are named, or of all, by the timeouts given."""

from __future__ import annotations

import pytest

from command import ldapdiag
from ldapdiag.servers.client_settings.choosing import EVERY_SOFTWARE


def test_the_settings_of_one_client_can_be_pasted_with_their_undo() -> None:
    ran = ldapdiag("client-settings", "--idle-timeout", "300", "--firewall", "100", "NSLCD")
    assert ran.code == 0
    lines = ran.text.splitlines()
    assert r"printf '\nidle_timelimit 50\n' >> /etc/nslcd.conf" in lines
    assert "mv /etc/nslcd.conf.before-ldapdiag /etc/nslcd.conf" in lines
    assert ran.text.count("Set the idle time of connections in") == 1


@pytest.mark.parametrize("timeout", [("--idle-timeout", "300"), ("--firewall", "350")])
def test_without_a_name_all_are_printed_by_one_timeout(timeout: tuple[str, str]) -> None:
    ran = ldapdiag("client-settings", *timeout)
    assert (ran.code, ran.text.count("Set the idle time of connections in")) == (0, len(EVERY_SOFTWARE))


def test_without_a_timeout_the_names_are_listed() -> None:
    ran = ldapdiag("client-settings")
    assert ran.code == 0
    assert [line.startswith(one.name) for one, line in zip(EVERY_SOFTWARE, ran.text.splitlines(), strict=False)] == (
        [True] * len(EVERY_SOFTWARE)
    )


def test_a_timeout_may_have_a_unit() -> None:
    assert ldapdiag("client-settings", "--idle-timeout", "5m").text == (
        ldapdiag("client-settings", "--idle-timeout", "300").text
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("SSSD",), "--firewall 1h SSSD"),
        (("--firewall", "350", "nothing-known"), "there are those of SSSD, nslcd"),
        (("--firewall", "350", "SSSD", "nothing-known"), "no settings of nothing-known"),
        (("--idle-timeout", "0"), "--idle-timeout takes 2 seconds or more; 0 is out of this range"),
        (("--idle-timeout", "5x"), "--idle-timeout takes seconds or 5m, as in 300; '5x' is neither"),
    ],
)
def test_2_when_there_is_nothing_to_print(arguments: tuple[str, ...], complaint: str) -> None:
    ran = ldapdiag("client-settings", *arguments)
    assert (ran.code, ran.out) == (2, b"")
    assert complaint in ran.err.decode()
