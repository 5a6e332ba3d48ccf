"""The client settings, live: with those that are printed a client loses no request, with its defaults it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import boxes
from lab.client_trial import FIREWALL, KINDS, SHORT, make_site, outcomes, start_all
from lab.real_clients import start_client
from lab.terminal import paste
from ldapdiag.servers.client_settings.choosing import client_settings
from ldapdiag.servers.hosts.host_remedies import set_client_keepalive

if TYPE_CHECKING:
    from lab.topology import Topology

CRASHED = 139
"""The exit code that a shell gives a segmentation fault."""


def test_only_clients_with_the_printed_settings_lose_no_request(laboratory, topology: Topology) -> None:
    make_site(laboratory, topology, "openldap")
    cured = start_all(topology.app1, SHORT, cured=True)
    default = start_all(topology.app2, SHORT, cured=False)

    kept, contrast = outcomes(cured, SHORT), outcomes(default, SHORT)
    assert {kind: outcome.lost for kind, outcome in kept.items()} == dict.fromkeys(KINDS, ())
    assert all(outcome.requests >= len(SHORT) for outcome in kept.values())
    assert [kind for kind, outcome in contrast.items() if not outcome.lost] == []


def test_the_keepalive_of_the_kernel_keeps_the_connection_of_libldap(laboratory, topology: Topology) -> None:
    """One connection of libldap (by python-ldap, with its defaults) at each host; the server has no idle timeout."""
    laboratory.slapd(topology.ldap)
    boxes.silent_drop(topology.fw, FIREWALL)
    paste(topology.app1, set_client_keepalive("app1", FIREWALL // 2).text)
    pauses = (0, FIREWALL + 2, FIREWALL + 6)
    clients = [start_client(host, "python-ldap", pauses) for host in (topology.app1, topology.app2)]

    cured, default = (client.outcome(90) for client in clients)
    assert (cured.requests, cured.lost) == (len(pauses), ())
    assert default.lost


def test_ldap_conf_is_left_alone_where_libldap_crashes_on_it(topology: Topology) -> None:
    """Wherever it is set, programs that use libldap still run; 2.5.13 crashes on the line."""
    (remedy,) = client_settings(300, 75, ["ldapsearch"])
    host, file = topology.app1, "/etc/ldap/ldap.conf"
    before = host.run(["cat", file])
    crashes = host.attempt("LDAPKEEPALIVE_IDLE=1 ldapsearch -VV || exit $?").returncode in {CRASHED, -11}

    said = paste(host, remedy.text)
    assert ("not set" in said) is crashes
    assert ("KEEPALIVE_IDLE 75" not in host.run(["cat", file])) is crashes
    host.run(["ldapsearch", "-VV"])
    paste(host, remedy.undo)
    assert host.run(["cat", file]) == before
