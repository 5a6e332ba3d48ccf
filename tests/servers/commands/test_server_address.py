"""Commands for one of several servers of a host reach that one, or are not given."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag.servers.products import product_of

ONLY = ServerAddress(is_named=True, name="ldap", host="ldap", ports=(389,), pid=7)
SECOND = ServerAddress(
    is_named=True,
    name="slapd-ds2@ldap", host="ldap", ports=(1389, 1636), instance="ds2", pid=4711,
    socket="ldapi://%2Frun%2Fsecond%2Fldapi",
)  # fmt: skip
UNKNOWN = ServerAddress(is_named=True, name="ldap:1389", host="ldap", ports=(1389,))
FAMILIES = [family for family in Family if product_of(family)]


def remedies(family: Family, server: ServerAddress):
    product = product_of(family)
    assert product
    make = product.remedies
    made = [
        make.set_idle_timeout(server, 300, None),
        make.raise_descriptor_limit(server, None, 20_000),
        make.raise_backlog(server, None, 512),
        make.raise_threads(server, 16, 32),
    ]
    return [(before, server.adapt(before)) for before in made]


@pytest.mark.parametrize("family", FAMILIES)
def test_those_of_the_only_server_are_unchanged(family: Family) -> None:
    assert all(before == after for before, after in remedies(family, ONLY))


@pytest.mark.parametrize("family", FAMILIES)
def test_no_command_names_what_another_server_may_have(family: Family) -> None:
    for _, remedy in remedies(family, UNKNOWN):
        assert remedy.target == "ldap:1389"
        if remedy.kind is RemedyKind.SHELL:
            text = f"{remedy.text}\n{remedy.undo}\n{remedy.verify}"
            assert not any(one in text for one in ("ldapi:///\n", "pidof", "restart slapd", "SERVER", "ldap://ldap "))


def test_of_389_ds_the_instance_is_named() -> None:
    _, (_, descriptors), (_, backlog), _ = remedies(Family.DS389, SECOND)
    for remedy in (descriptors, backlog):
        assert remedy.kind is RemedyKind.SHELL
        assert "systemctl restart dirsrv@ds2" in remedy.text
        assert "ldap://ldap:1389" in remedy.text
        assert "dirsrv.target" not in remedy.text + remedy.undo
        assert "on the host" not in remedy.changes + remedy.risk
    assert "/etc/systemd/system/dirsrv@ds2.service.d" in descriptors.text
    assert "/proc/4711/limits" in descriptors.verify
    assert "sport = :1389 or sport = :1636" in backlog.verify


def test_of_slapd_the_local_socket_is_named_and_the_service_is_not() -> None:
    (_, timeout), (_, descriptors), _, (_, threads) = remedies(Family.OPENLDAP, SECOND)
    for remedy in (timeout, threads):
        assert remedy.kind is RemedyKind.SHELL
        assert "-H ldapi://%2Frun%2Fsecond%2Fldapi <<" in remedy.text
    assert descriptors.kind is RemedyKind.ADVICE
    assert "the service that starts it" in descriptors.text
    assert "-H ldap://ldap:1389 -D cn=config -W <<" in remedies(Family.OPENLDAP, UNKNOWN)[0][1].text
