"""Dead connections that the table of one end does not betray: stranded at the client, or severed by a box."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from lab.applications import OPEN
from lab.host import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Desk, Said
    from lab.host import End, Host

COUNT = 20
CAPTURE = "date -u +%FT%T.%NZ > {folder}/captured-at.txt; ss -tanoiep > {folder}/ss.txt"
SILENCE = "table inet silence { chain forward { type filter hook forward priority 0; tcp sport 389 drop; }; }\n"
"""Nothing that a directory server sends arrives."""


def by_hand(folder: Path, *hosts: Host, desk: Desk | None = None, run: str = CAPTURE) -> str:
    """Take tables as a person does, one folder for each host: on its console, or logged in from the desk."""
    for host in hosts:
        place = folder / host.name
        place.mkdir(parents=True, exist_ok=True)
        command = run.format(folder=place)
        if desk is None:
            host.run(command)
        else:
            ssh = f"{desk.environment['LDAPDIAG_SSH']} {host.name} {shlex.quote(command)}"
            desk.host.run(ssh, env=desk.environment)
    return str(folder)


def collected(desk: Desk, folder: Path, *targets: str) -> str:
    """Collect from these targets, and return the archive."""
    archive = str(folder / "collected.tar.gz")
    code, _, err = desk.run("collect", *targets, "--apart", "0.3", "--output", archive)
    assert code == 0, err
    return archive


class TestStranded:
    """The server's closes did not reach the clients: a firewall dropped them."""

    @pytest.fixture
    def server(self, laboratory, topology):
        return laboratory.slapd(topology.ldap)

    def restart_unheard(self, topology, server, *, orphans: bool) -> None:
        """Restart the server while nothing it sends arrives; its kernel gives the closed sockets up, or keeps on."""
        topology.ldap.sysctl(net__ipv4__tcp_orphan_retries=15 if orphans else 1)
        topology.fw.run(["nft", "-f", "-"], stdin=SILENCE)
        server.stop()
        if not orphans:
            wait_for(lambda: not topology.ldap.sockets(), "the server's kernel still has its connections")
            topology.fw.run(["nft", "delete", "table", "inet", "silence"])
        server.start()

    def check(self, said: Said, ends: set[End]) -> None:
        (found,) = said.found("stranded-connections")
        seen = found["observed"]
        assert {(seen["client"], port) for port in seen["stranded_client_ports"]} == ends
        assert (len(ends), said.ghosts, said.code) == (COUNT, {}, 1)

    @pytest.mark.parametrize("orphans", [False, True], ids=["nothing-left", "orphans-left"])
    def test_every_way_of_capture_finds_them(self, server, topology, desk, start, tmp_path, orphans) -> None:
        held = start(topology.app1, "held", count=COUNT)
        self.restart_unheard(topology, server, orphans=orphans)
        ends = held.truth().ends(OPEN)
        assert topology.app1.ends("ESTAB") == ends
        assert topology.ldap.ends("FIN-WAIT-1") == (ends if orphans else set())
        self.check(desk.diagnose("ssh://ldap", "ssh://app1", "--apart", "0.3"), ends)
        self.check(desk.diagnose(collected(desk, tmp_path, "ssh://ldap", "ssh://app1")), ends)
        self.check(desk.diagnose(by_hand(tmp_path / "hand", topology.app1, topology.ldap, desk=desk)), ends)

    def test_a_table_of_listeners_alone_is_named(self, server, topology, desk, start, tmp_path) -> None:
        """It may be that of `ss -l`; a person who is logged in has a connection of their own in it."""
        start(topology.app1, "held", count=COUNT)
        self.restart_unheard(topology, server, orphans=False)
        said = desk.diagnose(by_hand(tmp_path, topology.app1, topology.ldap))
        (verdict,) = [one for one in said.report["verdicts"] if one["check"] == "stranded-connections"]
        assert (verdict["outcome"], verdict["missing"]) == ("not-judged", ["socket-table"])
        assert "the table of ldap's sockets lists listening sockets only" in verdict["reason"]
