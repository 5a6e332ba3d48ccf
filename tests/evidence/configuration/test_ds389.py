from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.configuration import ds389 as reader
from ldapdiag.evidence.family import Family
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

HASH = "{PBKDF2-SHA512}"


def configuration_of(path: Path) -> Configuration:
    facts = facts_of(path.read_bytes(), path=f"ldap/{path.name}")
    (configuration,) = [fact for fact in facts if isinstance(fact, Configuration)]
    return configuration


class TestCaptures:
    def test_reads_every_setting_of_a_whole_entry(self, captures: Path) -> None:
        path = captures / "389ds" / "held-43" / "cn-config.ldif"
        found = configuration_of(path)
        assert (found.identity.family, found.identity.version) == (Family.DS389, (2, 3, 1))
        assert found.complete
        assert (found.idle_timeout_seconds, found.keepalive_seconds) == (3600, 300)
        assert (found.max_descriptors, found.reserved_descriptors, found.connection_table_size) == (20000, 64, None)
        assert (found.threads, found.max_threads_per_connection, found.listen_backlog) == (16, 5, 128)
        assert found.ports == (13389, 13636)
        assert found.local_sockets == ("/srv/corp389/run/slapd-corp1.socket",)
        assert found.origin.not_understood == 0

    def test_keeps_no_password(self, captures: Path) -> None:
        path = captures / "389ds" / "held-43" / "cn-config.ldif"
        assert HASH in path.read_text()
        assert HASH not in repr(configuration_of(path))

    def test_knows_an_excerpt(self, captures: Path) -> None:
        found = configuration_of(captures / "389ds" / "ghosts-behind-a-firewall" / "cn-config-limits.ldif")
        assert not found.complete
        assert (found.idle_timeout_seconds, found.keepalive_seconds, found.max_descriptors) == (0, 300, 20000)
        assert (found.threads, found.ports) == (None, ())

    def test_reads_dse_ldif(self, corpus: Path) -> None:
        found = configuration_of(corpus / "1-389ds-unindexed" / "config" / "dse.ldif")
        assert found.complete
        assert (found.idle_timeout_seconds, found.max_descriptors, found.ports) == (3600, None, (13389, 13636))
        assert HASH not in repr(found)

    def test_reads_public_dse_files(self, corpus: Path) -> None:
        found = configuration_of(corpus / "public" / "config" / "389-dse-insights-real.ldif")
        assert (found.complete, found.idle_timeout_seconds, found.ports) == (True, None, (389, 636))
        assert configuration_of(corpus / "public" / "config" / "389-dse.ldif.broken").max_descriptors == 1024


class TestEntries:
    def test_a_cut_entry_is_not_complete(self) -> None:
        (found,) = facts_of("dn: cn=config\ncn: config\nobjectClass: top\nnsslapd-port: 389")
        assert not found.complete

    def test_a_negative_number_of_threads_leaves_it_to_the_server(self) -> None:
        (found,) = facts_of("dn: cn=config\nnsslapd-threadnumber: -1\nnsslapd-conntablesize: 4093\n")
        assert (found.threads, found.connection_table_size) == (None, 4093)

    @pytest.mark.parametrize(("security", "ports"), [("on", (389, 636)), ("off", (389,)), ("", (389, 636))])
    def test_the_secure_port_counts_while_tls_is_on(self, security: str, ports: tuple[int, ...]) -> None:
        line = f"nsslapd-security: {security}\n" if security else ""
        (found,) = facts_of(f"dn: cn=config\nnsslapd-port: 389\nnsslapd-securePort: 636\n{line}")
        assert found.ports == ports

    def test_collects_exempt_and_replication_accounts(self) -> None:
        (found,) = facts_of(
            "dn: cn=Replication Manager,cn=config\nnsIdleTimeout: -1\n\n"
            "dn: uid=pool,dc=example,dc=com\nnsIdleTimeout: 900\n\n"
            "dn: cn=replica,cn=dc\\3Dexample,cn=mapping tree,cn=config\n"
            "nsDS5ReplicaBindDN: cn=Replication Manager,cn=config\n"
            "nsDS5ReplicaBindDNGroup: cn=suppliers,dc=example,dc=com\nnsDS5ReplicaCredentials: hunter2\n"
        )
        assert found.idle_exemptions == (("cn=Replication Manager,cn=config", -1), ("uid=pool,dc=example,dc=com", 900))
        assert found.replication_accounts == ("cn=Replication Manager,cn=config",)
        assert "cn=suppliers,dc=example,dc=com" in found.origin.notes[0]
        assert not found.complete
        assert "hunter2" not in repr(found)

    def test_bounds_what_it_keeps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reader, "MOST_ACCOUNTS", 3)
        (found,) = facts_of("".join(f"dn: uid={number}\nnsIdleTimeout: 5\n\n" for number in range(9)))
        assert len(found.idle_exemptions) == 3
        assert "Only the first 3 accounts" in found.origin.notes[0]

    def test_opendj_s_is_not_taken_for_it(self, corpus: Path) -> None:
        found = configuration_of(corpus / "public" / "config" / "opendj-config.ldif")
        assert found.identity.family is Family.OPENDJ
