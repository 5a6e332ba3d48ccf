"""Local ports, live: a client's range is filled until connect() fails, and the printed commands end that."""

from __future__ import annotations

from lab.applications import OPEN, REFUSED
from lab.terminal import paste

HOSTS = ("ssh://ldap", "ssh://app1")
FIRST, LAST = 40_000, 40_049
"""50 ports."""
CLOSES_FIRST = """
import socket
opened = [socket.create_connection(("10.77.1.2", 389)) for _ in range(48)]
for one in opened:
    one.close()
"""
"""Whoever closes first has the socket in TIME-WAIT; after an UNBIND that may be the server.

Two processors may send the server's ACK after its FIN: the client answers the old ACK, the server no longer knows the
connection, and its RST ends the client's TIME-WAIT (RFC 1337). With `tcp_rfc1337` the client's kernel ignores that RST.
"""


def test_a_client_without_ports_is_found_and_cured(laboratory, topology, desk, start) -> None:
    laboratory.slapd(topology.ldap)
    paste(topology.app1, f"sysctl -qw net.ipv4.ip_local_port_range='{FIRST} {LAST}'")
    pool = start(topology.app1, "held", count=45)
    said = desk.diagnose(*HOSTS)
    (found,) = said.found("ephemeral-port-exhaustion")
    seen = found["observed"]
    assert (found["severity"], found["confidence"]) == ("high", "certain")
    assert (seen["used"], seen["ports"], seen["range"]) == (45, 50, f"{FIRST}-{LAST}")
    assert {port for _, port in pool.truth().ends(OPEN)} <= set(range(FIRST, LAST + 1))

    more = start(topology.app1, "held", count=10)
    assert more.truth().fates == {OPEN: 5, REFUSED: 5}, "the kernel has a port for five more, and for no other"
    (worse,) = desk.diagnose(*HOSTS).found("ephemeral-port-exhaustion")
    assert (worse["severity"], worse["observed"]["used"]) == ("critical", 50)

    (wider,) = [remedy for remedy in worse["remedies"] if remedy["title"].startswith("Choose local ports")]
    paste(topology.app1, wider["text"])
    assert "16384\t65535" in paste(topology.app1, wider["verify"])
    again = start(topology.app1, "held", count=10)
    assert again.truth().fates == {OPEN: 10}
    assert desk.diagnose(*HOSTS).found("ephemeral-port-exhaustion") == []
    paste(topology.app1, wider["undo"])
    assert f"{FIRST}\t{LAST}" in paste(topology.app1, wider["verify"])


def test_ports_in_time_wait_count_until_they_may_be_used_again(laboratory, topology, desk, start) -> None:
    laboratory.slapd(topology.ldap)
    paste(topology.app1, f"sysctl -qw net.ipv4.ip_local_port_range='{FIRST} {LAST}'")
    topology.app1.sysctl(net__ipv4__tcp_rfc1337=1)
    topology.app1.run(["python3", "-c", CLOSES_FIRST])
    (found,) = desk.diagnose(*HOSTS).found("ephemeral-port-exhaustion")
    assert (found["observed"]["used"], found["observed"]["time_wait"]) == (48, 48)
    (reuse,) = [remedy for remedy in found["remedies"] if "TIME-WAIT" in remedy["title"]]
    assert start(topology.app1, "held", count=3).truth().fates == {OPEN: 2, REFUSED: 1}
    paste(topology.app1, reuse["text"])
    assert desk.diagnose(*HOSTS).found("ephemeral-port-exhaustion") == []
    assert start(topology.app1, "held", count=10).truth().fates == {OPEN: 10}
