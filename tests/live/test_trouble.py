"""Hosts and directories in trouble: each is a gap with its way out, the rest is judged, and the run keeps its time."""

from __future__ import annotations

import sys
import time

import pytest

from lab import boxes, ssh
from lab.applications import UNANSWERED
from lab.directory_servers import account
from lab.host import wait_for
from lab.topology import Topology

BOX_SECONDS = 2
TIMEOUT = 6
APART = 0.3
SPARE = 20.0
"""Seconds for starting Python, reading and judging on a busy machine."""
SLOWER = 2
"""A run may take this multiple of one just before or after it, on a machine that others use, too."""

# It takes connections at a port and never says a word.
DEAF = "import socket, sys, time; s = socket.create_server(('', int(sys.argv[1]))); time.sleep(86400)"


@pytest.fixture(scope="module")
def site(laboratory):
    """Return a network with a directory, and application hosts that lack tools."""
    with Topology(apps=6, without={"app5": ["ss"], "app6": ["ss", "ip", "netstat"]}) as running:
        yield running


@pytest.fixture(scope="module")
def sitting(laboratory, site, desk_of):
    """Return the desk; app2 hangs, app3 has no sshd, app4 does not know our key."""
    desk = desk_of(site, "ldap", "fw", "app1", "app5", "app6")
    laboratory.ds389(site.ldap, certificate=laboratory.authority.sign("ldap"))
    ssh.hang(site.hosts["app2"])
    laboratory.keys.serve(site.hosts["app4"], allowed="stranger")
    return desk


@pytest.fixture
def timed(sitting):
    """Return what diagnoses and says how many seconds that took."""

    def diagnose(*arguments):
        started = time.monotonic()
        said = sitting.diagnose(*arguments)
        return said, time.monotonic() - started

    return diagnose


def only_gap(said, target):
    (gap,) = [one for one in said.report["gaps"] if one["target"] == target]
    assert gap["how"], gap
    return gap["reason"]


class TestHosts:
    def test_a_host_that_hangs_costs_its_time_limit_and_nothing_else(self, site, timed, start) -> None:
        boxes.silent_drop(site.fw, BOX_SECONDS)
        app = start(site.app1, "leaking", count=6, rest=BOX_SECONDS + 1, live=2)
        wait_for(lambda: not site.app1.ends("FIN-WAIT-1"), "the client does not give its dead ones up")
        said, seconds = timed(
            "ssh://ldap", "ssh://app1", "ssh://app2", "--timeout", str(TIMEOUT), "--apart", str(APART)
        )
        assert only_gap(said, "ssh://app2").startswith(("no answer", "it closed the connection"))
        assert len(said.report["gaps"]) == 1
        assert said.ghost_ends == app.truth().ends(UNANSWERED)
        assert seconds < 2 * TIMEOUT + APART + SPARE
        assert said.code == 1
        app.end()

    def test_a_refusal_a_strange_key_and_an_unknown_name_are_told_apart(self, timed) -> None:
        said, _ = timed("ssh://ldap", "ssh://app3", "ssh://app4", "ssh://nowhere", "--apart", str(APART))
        assert only_gap(said, "ssh://app3").startswith("connection refused (")
        assert only_gap(said, "ssh://app4").startswith("permission denied (")
        assert only_gap(said, "ssh://nowhere").startswith("cannot resolve its host name (")
        assert len(said.report["gaps"]) == 3
        assert "clear" in said.outcomes("descriptor-headroom"), "the rest is judged"

    def test_hosts_without_the_best_tools_are_judged_by_others(self, site, timed, start) -> None:
        apps = [start(site.hosts[name], "held", count=5, name="foo") for name in ("app5", "app6")]
        said, _ = timed("ssh://ldap", "ssh://app5", "ssh://app6", "--apart", str(APART))
        assert said.report["gaps"] == []
        (share,) = said.found("connection-share")
        counted = {one["client"]: one["connections"] for one in share["observed"]["by_client"]}
        for name in ("app5", "app6"):
            assert counted[site.address(name)] == 5
            assert said.outcome("ghost-connections", f"{site.address(name)} -> 10.77.1.2:389") == "clear"
        for app in apps:
            app.end()

    @pytest.mark.parametrize("words", ["", "-tanoiep"], ids=["always", "for the whole table"])
    def test_an_ss_that_hangs_is_given_up_in_time(self, site, timed, words) -> None:
        host = site.hosts["app5"]
        arguments = ("ssh://ldap", "ssh://app5", "--timeout", str(TIMEOUT), "--apart", str(APART))
        before = timed(*arguments)[1]
        stand_in = f'#!/bin/sh\n[ -n "{words}" ] && [ "$1" != "{words}" ] || exec sleep 86400\n'
        host.run("cat > /usr/bin/ss; chmod 755 /usr/bin/ss", stdin=stand_in)
        said, seconds = timed(*arguments)
        host.run("rm /usr/bin/ss")
        after = timed(*arguments)[1]
        assert seconds < 2 * TIMEOUT + SLOWER * max(before, after), "as long as without it, and twice the limit"
        reasons = [gap["reason"] for gap in said.report["gaps"]]
        assert reasons == (["`ss -tanoiep` did not finish in time"] if words else []), "netstat is there, too"

    def test_when_nothing_could_be_had_there_is_a_line_for_each_trouble(self, sitting) -> None:
        started = time.monotonic()
        code, out, err = sitting.run("diagnose", "ldap://app3", "ssh://app2", "ssh://app3", "--timeout", str(TIMEOUT))
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 3, err
        assert all(f"{target}: " in err for target in ("ldap://app3", "ssh://app2", "ssh://app3"))
        assert time.monotonic() - started < TIMEOUT + SPARE


