from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.configuration.openldap import syncrepl_account
from ldapdiag.evidence.family import Family
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path


def configuration_of(path: Path) -> Configuration:
    facts = facts_of(path.read_bytes(), path=f"ldap/{path.name}")
    (configuration,) = [fact for fact in facts if isinstance(fact, Configuration)]
    return configuration


class TestCaptures:
    def test_reads_a_whole_cn_config_where_the_idle_timeout_is_at_its_default(self, captures: Path) -> None:
        found = configuration_of(captures / "openldap" / "held-42" / "cn-config.ldif")
        assert found.identity.family is Family.OPENLDAP
        assert (found.complete, found.idle_timeout_seconds, found.threads) == (True, None, 8)
        assert (found.origin.lines, found.origin.not_understood) == (133, 0)

    def test_reads_slapcat(self, corpus: Path) -> None:
        found = configuration_of(corpus / "2-openldap-unindexed" / "config" / "slapcat-n0-head60.ldif")
        assert (found.complete, found.threads) == (True, 8)

    def test_reads_public_ones(self, corpus: Path) -> None:
        assert configuration_of(corpus / "public" / "config" / "zimbra-cn-config.ldif").idle_timeout_seconds == 0
        assert configuration_of(corpus / "public" / "config" / "debian-slapd-init.ldif").threads is None


class TestEntries:
    def test_collects_the_accounts_that_replicate_and_no_password(self) -> None:
        (found,) = facts_of(
            "dn: olcDatabase={1}mdb,cn=config\nolcUpdateDN: cn=updater,dc=x\nolcRootPW: hunter2\n"
            'olcSyncrepl: {0}rid=001 provider=ldap://a bindmethod=simple binddn="cn=re pl,dc=x" credentials=hunter2\n'
            "olcSyncRepl: {1}rid=002 credentials=hunter2 binddn=cn=other,dc=x\n\n"
        )
        assert found.replication_accounts == ("cn=updater,dc=x", "cn=re pl,dc=x", "cn=other,dc=x")
        assert "hunter2" not in repr(found)
        assert not found.complete

    def test_an_excerpt_is_not_complete(self) -> None:
        (found,) = facts_of("dn: cn=config\nolcIdleTimeout: 900\n\n")
        assert (found.complete, found.idle_timeout_seconds) == (False, 900)


@pytest.mark.parametrize(
    ("specification", "account"),
    [
        ('rid=1 BINDDN="cn=a b,dc=x" credentials=y', "cn=a b,dc=x"),
        ("rid=1 binddn=cn=a,dc=x", "cn=a,dc=x"),
        ('rid=1 binddn=""', ""),
        ("rid=1 bindmethod=sasl", ""),
    ],
)
def test_the_account_of_a_syncrepl_specification(specification: str, account: str) -> None:
    assert syncrepl_account(specification) == account


def test_a_global_entry_where_nothing_is_set_is_a_configuration() -> None:
    (found,) = facts_of(b"dn: cn=config\nobjectClass: olcGlobal\ncn: config\n\n", path="ldap/config.ldif")
    assert isinstance(found, Configuration)
    assert (found.identity.family, found.complete, found.idle_timeout_seconds) == (Family.OPENLDAP, True, None)
