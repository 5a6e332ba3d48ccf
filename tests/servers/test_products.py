"""What a remedy promises, whatever it is given."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts import address_of
from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, RemedyKind, Where, read_whole
from ldapdiag.report.findings import first_sentence
from ldapdiag.servers.commands.ldap_tools import host
from ldapdiag.servers.commands.shell_text import host_name
from ldapdiag.servers.hosts.closing_remedies import MOST_PORTS, close_ghosts, prove_dead, restart_server
from ldapdiag.servers.hosts.host_remedies import raise_box_timeout, raise_conntrack, set_client_keepalive
from ldapdiag.servers.products import product_of

LDAP = address_of("ldap")
SERVER_END = ("10.77.1.2", 389)
DS389 = product_of(Family.DS389).remedies
OPENLDAP = product_of(Family.OPENLDAP).remedies
DSEE = product_of(Family.DSEE).remedies
OPENDJ = product_of(Family.OPENDJ).remedies
PING = product_of(Family.PING).remedies
HOSTILE = (
    "a;reboot",
    "$(reboot)",
    "`reboot`",
    "a b",
    "a\nb",
    "-oProxyCommand=x",
    "a'b",
    'a"b',
    "",
    "a/../b",
    "a" * 300,
)


def every_remedy(name="ldap"):
    server = address_of(name)
    for remedies in (DS389, OPENLDAP, DSEE, OPENDJ, PING):
        yield remedies.set_idle_timeout(server, 300, 0, (2, 3, 1))
        yield remedies.set_idle_timeout(server, 300, 600, (4, 10, 1))
        yield remedies.set_idle_timeout(server, 300, 600, (11, 1, 1))
        yield remedies.set_idle_timeout(server, 300, None)
        yield remedies.set_keepalive(server, 120, 300, (2, 3, 1))
        yield remedies.set_keepalive(server, 120, version=(1, 4, 3))
        yield remedies.raise_descriptor_limit(server, 1024, 8192, (2, 3, 1))
        yield remedies.raise_descriptor_limit(server, None, 8192)
        yield remedies.raise_backlog(server, 128, 1024)
        yield remedies.raise_backlog(server, None, 1024, (6, 3, 0))
        yield remedies.raise_threads(server, 16, 32)
        yield remedies.raise_threads(server, None, 32)
    for remedies in (DS389, OPENLDAP, OPENDJ, PING):
        yield remedies.require_secure_binds(server)
    for remedies in (DS389, DSEE, OPENDJ, PING):
        yield remedies.exempt_from_idle_timeout(
            server, ("uid=repl,dc=example,dc=com", "uid=$(reboot),dc=example,dc=com")
        )
    yield set_client_keepalive(name, 120)
    yield close_ghosts(name, SERVER_END, "10.77.2.2", (40001, 40002))
    yield close_ghosts(name, SERVER_END, "10.77.2.2", range(1025, 65000), seen=1_795_165_063)
    yield restart_server(name, "systemctl restart slapd", 12, 3)
    yield prove_dead(name, 12, is_read=True)
    yield raise_conntrack(name, 60_000, 65_536)
    yield raise_box_timeout(name, 3600, linux=True)


def shell_accepts(text):
    return subprocess.run([shutil.which("sh") or "/bin/sh", "-n"], input=text, text=True, check=False).returncode == 0


@pytest.mark.parametrize(
    "remedy", [pytest.param(remedy, id=f"{number}-{remedy.title}") for number, remedy in enumerate(every_remedy())]
)
class TestEveryRemedy:
    def test_is_complete(self, remedy):
        assert all((remedy.title, remedy.text, remedy.changes, remedy.risk, remedy.undo, remedy.verify))

    def test_is_shell_from_end_to_end(self, remedy):
        assert remedy.kind is RemedyKind.SHELL
        undo = "" if remedy.undo.startswith("None needed") else remedy.undo
        assert all(shell_accepts(text) for text in (remedy.text, undo, remedy.verify))

    def test_names_no_local_socket_that_no_evidence_shows(self, remedy):
        assert not any("-H ldapi" in text for text in (remedy.text, remedy.undo, remedy.verify))

    def test_trusts_no_certificate_unread(self, remedy):
        """The password would go to whoever answers: dsconfig's --trustAll, LDAPTLS_REQCERT=never, curl's -k."""
        texts = (remedy.text, remedy.undo, remedy.verify)
        assert not any(
            re.search(r"--?trustAll|REQCERT=(never|allow)|--insecure", text, re.IGNORECASE) for text in texts
        )

    def test_is_read_by_the_shell_before_a_password_is_asked_for(self, remedy):
        for text in (remedy.text, remedy.undo, remedy.verify):
            prompts_early = re.search(
                r" -W\b.*\n", re.sub(r"<<'(\w+)'.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
            )
            assert not prompts_early or (read_whole(text) == text and text.endswith("\n)"))

    def test_lets_the_shell_expand_nothing_in_a_here_document(self, remedy):
        for text in (remedy.text, remedy.undo):
            assert text.count("<<") == text.count("<<'")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_is_no_host_name_never_enters_a_command(name):
    assert host_name(name) == "SERVER"
    for remedy in every_remedy(name):
        assert not any(
            word in text for word in ("reboot", "Proxy", "/../") for text in (remedy.text, remedy.verify)
        ) or ("uid=$(reboot)" in remedy.text)


@given(st.text(max_size=40))
def test_what_becomes_of_any_name_is_safe_in_a_url_and_in_a_shell(name):
    assert set(host_name(name)) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-[]")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("ldap", "ldap"), ("10.77.1.2", "10.77.1.2"), ("ds1:1389", "ds1:1389"), ("2001:db8::1", "[2001:db8::1]")],
)
def test_a_host_name_stands_as_a_url_wants_it(name, shown):
    assert host_name(name) == shown


@pytest.mark.parametrize(
    ("name", "bare"), [("ldap", "ldap"), ("2001:db8::1", "2001:db8::1"), ("a b", '"${LDAP_HOST:?}"'), ("::1", "::1")]
)
def test_a_host_name_stands_as_an_option_wants_it(name, bare):
    assert host(address_of(name)) == bare


class TestIdleTimeoutOf389:
    def test_reads_as_sketched(self):
        assert DS389.set_idle_timeout(LDAP, 300, 0).text.splitlines() == [
            "ldapmodify -x -H ldap://ldap -D \"cn=Directory Manager\" -W <<'LDIF'",
            "dn: cn=config",
            "changetype: modify",
            "replace: nsslapd-idletimeout",
            "nsslapd-idletimeout: 300",
            "LDIF",
        ]

    def test_goes_back_to_the_former_value_or_to_the_default(self):
        assert "nsslapd-idletimeout: 3600" in DS389.set_idle_timeout(LDAP, 300, 3600).undo
        assert "delete: nsslapd-idletimeout" in DS389.set_idle_timeout(LDAP, 300, None).undo

    def test_says_that_open_connections_keep_their_limit(self):
        remedy = DS389.set_idle_timeout(LDAP, 300, 0, (2, 3, 1))
        assert remedy.needs is Needs.REBIND
        assert "those that are open now keep the old one" in remedy.changes
        assert "issue #6004" in remedy.changes

    def test_claims_no_more_than_is_known_of_a_newer_version(self):
        remedy = DS389.set_idle_timeout(LDAP, 300, 0, (3, 1, 0))
        assert "those that are open now may keep the old one" in remedy.changes
        assert "#6004" not in remedy.changes


class TestIdleTimeoutOfOpenldap:
    def test_holds_at_once(self):
        assert OPENLDAP.set_idle_timeout(LDAP, 300, 0).needs is Needs.NONE

    def test_names_the_line_for_servers_without_cn_config(self):
        assert "'idletimeout 300' to slapd.conf" in OPENLDAP.set_idle_timeout(LDAP, 300, 0).changes


class TestIdleTimeoutOfDsee:
    @pytest.mark.parametrize("version", [(), (6, 3, 0), (11, 1, 1)])
    def test_is_a_property_of_dsconf(self, version):
        remedy = DSEE.set_idle_timeout(LDAP, 300, 0, version)
        assert remedy.text == "dsconf set-server-prop -h ldap -p 389 idle-timeout:300"
        assert remedy.undo == "dsconf set-server-prop -h ldap -p 389 idle-timeout:none"
        assert remedy.verify == "dsconf get-server-prop -h ldap -p 389 idle-timeout"

    def test_is_an_attribute_before_dsconf_came(self):
        remedy = DSEE.set_idle_timeout(LDAP, 300, None, (5, 2, 0))
        assert "nsslapd-idletimeout: 300" in remedy.text
        assert "nsslapd-idletimeout: 0" in remedy.undo


class TestIdleTimeoutOfOpendj:
    @pytest.mark.parametrize("version", [(), (3, 0, 0), (5, 1, 2), (6, 5, 0), (12, 2, 1)])
    def test_is_a_property_of_the_global_configuration(self, version):
        remedy = OPENDJ.set_idle_timeout(LDAP, 300, 600, version)
        assert remedy.text == (
            'dsconfig set-global-configuration-prop -h ldap -p 4444 -D "cn=Directory Manager" '
            '--bindPasswordFile ~/.ldap-password -X -n --set "idle-time-limit:300 s"'
        )
        assert '--set "idle-time-limit:600 s"' in remedy.undo

    @pytest.mark.parametrize("version", [(4, 0, 0), (4, 5, 4), (4, 10, 1)])
    def test_is_a_virtual_attribute_where_that_property_is_ignored(self, version):
        remedy = OPENDJ.set_idle_timeout(LDAP, 300, 0, version)
        assert "create-virtual-attribute" in remedy.text
        assert "idle-time-limit:300" not in remedy.text
        assert "issue 697" in remedy.changes
        assert "delete-virtual-attribute" in remedy.undo

    def test_is_set_as_the_administrator_that_newer_ones_have(self):
        assert "-D uid=admin " in OPENDJ.set_idle_timeout(LDAP, 300, 0, (8, 0, 0)).text
        assert "-D uid=admin " not in OPENDJ.set_idle_timeout(LDAP, 300, 0, (11, 1, 2)).text


class TestIdleTimeoutOfPing:
    def test_is_a_property_of_the_global_configuration(self):
        remedy = PING.set_idle_timeout(LDAP, 300, None)
        assert remedy.text.startswith("dsconfig set-global-configuration-prop --hostname ldap --port 636 --useSSL")
        assert remedy.text.endswith('--no-prompt --set "idle-time-limit:300 s"')
        assert '--set "idle-time-limit:0 s"' in remedy.undo


class TestKeepalive:
    def test_is_the_servers_where_it_has_one(self):
        assert "nsslapd-tcp-keepalive-time: 15" in DS389.set_keepalive(LDAP, 15, version=(2, 3, 1)).text

    @pytest.mark.parametrize("remedies", [DS389, OPENLDAP, DSEE, OPENDJ, PING])
    def test_is_the_kernels_where_it_has_none(self, remedies):
        remedy = remedies.set_keepalive(LDAP, 15, version=(1, 4, 3))
        assert "net.ipv4.tcp_keepalive_time = 15" in remedy.text
        assert "whole host" in remedy.changes
        assert "tcp_keepalive_time=7200" in remedy.undo

    def test_of_a_client_names_what_switches_it_on(self):
        remedy = set_client_keepalive("app1", 120)
        assert remedy.where is Where.CLIENT
        assert "SO_KEEPALIVE" in remedy.changes


class TestExemption:
    def test_pastes_names_only_when_they_are_distinguished_names(self):
        remedy = DS389.exempt_from_idle_timeout(LDAP, ("uid=a,dc=x", "rm -rf /", "uid=b\n,dc=x"))
        assert remedy is not None
        assert "rm -rf" not in remedy.text + remedy.changes + remedy.verify
        assert "2 whose names are not distinguished names" in remedy.changes

    def test_writes_what_ldif_cannot_hold_in_base64(self):
        remedy = DS389.exempt_from_idle_timeout(LDAP, ("uid=jürgen,dc=x",))
        assert remedy is not None
        assert "dn:: dWlkPWrDvHJnZW4sZGM9eA==" in remedy.text

    def test_is_not_for_who_is_exempt_anyway(self):
        assert DS389.exempt_from_idle_timeout(LDAP, ("cn=directory manager",)) is None

    @pytest.mark.parametrize(
        ("remedies", "setting"),
        [
            (DSEE, "nsIdleTimeout: -1"),
            (OPENDJ, "ds-rlim-idle-time-limit: 0"),
            (PING, "ds-rlim-idle-time-limit: 0"),
        ],
    )
    def test_says_never_in_the_words_of_each_product(self, remedies, setting):
        assert setting in remedies.exempt_from_idle_timeout(LDAP, ("uid=a,dc=x",)).text
        assert ": 60\n" in remedies.exempt_from_idle_timeout(LDAP, ("uid=a,dc=x",), 60).text

    def test_does_not_exist_in_openldap(self):
        assert OPENLDAP.exempt_from_idle_timeout(LDAP, ("uid=a,dc=x",)) is None


class TestDescriptors:
    def test_are_raised_for_the_process_before_the_server(self):
        text = DS389.raise_descriptor_limit(LDAP, 1024, 8192).text
        assert text.index("LimitNOFILE=8192") < text.index("systemctl restart") < text.index("nsslapd-maxdescriptors")

    def test_come_with_the_ceiling_of_the_version(self):
        assert "64,000" in DS389.raise_descriptor_limit(LDAP, 1024, 100_000, (2, 7, 0)).risk
        assert "64,000" not in DS389.raise_descriptor_limit(LDAP, 1024, 100_000, (1, 3, 11)).risk


class TestBoxes:
    def test_an_unknown_box_gets_advice_and_no_command(self):
        remedy = raise_box_timeout("fw", 3600)
        assert remedy.kind is RemedyKind.ADVICE
        assert "sysctl" not in remedy.text

    def test_a_full_table_is_doubled(self):
        assert "nf_conntrack_max = 131072" in raise_conntrack("fw", 65_536, 65_536).text

    @pytest.mark.parametrize("client", ["10.77.2.2; reboot", "app1", ""])
    def test_only_addresses_are_closed(self, client):
        assert close_ghosts("ldap", SERVER_END, client, (1,)) is None
        assert close_ghosts("ldap", (client, 389), "10.77.2.2", (1,)) is None

    def test_a_socket_is_closed_by_both_addresses_and_both_ports(self):
        remedy = close_ghosts("ldap", ("2001:db8::2", 636), "2001:db8::1", (40001,))
        assert remedy is not None
        assert "src [2001:db8::2] and sport = :636 and dst [2001:db8::1] and dport = :$port" in remedy.text

    def test_what_has_been_used_since_it_was_seen_dead_is_left_open_if_that_time_is_known(self):
        timed, untimed = (close_ghosts("ldap", SERVER_END, "10.77.2.2", (1,), seen) for seen in (1_795_165_063, None))
        assert "lastrcv" in timed.text
        assert "is left open" in timed.risk
        assert "lastrcv" not in untimed.text
        assert "Run it soon" in untimed.risk

    @pytest.mark.parametrize(("idle", "pasted_from", "closed"), [(10**15, 0, True), (0, 0, False), (10**15, 1, False)])
    def test_nothing_is_closed_where_the_age_cannot_be_compared(self, tmp_path, idle, pasted_from, closed):
        remedy = close_ghosts("ldap", SERVER_END, "10.77.2.2", (40001,), 1_795_165_063)
        fake = tmp_path / "ss"
        fake.write_text(f'#!/bin/sh\n[ "$1" = -K ] && echo closed || echo "lastrcv:{idle} rcv_rtt:1"\n')
        fake.chmod(0o755)
        pasted = "\n".join(remedy.text.splitlines()[pasted_from:])
        run = subprocess.run(
            ["/bin/sh"],
            input=pasted,
            env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ("closed" in run.stdout) is closed

    def test_a_command_is_short_enough_to_be_read_and_pasted(self):
        remedy = close_ghosts("ldap", SERVER_END, "10.77.2.2", range(10_000, 10_000 + MOST_PORTS + 7))
        assert max(map(len, remedy.text.splitlines())) < 90
        assert len(remedy.text.splitlines()) < 50
        assert str(10_000 + MOST_PORTS) not in remedy.text
        assert remedy.title == f"Close {MOST_PORTS} of the {MOST_PORTS + 7} dead connections from 10.77.2.2 now"
        assert first_sentence(remedy.changes).endswith("run ldapdiag again for the other 7.")

    def test_what_to_run_with_the_collected_proof_is_printed_first(self):
        assert "diagnose again with client.tar.gz" in first_sentence(prove_dead("app1", 12, is_read=True).changes)