class TestDirectories:
    def test_a_wrong_password_is_named_and_sockets_are_judged(self, timed, tmp_path) -> None:
        wrong = tmp_path / "wrong"
        wrong.write_text("Guess")
        bind = ("-D", "cn=Directory Manager", "-y", str(wrong))
        said, _ = timed("ldap://ldap", "ssh://ldap", "--apart", str(APART), *bind)
        assert "invalidCredentials (49)" in only_gap(said, "ldap://ldap")
        assert len(said.report["gaps"]) == 1
        assert "clear" in said.outcomes("descriptor-headroom")

    def test_whoever_may_not_list_connections_gets_the_counters(self, site, timed, sitting, start) -> None:
        app = start(site.app1, "held", count=4)
        bind = ("-D", account("application_foo"), *sitting.bind[2:])
        said, _ = timed("ldap://ldap", *bind)
        reasons = {gap["reason"].partition(": not visible")[0]: gap["how"] for gap in said.report["gaps"]}
        assert set(reasons) == {"cn=config", "the connections in cn=monitor"}
        assert all("Directory Manager" in how for how in reasons.values())
        (counters,) = [one for one in said.report["evidence"] if one["fact"] != "schema"]
        assert counters["fact"] == "monitor"
        assert said.found("descriptor-headroom") == []
        assert "not-judged" in said.outcomes("connection-share")
        app.end()

    def test_ports_that_say_nothing_or_the_wrong_thing_are_told_apart(self, site, timed) -> None:
        deaf = site.ldap.start([sys.executable, "-I", "-S", "-c", DEAF, "1389"])
        wait_for(lambda: site.ldap.sockets(1389), "nobody listens")
        wrong = ("ldap://ldap:1389", "ldaps://ldap:1389", "ldap://ldap:2389", "ldaps://ldap:389", "ldap://ldap:636")
        said, seconds = timed(*wrong, "ssh://ldap", "--timeout", str(TIMEOUT), "--apart", str(APART))
        reasons = [only_gap(said, target) for target in wrong]
        assert reasons[0] == reasons[1] == f"no answer in {TIMEOUT} s"
        assert reasons[2] == "cannot connect to 10.77.1.2 port 2389: connection refused"
        assert reasons[3].startswith("TLS failed: ")
        assert "ldaps://" in {gap["target"]: gap["how"] for gap in said.report["gaps"]}[wrong[4]]
        assert len(said.report["gaps"]) == len(wrong)
        assert seconds < TIMEOUT + APART + SPARE
        deaf.end()


def test_a_slapd_that_shows_an_application_nothing_is_judged_by_its_sockets(laboratory, topology, desk) -> None:
    laboratory.slapd(topology.ldap, certificate=laboratory.authority.sign("ldap"))
    bind = ("-D", account("application_foo"), *desk.bind[2:])
    code, out, err = desk.run("diagnose", "ldap://ldap", "ldap://ldap:636", "ldaps://ldap:389", *bind)
    assert (code, out) == (2, "")
    told = sorted(line.removeprefix("ldapdiag: ").split("; ")[0] for line in err.splitlines())
    assert told[0].startswith("ldap://ldap: cn=Monitor: not visible to ")
    assert told[1].startswith("ldap://ldap: cn=config: not visible to ")
    assert told[2].startswith("ldap://ldap:636: the server closed the connection")
    assert told[3].startswith("ldaps://ldap:389: TLS failed: ")
    assert len(told) == 4
    assert "ldaps://" in err.partition("ldap://ldap:636: ")[2].partition("\n")[0]

    said = desk.diagnose("ldap://ldap", "ssh://ldap", "--apart", str(APART), *bind)
    assert (said.alarms, len(said.report["gaps"])) == (set(), 2)
    assert "clear" in said.outcomes("descriptor-headroom")
