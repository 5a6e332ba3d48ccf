"""The laboratory does what it says: hosts are apart, boxes leave their tables, and the truth is what `ss` tells."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from lab import boxes, ssh
from lab.applications import ENDED, OPEN, RESET, UNANSWERED, UNBOUND, Application
from lab.directory_servers import account, with_settings
from lab.host import Host, wait_for
from lab.terminal import paste
from lab.topology import Topology, container

BOX_SECONDS = 2
ORPHAN = "import os; from lab.host import Host; print(Host('orphan').pid, flush=True); os.kill(os.getpid(), 9)"
COUNT = 20


@pytest.fixture
def slapd(laboratory, topology):
    return laboratory.slapd(topology.ldap)


def start(host, mode, *, address="10.77.1.2", **settings):
    return Application(host, mode, address=address, name=account("application_xyz"), **settings).ready()


def states(host) -> Counter[str]:
    return Counter(state for state, *_ in host.sockets() if state != "LISTEN")


def rest_beyond(box_seconds: float) -> None:
    time.sleep(box_seconds + 1)  # the box's clock, not ours, is what runs out here: there is nothing to wait for


class TestHosts:
    def test_a_host_has_its_own_processes_name_boot_and_files(self, topology) -> None:
        host = topology.app1
        assert "sleep" not in host.run("ps -eo comm")
        other = topology.app2.start(["sleep", "300"])
        assert other.inner
        assert "sleep" not in host.run("ps -eo comm")
        assert host.run(["uname", "-n"]) == "app1\n"
        assert host.run("cat /proc/sys/kernel/random/boot_id") != topology.app2.run(
            "cat /proc/sys/kernel/random/boot_id"
        )
        host.run("touch /etc/only-here /var/only-here /run/only-here")
        assert not [place for place in ("/etc", "/var", "/run") if Path(place, "only-here").exists()]
        assert topology.app2.attempt("ls /etc/only-here").returncode != 0

    @pytest.mark.usefixtures("laboratory")
    def test_it_claims_the_uptime_it_is_given(self) -> None:
        with Host("fresh", uptime_seconds=90) as host:
            assert 90 <= float(host.run("cat /proc/uptime").split()[0]) < 100
            booted = int(host.run("cat /proc/stat").partition("btime ")[2].split()[0])
            assert 88 <= time.time() - booted < 100

    @pytest.mark.usefixtures("laboratory")
    def test_a_tool_that_is_not_installed_is_not_there(self) -> None:
        with Host("bare", without=("ss", "ip")) as host:
            assert host.attempt("command -v ss || command -v ip").returncode == 127
            assert host.attempt(["ss"]).returncode == 127

    @pytest.mark.usefixtures("laboratory")
    def test_nothing_is_left_of_it(self) -> None:
        mounts = Path("/proc/mounts").read_text()
        host = Host("gone")
        sleeper = host.start(["sleep", "300"])
        inner = sleeper.inner
        space = Path(f"/proc/{inner}/ns/net").readlink()
        host.stop()
        assert not Path(f"/proc/{inner}").exists()
        assert not Path(f"/proc/{host.process.pid}").exists()
        assert str(space) not in spaces()
        assert Path("/proc/mounts").read_text() == mounts

    @pytest.mark.usefixtures("laboratory")
    def test_it_ends_with_the_process_that_made_it(self) -> None:
        made = subprocess.run(
            [sys.executable, "-c", ORPHAN], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False
        )
        init = int(made.stdout)
        wait_for(lambda: not Path(f"/proc/{init}").exists(), "the orphan lives on")


def test_nothing_is_left_of_a_topology(laboratory) -> None:
    with Topology() as topology:
        laboratory.slapd(topology.ldap)
        laboratory.keys.serve(topology.app1)
        boxes.proxy(topology.fw, BOX_SECONDS)
        start(topology.app1, "held", count=3, container=container(topology.app1))
        pids = [host.process.pid for host in topology.hosts.values()]
        running = [pid for host in topology.hosts.values() for pid in processes_of(host)]
        networks = {str(Path(f"/proc/{pid}/ns/net").readlink()) for pid in running}
        assert len(networks) == 6
    assert not [pid for pid in (*pids, *running) if Path(f"/proc/{pid}").exists()]
    assert not networks & spaces()


def processes_of(host) -> list[int]:
    """Return the processes of a host as this machine numbers them."""
    space = Path(f"/proc/{host.pid}/ns/pid").readlink()
    return [int(path.parts[2]) for path in Path("/proc").glob("[0-9]*/ns/pid") if link(path) == str(space)]


def link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:  # it ended meanwhile
        return ""


def spaces() -> set[str]:
    return {link(path) for path in Path("/proc").glob("[0-9]*/ns/net")}


class TestBoxes:
    """Each leaves the rows of ../shared/reference/connections.md, section 2."""

    def test_silent_drop(self, slapd, topology) -> None:
        box = boxes.silent_drop(topology.fw, BOX_SECONDS)
        application = start(topology.app1, "held", count=COUNT)
        rest_beyond(BOX_SECONDS)
        assert (states(topology.ldap), states(topology.app1)) == ({"ESTAB": COUNT}, {"ESTAB": COUNT})
        assert not flows(topology.fw)
        application.order("use")
        assert states(topology.ldap) == {"ESTAB": COUNT}
        assert states(topology.app1) == {"FIN-WAIT-1": COUNT}
        assert application.truth().ends(*box.ghost_fates) == slapd.held() == topology.app1.ends("FIN-WAIT-1")
        wait_for(lambda: not topology.app1.sockets(), "leftovers stay")
        assert states(topology.ldap) == {"ESTAB": COUNT}

    def test_reset_to_client(self, slapd, topology) -> None:
        box = boxes.reset_to_client(topology.fw, BOX_SECONDS)
        application = start(topology.app1, "held", count=COUNT)
        rest_beyond(BOX_SECONDS)
        application.order("use")
        assert application.truth().fates == {RESET: COUNT}
        assert (states(topology.ldap), states(topology.app1)) == ({"ESTAB": COUNT}, {})
        assert application.truth().ends(*box.ghost_fates) == slapd.held()

    def test_reset_client_when_idle(self, slapd, topology) -> None:
        box = boxes.reset_client_when_idle(topology.fw, BOX_SECONDS)
        application = start(topology.app1, "held", count=COUNT)
        wait_for(lambda: not states(topology.app1), "no reset comes")
        application.order("use")
        assert states(topology.ldap) == {"ESTAB": COUNT}
        assert application.truth().ends(*box.ghost_fates) == slapd.held()

    @pytest.mark.usefixtures("slapd")
    def test_reset_to_both(self, topology) -> None:
        box = boxes.reset_to_both(topology.fw, BOX_SECONDS)
        application = start(topology.app1, "held", count=COUNT)
        wait_for(lambda: not states(topology.app1) and not states(topology.ldap), "no reset comes")
        application.order("use")
        assert (application.truth().fates, box.ghost_fates) == ({RESET: COUNT}, ())

    def test_proxy(self, slapd, topology) -> None:
        box = boxes.proxy(topology.fw, BOX_SECONDS)
        application = start(topology.app1, "held", count=COUNT, address=box.address)
        assert states(topology.ldap) == {"ESTAB": COUNT}
        assert not application.truth().ends(OPEN) & slapd.held()
        shown = topology.fw.run(["socat", "-", boxes.ADMIN_SOCKET], stdin="show sess\n")
        assert shown.count("fe=ldap_in") == COUNT
        wait_for(lambda: not states(topology.ldap), "the proxy ends nothing")
        assert states(topology.app1) == {"CLOSE-WAIT": COUNT}
        application.order("use")
        assert application.truth().fates.keys() <= {ENDED, RESET}

    def test_snat(self, slapd, topology) -> None:
        boxes.snat(topology.fw)
        application = start(topology.app1, "held", count=COUNT)
        assert {address for address, _ in slapd.held()} == {"10.77.1.1"}
        own = {port for _, port in application.truth().ends(OPEN)}
        assert len(own & {port for _, port in slapd.held()}) < COUNT / 2
        assert len(flows(topology.fw)) == COUNT

    def test_dnat(self, slapd, topology) -> None:
        box = boxes.dnat(topology.fw)
        application = start(topology.app1, "held", count=COUNT, address=box.address)
        assert {row[4] for row in topology.app1.sockets()} == {f"{boxes.VIP}:389"}
        assert application.truth().ends(OPEN) == slapd.held() == topology.app1.ends("ESTAB")

    @pytest.mark.usefixtures("slapd")
    def test_two_boxes_and_none(self, topology) -> None:
        up = [boxes.snat(topology.fw), boxes.silent_drop(topology.fw, BOX_SECONDS)]
        application = start(topology.app1, "held", count=COUNT)
        rest_beyond(BOX_SECONDS)
        for box in up:
            box.lift()
        fresh = start(topology.app2, "held", count=1)
        application.order("use")
        assert application.truth().fates[OPEN] == 0
        assert fresh.truth().fates == {OPEN: 1}
        assert topology.fw.run("nft list tables") == ""


def flows(fw) -> list[str]:
    return [line for line in fw.run("conntrack -L -p tcp 2>/dev/null").splitlines() if "ESTABLISHED" in line]


class TestApplications:
    def test_the_founding_incident(self, slapd, topology) -> None:
        boxes.silent_drop(topology.fw, BOX_SECONDS)
        churn = start(topology.app2, "churn", rate=200)
        pool = start(topology.app2, "pool", count=5, every=0.5)
        leaking = start(topology.app1, "leaking", count=30, rest=BOX_SECONDS + 1, live=2)
        truth = leaking.truth()
        assert truth.fates == {UNANSWERED: 30, OPEN: 2}
        churn.order("stop")
        assert churn.truth().fates[UNBOUND] > 300
        expected = truth.ends(UNANSWERED, OPEN) | pool.truth().ends(OPEN)
        wait_for(lambda: slapd.held() == expected, "the server holds others")
        assert topology.app1.ends("ESTAB") == truth.ends(OPEN)
        assert topology.app2.ends("ESTAB") == pool.truth().ends(OPEN)
        leaking.order("close")
        wait_for(lambda: not truth.ends(OPEN) & slapd.held(), "the server holds what was unbound")

    def test_a_crashed_and_rebooted_client(self, slapd, topology) -> None:
        lost = start(topology.app1, "held", count=COUNT).truth().ends(OPEN)
        host = topology.reboot("app1", uptime_seconds=20)
        kept = start(host, "held", count=3).truth().ends(OPEN)
        assert slapd.held() == lost | kept
        assert host.ends("ESTAB") == kept
        assert float(host.run("cat /proc/uptime").split()[0]) < 60

    def test_an_unplugged_client_comes_back_with_what_it_had(self, slapd, topology) -> None:
        application = start(topology.app1, "held", count=COUNT)
        topology.unplug("app1")
        assert application.truth().ends(OPEN) == slapd.held() == topology.app1.ends("ESTAB")
        topology.plug("app1")
        application.order("use")
        assert application.truth().fates == {OPEN: COUNT}

    @pytest.mark.parametrize(("ports", "named"), [("random", True), ("kept", False)])
    def test_a_container_on_an_applications_host(self, slapd, topology, ports, named) -> None:
        box = container(topology.app1, ports=ports, named=named)
        application = start(topology.app1, "held", count=COUNT, container=box)
        own = application.truth().ends(OPEN)
        assert len(own) == COUNT
        assert not topology.app1.sockets()
        assert {address for address, _ in slapd.held()} == {"10.77.2.2"}
        assert ({port for _, port in own} == {port for _, port in slapd.held()}) == (ports == "kept")
        assert topology.app1.run("ip netns list").split()[:1] == (["box1"] if named else [])
        rows = topology.app1.run(box.enter(["ss", "-Htan"]))
        assert rows.count("ESTAB") == COUNT


class TestServers:
    def test_389_with_settings_limits_and_a_certificate(self, laboratory, topology) -> None:
        certificate = laboratory.authority.sign("ldap", "10.77.1.2")
        server = laboratory.ds389(
            topology.ldap, settings={"nsslapd-idletimeout": "77"}, descriptors=300, certificate=certificate
        )
        assert "nsslapd-idletimeout: 77" in server.search("cn=config", "-s", "base", "nsslapd-idletimeout")
        assert descriptors(server) == 300
        assert_tls(topology, laboratory)
        start(topology.app1, "held", count=2)
        assert len(server.held()) == 2
        assert "uid=application_xyz" in server.search("cn=monitor", "-s", "base", "connection")
        server.restart()
        assert server.held() == set()

    def test_slapd_with_limits_and_a_certificate(self, laboratory, topology) -> None:
        certificate = laboratory.authority.sign("ldap", "10.77.1.2")
        server = laboratory.slapd(
            topology.ldap, configuration="idletimeout 77", descriptors=300, certificate=certificate
        )
        assert "olcIdleTimeout: 77" in server.search("cn=config", "-s", "base", "olcIdleTimeout")
        assert descriptors(server) == 300
        assert_tls(topology, laboratory)

    @pytest.mark.parametrize("family", ["389-ds", "openldap"])
    def test_it_is_administered_as_any_other(self, laboratory, topology, family) -> None:
        server = laboratory.server(family, topology.ldap)
        before, unit = server.pid, server.unit
        paste(
            topology.ldap,
            f"mkdir -p /etc/systemd/system/{unit}.d; echo LimitNOFILE=555 > /etc/systemd/system/{unit}.d/a.conf",
        )
        paste(topology.ldap, "systemctl restart it")
        assert server.pid != before
        assert descriptors(server) == 555
        asked = f"ldapsearch -x -H ldap://localhost -D '{server.administrator}' -W -LLL -b '' -s base 1.1"
        assert "Enter LDAP Password" in paste(topology.ldap, asked)
        server.stop()
        assert not [row for row in topology.ldap.sockets() if row[0] == "LISTEN"]

    @pytest.mark.parametrize("family", ["389-ds", "openldap"])
    def test_a_server_out_of_descriptors(self, laboratory, topology, family) -> None:
        server = (
            laboratory.ds389(topology.ldap, settings={"nsslapd-maxdescriptors": "150"})
            if family == "389-ds"
            else laboratory.slapd(topology.ldap, descriptors=100)
        )
        truth = start(topology.app1, "crowd", count=150, patience=1).truth()
        assert 0 < sum(bool(one["answered"]) for one in truth.sockets) < 100
        if family == "389-ds":
            assert len(server.held()) > 100  # in its kernel's queue, most of them
            assert "too many fds open" in topology.ldap.run("cat /var/log/dirsrv/slapd-live/errors")

    def test_settings_replace_those_that_are_there(self) -> None:
        dse = "dn:\nx: 1\n\ndn: cn=config\nNsslapd-A: 1\n  folded\nb: 2\n\ndn: cn=other\nnsslapd-a: 3\n"
        expected = "dn:\nx: 1\n\ndn: cn=config\nb: 2\nnsslapd-a: 9\n\ndn: cn=other\nnsslapd-a: 3\n"
        assert with_settings(dse, {"nsslapd-a": "9"}) == expected


def descriptors(server) -> int:
    limits = server.host.run(f"cat /proc/{server.pid}/limits")
    return int(limits.partition("Max open files")[2].split()[0])


def assert_tls(topology, laboratory) -> None:
    env = {"LDAPTLS_CACERT": str(laboratory.authority.certificate)}
    for how in (["-H", "ldaps://ldap"], ["-ZZ", "-H", "ldap://ldap"]):
        assert topology.desk.run(["ldapsearch", "-x", "-LLL", *how, "-s", "base", "-b", "", "1.1"], env=env).startswith(
            "dn:"
        )


class TestSsh:
    def test_from_the_desk_to_a_host(self, laboratory, topology) -> None:
        laboratory.keys.serve(topology.app1, sudo=True)
        laboratory.keys.serve(topology.app2, allowed="stranger")
        config = laboratory.keys.configuration(topology)
        login = ["ssh", "-F", config, "-o", "BatchMode=yes", "-o", "ConnectTimeout=2"]
        assert topology.desk.run([*login, "app1", "uname -n; id -un"]) == "app1\nroot\n"
        assert topology.desk.run([*login, "visitor@10.77.2.2", "id -un; sudo -n id -un"]) == "visitor\nroot\n"
        assert "Permission denied" in topology.desk.attempt([*login, "app2", "true"]).stderr
        assert "Connection refused" in topology.desk.attempt([*login, "ldap", "true"]).stderr
        ssh.hang(topology.ldap)
        assert "timed out" in topology.desk.attempt([*login, "ldap", "true"]).stderr


class TestWithoutALaboratory:
    """A machine that cannot have one: here, because its PATH has no tools."""

    @staticmethod
    def run(**env: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", "TestHosts or TestSsh"]
        clean = {name: value for name, value in os.environ.items() if name != "LDAPDIAG_REQUIRE_LAB"}
        return subprocess.run(
            argv, cwd=Path(__file__).parents[2], env=clean | {"PATH": "/nowhere"} | env, capture_output=True,
            text=True, check=False,
        )  # fmt: skip

    def test_its_tests_are_left_out_with_one_line_that_says_so(self) -> None:
        done = self.run()
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
        assert done.returncode == 0, done.stdout
        assert "left out, the laboratory tier: `make lab`" in line

    def test_they_fail_where_it_is_required(self) -> None:
        done = self.run(LDAPDIAG_REQUIRE_LAB="1")
        assert done.returncode == 1
        assert "LDAPDIAG_REQUIRE_LAB is set: conntrack, haproxy, ip" in done.stdout
        assert "skipped" not in done.stdout
