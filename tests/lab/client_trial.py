"""Real clients behind a firewall, with the settings that are printed for them, and what became of their requests.

All times are a sixtieth of real ones: a server's idle timeout of 5 min, a firewall of 6 min, pauses of up to 12 min.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab import boxes
from lab.laboratory import need
from lab.real_clients import PATIENCE, POSIX_ACCOUNT, POSIX_SCHEMA, start_client
from ldapdiag.servers.client_settings.choosing import client_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.host import Host
    from lab.laboratory import Laboratory
    from lab.real_clients import Outcome, RealClient
    from lab.topology import Topology

SERVER_IDLE, FIREWALL = 5, 6
SHORT = (0, 0.3, 1.5, 1.9, 2.1, 3.5, 4.8, 5.2, 5.9, 6.3, 7.5, 0.5, 9.7, 12)
"""Pauses below, between and above every timeout."""
KINDS = {"nslcd": "nslcd", "JNDI": "java", "python-ldap": "python3", "ldap3": "python3"}
"""The clients, and the programs that their remedies go by."""


def make_site(laboratory: Laboratory, topology: Topology, family: str) -> None:
    """Start a server with the idle timeout, and the firewall before it."""
    need("getent", "javac", "nslcd")
    if family == "openldap":
        more = f"{POSIX_SCHEMA}idletimeout {SERVER_IDLE}\n"
        laboratory.slapd(topology.ldap, configuration=more, entries=POSIX_ACCOUNT)
    else:
        server = laboratory.ds389(topology.ldap, settings={"nsslapd-idletimeout": str(SERVER_IDLE)})
        server.modify(POSIX_ACCOUNT.replace("\n", "\nchangetype: add\n", 1))
        readable = (
            'aci: (targetattr="*")(version 3.0; acl "read"; allow (read, search, compare) userdn="ldap:///anyone";)'
        )
        server.modify(f"dn: dc=example,dc=com\nchangetype: modify\nadd: aci\n{readable}\n")
    boxes.silent_drop(topology.fw, FIREWALL)


def settings_of(kind: str) -> str:
    """Return the text of the remedy for a client."""
    remedies = client_settings(SERVER_IDLE, FIREWALL // 2, [KINDS[kind]])
    (remedy,) = (one for one in remedies if kind in one.title)
    return remedy.text


def start_all(host: Host, pauses: Sequence[float], *, cured: bool, patience: float = PATIENCE) -> dict[str, RealClient]:
    """Start each kind of client, with the printed settings or its defaults."""
    return {
        kind: start_client(host, kind, pauses, settings_of(kind) if cured else "", patience=patience) for kind in KINDS
    }


def outcomes(clients: dict[str, RealClient], pauses: Sequence[float]) -> dict[str, Outcome]:
    """Wait for each, and return what became of its requests."""
    longest = sum(pauses) + len(pauses) * (PATIENCE + 2) + 60
    return {kind: client.outcome(longest) for kind, client in clients.items()}
