from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence import dsconfig_format
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.configuration import opends_settings as reader
from ldapdiag.evidence.family import Family
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

TABLE = "Property : Value(s)\n---------:---------\n"
MANAGER = "cn=Directory Manager,cn=Root DNs,cn=config"


def configuration_of(content: bytes | str) -> Configuration:
    (configuration,) = facts_of(content)
    assert isinstance(configuration, Configuration)
    return configuration


class TestCaptures:
    def test_reads_the_template_of_config_ldif(self, corpus: Path) -> None:
        found = configuration_of((corpus / "public" / "config" / "opendj-config.ldif").read_bytes())
        assert (found.identity.family, found.complete) == (Family.OPENDJ, True)
        assert (found.idle_timeout_seconds, found.max_connections, found.keepalive) == (0, 0, True)
        assert found.ports == (389,), "LDAPS, HTTP and JMX are not enabled"
        assert found.idle_exemptions == ((MANAGER, -1),)
        assert found.origin.not_understood == 0

    def test_reads_a_search(self, captures: Path) -> None:
        found = configuration_of((captures / "opendj" / "configured" / "cn-config.ldif").read_bytes())
        assert (found.idle_timeout_seconds, found.max_connections, found.keepalive) == (300, 5000, True)
        assert (found.ports, found.complete, found.origin.not_understood) == ((23489,), True, 0)

    @pytest.mark.parametrize(("folder", "seconds", "most"), [("held-39", 0, 0), ("configured", 300, 5000)])
    def test_reads_dsconfig(self, captures: Path, folder: str, seconds: int, most: int) -> None:
        path = captures / "opendj" / folder / "dsconfig-global-configuration.txt"
        found = configuration_of(path.read_bytes())
        assert (found.identity.family, found.idle_timeout_seconds, found.max_connections) == (
            Family.OPENDJ,
            seconds,
            most,
        )
        assert found.origin.not_understood == 0

    def test_reads_a_handler_of_dsconfig(self, captures: Path) -> None:
        found = configuration_of((captures / "opendj" / "configured" / "dsconfig-ldap-handler.txt").read_bytes())
        assert (found.ports, found.keepalive, found.listen_backlog) == ((23489,), True, 128)
        assert (found.idle_timeout_seconds, found.origin.not_understood) == (None, 0)

    def test_other_tables_are_ignored(self, corpus: Path) -> None:
        path = corpus / "3-opendj-unindexed" / "config" / "dsconfig-log-publishers.txt"
        assert facts_of(path.read_bytes()) == []


class TestLdif:
    def test_a_virtual_attribute_limits_every_account(self) -> None:
        found = configuration_of(
            "dn: cn=Idle time limit,cn=Virtual Attributes,cn=config\nds-cfg-enabled: true\nds-cfg-value: 300\n"
            "ds-cfg-attribute-type: ds-rlim-idle-time-limit\n\n"
        )
        assert (found.account_idle_timeout_seconds, found.idle_timeout_seconds) == (300, None)

    def test_accounts_have_a_limit_of_their_own_and_0_is_none(self) -> None:
        found = configuration_of(
            "dn: uid=a,dc=x\nds-rlim-idle-time-limit: 60\nuserPassword: hunter2\n\n"
            "dn: uid=b,dc=x\nds-rlim-idle-time-limit: 0\n\n"
        )
        assert found.idle_exemptions == (("uid=a,dc=x", 60), ("uid=b,dc=x", -1))
        assert "hunter2" not in repr(found)

    def test_handlers_that_disagree_on_keepalive_leave_it_open(self) -> None:
        handler = (
            "dn: cn={0},cn=Connection Handlers,cn=config\nobjectClass: ds-cfg-ldap-connection-handler\n"
            "ds-cfg-listen-port: {1}\nds-cfg-use-tcp-keep-alive: {2}\n\n"
        )
        assert configuration_of(handler.format("a", 389, "false")).keepalive is False
        assert configuration_of(handler.format("a", 389, "false") + handler.format("b", 636, "true")).keepalive is None

    def test_pingdirectory_is_recognised_by_its_own_limit_and_its_policies_are_noted(self) -> None:
        found = configuration_of(
            "dn: cn=config\nds-cfg-idle-time-limit: 0 s\nds-cfg-maximum-concurrent-connections: 2000\n\n"
            "dn: cn=default,cn=Client Connection Policies,cn=config\n"
            "ds-cfg-maximum-idle-connection-duration: 30 minutes\n\n"
        )
        assert (found.identity.family, found.idle_timeout_seconds, found.max_connections) == (Family.PING, 0, 2000)
        assert "idle for 1800 s" in found.origin.notes[0]

    def test_bounds_what_it_keeps(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reader, "MOST_ACCOUNTS", 3)
        found = configuration_of("".join(f"dn: uid={one}\nds-rlim-idle-time-limit: 5\n\n" for one in range(9)))
        assert len(found.idle_exemptions) == 3
        assert "Only the first 3 accounts" in found.origin.notes[0]

    def test_an_entry_of_which_only_the_limit_was_asked_is_no_whole_one(self) -> None:
        found = configuration_of("dn: cn=config\nds-cfg-idle-time-limit: 5 minutes\n\n")
        assert (found.complete, found.idle_timeout_seconds) == (False, 300)


class TestDsconfig:
    def test_several_tables_are_one_configuration(self) -> None:
        found = configuration_of(
            f"{TABLE}idle-time-limit : 5 m\nmax-allowed-client-connections : 0\n\n"
            f"{TABLE}enabled : true\nlisten-port : 636\nuse-tcp-keep-alive : false\n\n{TABLE}num-worker-threads : 24\n"
        )
        assert (found.idle_timeout_seconds, found.ports, found.keepalive, found.threads) == (300, (636,), False, 24)

    def test_reads_pingdirectory_s_and_the_form_with_tabs(self) -> None:
        found = configuration_of("idle-time-limit\t300000 ms\nmaximum-concurrent-connections\t5000\n")
        assert (found.identity.family, found.idle_timeout_seconds, found.max_connections) == (Family.PING, 300, 5000)

    def test_a_virtual_attribute_limits_every_account(self) -> None:
        rows = f"{TABLE}attribute-type : ds-rlim-idle-time-limit\nvalue : 300\nenabled : true\n"
        assert configuration_of(rows).account_idle_timeout_seconds == 300
        assert facts_of(rows.replace("true", "false")) == []
        assert facts_of(rows.replace("ds-rlim-idle-time-limit", "mail")) == []

    def test_a_handler_of_http_is_none_of_ldap(self) -> None:
        rows = "java-class : org.opends.HTTPConnectionHandler\nlisten-port : 8080\nuse-tcp-keep-alive : true\n"
        assert configuration_of(f"{TABLE}idle-time-limit : 0 s\n{TABLE}{rows}").ports == ()

    def test_other_values_go_nowhere(self) -> None:
        (found,) = facts_of(f"{TABLE}idle-time-limit : 0 s\nkey-store-pin : hunter2\n  : hunter2\nhunter2 again\n")
        assert "hunter2" not in repr(found)
        assert found.origin.not_understood == 1

    @given(st.lists(st.text(max_size=60) | st.just(TABLE) | st.just("listen-port : 1\n"), max_size=12))
    def test_survives_anything(self, parts: list[str]) -> None:
        for found in facts_of("".join(parts), form=dsconfig_format.FORMAT):
            assert found.origin.lines == found.origin.understood + found.origin.not_understood
