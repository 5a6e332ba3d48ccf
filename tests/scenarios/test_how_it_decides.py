"""The five sample connections of docs/how-it-decides.md: their rows are in the captures, and the verdicts are ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from incidents import CHURN, GHOSTS, INCIDENTS, SNAT, diagnosed, findings

DOCUMENT = (Path(__file__).parents[2] / "docs" / "how-it-decides.md").read_text()
CHURN_SNAPSHOTS = ("1-server-first-ldap", "1-server-first-app1", "1-server-first-app2")

LIVE, GHOST, CLOSING, TRANSLATED, TRANSLATED_GHOST = 33596, 58862, 41008, 46772, 60422
AT_SERVER = {
    LIVE: (GHOSTS, "ldap/ss-tiepmnaO.txt", "10.77.2.2"),
    GHOST: (GHOSTS, "ldap/ss-tiepmnaO.txt", "10.77.2.2"),
    CLOSING: (CHURN, "1-server-first-ldap/ss-tanope.txt", "10.77.2.2"),
    TRANSLATED: (SNAT, "ldap/ss-tiepmnaO.txt", "10.77.1.1"),
    TRANSLATED_GHOST: (SNAT, "ldap/ss-tiepmnaO.txt", "10.77.1.1"),
}
"""Where the server's row of each port is: the case, the file, and the client address that the server sees."""


def ghost_ports(case: str, *folders: str) -> set[int]:
    """Return the client ports of all ghosts found in a case."""
    root = INCIDENTS / case
    found = findings(diagnosed(*(root / folder for folder in folders) if folders else (root,)), "ghost-connections")
    return {port for one in found.values() for port in one.observed["ghost_client_ports"] or ()}


@pytest.mark.parametrize("port", AT_SERVER)
def test_each_sample_is_in_the_document_and_established_in_the_capture_of_the_server(port: int) -> None:
    case, file, client = AT_SERVER[port]
    table = (INCIDENTS / case / file).read_text()
    assert f":{port}" in DOCUMENT

    assert re.search(
        rf"^ESTAB .*\[::ffff:10\.77\.1\.2\]:389 +\[::ffff:{re.escape(client)}\]:{port}\b", table, re.MULTILINE
    )


def test_the_silently_dropped_connection_is_a_ghost_and_the_live_one_beside_it_is_not() -> None:
    ports = ghost_ports(GHOSTS)

    assert GHOST in ports
    assert LIVE not in ports


def test_the_connection_that_its_client_closed_between_the_tables_is_no_ghost() -> None:
    assert CLOSING not in ghost_ports(CHURN, *CHURN_SNAPSHOTS)


def test_behind_translation_the_table_of_the_firewall_decides() -> None:
    ports = ghost_ports(SNAT)

    assert TRANSLATED_GHOST in ports
    assert TRANSLATED not in ports
