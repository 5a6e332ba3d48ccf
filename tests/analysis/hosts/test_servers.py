"""The servers of a host are separated by processes, ports, products and paths; what fits several belongs to none."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import facts
from ldapdiag.analysis.hosts.servers import ListeningServer, ServerAttribution, attribute_to_servers
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.host_facts import DescriptorCount, ProcessLimits
from ldapdiag.evidence.ldap_session import LdapSession
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.processes import Process, ProcessListener, ProcessTable
from ldapdiag.evidence.storage import DirectorySize, FileExtents, MountTable

if TYPE_CHECKING:
    from collections.abc import Callable

NAMESPACE = "net:[4026531840]"
THREE = [
    facts.listening(389, owner="slapd", pid=101),
    facts.listening(636, owner="slapd", pid=101),
    facts.listening(1389, owner="slapd", pid=102),
    facts.listening(2389, owner="slapd", pid=103),
    *facts.at_server(3),
]
UNOWNED = [facts.listening(389), facts.listening(636), facts.listening(1389), *facts.at_server(3)]


def limits(name: str = "proc-limits.txt", soft: int = 1024, *, asked: str = "", folder: str = "ldap") -> ProcessLimits:
    origin = replace(facts.origin(name=name), asked=asked, folder=folder)
    return ProcessLimits(origin=origin, open_files_soft=soft, open_files_hard=soft)


def count(name: str) -> DescriptorCount:
    return DescriptorCount(origin=facts.origin(name=name), open=74)


def monitor(name: str, *ports: int, asked: str = "", **values: Any) -> Monitor:
    origin = replace(facts.origin(name=name), asked=asked)
    values = {"identity": facts.OPENLDAP, "listeners": tuple(("*", port) for port in ports)} | values
    return Monitor(origin=origin, **values)


def configuration(name: str, *ports: int, asked: str = "", folder: str = "ldap", **values: Any) -> Configuration:
    origin = replace(facts.origin(name=name), asked=asked, folder=folder)
    return Configuration(origin=origin, **{"identity": facts.DS389, "ports": ports, "complete": True} | values)


def found(rows: list[facts.Row], *evidence: Any, **traits: Any) -> ServerAttribution:
    traits = {"ldap_ports": frozenset({1389})} | traits
    return attribute_to_servers([facts.host("ldap", facts.table(rows), **traits)], evidence)


def ports_of(own: ServerAttribution) -> dict[str, list[int]]:
    return {one.server: sorted(port for _, port in one.listeners) for one in own.servers}


def files_of(own: ServerAttribution) -> dict[str, str]:
    return {fact.origin.path.removeprefix("ldap/"): fact.origin.server for fact in own.facts}


class TestProcesses:
    def test_each_process_that_listens_is_a_server(self) -> None:
        own = found(THREE)
        assert ports_of(own) == {"ldap:389": [389, 636], "ldap:1389": [1389], "ldap:2389": [2389]}
        assert {one.server: set(one.pids) for one in own.servers}["ldap:1389"] == {102}

    def test_the_only_one_has_the_name_of_its_host(self) -> None:
        assert ports_of(found(THREE[:2])) == {"ldap": [389, 636]}

    def test_a_restart_between_two_tables_makes_no_second_server(self) -> None:
        tables = [
            facts.table([facts.listening(389, owner="slapd", pid=pid), *facts.at_server(3)], taken=at)
            for pid, at in ((101, 0), (202, 60))
        ]
        own = attribute_to_servers([facts.host("ldap", *tables)], [])
        assert [(one.server, set(one.pids)) for one in own.servers] == [("ldap", {101, 202})]

    def test_one_port_on_two_addresses_is_two_servers(self) -> None:
        rows = [
            facts.row(f"{address}:389", "*:*", facts.TcpState.LISTEN, owner="ns-slapd", pid=pid)
            for address, pid in (("10.77.1.2", 101), ("10.77.1.3", 102))
        ]
        assert sorted(ports_of(found(rows))) == ["ldap:10.77.1.2:389", "ldap:10.77.1.3:389"]

    def test_a_list_of_processes_names_the_owners(self) -> None:
        listed = ProcessTable(
            origin=facts.origin(name="processes.txt"),
            processes=(
                Process(pid=7, program="slapd", state="S", namespace=NAMESPACE),
                Process(pid=8, program="ns-slapd", state="S", namespace=NAMESPACE),
                Process(pid=9, program="slapd", state="Z", namespace=NAMESPACE),
                Process(pid=10, program="slapd", state="S"),
            ),
            listeners=tuple(
                ProcessListener(pid=pid, address="*", port=port)
                for pid, port in ((7, 389), (8, 1389), (8, 1636), (9, 2389), (10, 3389))
            ),
            configurations=((8, "/etc/dirsrv/slapd-ds2/dse.ldif"),),
        )
        own = found([facts.listening(389), facts.listening(1389), *facts.at_server(3)], processes=listed)
        assert ports_of(own) == {"ldap:389": [389], "slapd-ds2@ldap": [1389, 1636]}


class TestFiles:
    def test_the_process_in_a_command_or_a_name_decides(self) -> None:
        own = found(
            THREE,
            limits("proc-limits.txt", asked="cat /proc/101/limits on ldap"),
            limits("proc-limits-102.txt"),
            limits("limits-2389.txt"),
            count("proc-fd-count-102.txt"),
        )
        assert files_of(own) == {
            "proc-limits.txt": "ldap:389",
            "proc-limits-102.txt": "ldap:1389",
            "limits-2389.txt": "ldap:2389",
            "proc-fd-count-102.txt": "ldap:1389",
        }
        assert own.gaps == ()

    def test_what_fits_several_belongs_to_none(self) -> None:
        own = found(THREE, limits())
        assert own.facts == ()
        (gap,) = own.gaps
        assert gap.reason == (
            "the server of this process-limits is ambiguous: "
            "3 directory servers on ldap (ldap:1389, ldap:2389, ldap:389)"
        )
        assert "proc-limits-PID.txt" in (gap.how or "")

    def test_the_listeners_that_a_server_reports_decide(self) -> None:
        own = found(THREE, monitor("one.ldif", 1389), monitor("two.ldif", 389, 636))
        assert files_of(own) == {"one.ldif": "ldap:1389", "two.ldif": "ldap:389"}

    def test_the_port_of_a_target_decides(self) -> None:
        at = "LDAP searches for cn-monitor at ldap"
        own = found(
            THREE,
            monitor("cn-monitor.ldif", asked=f"{at}://ldap:1389"),
            monitor("cn-monitor.ldif", asked=f"{at}s://[fd00::2]", threads=16),
        )
        assert {fact.threads: fact.origin.server for fact in own.facts} == {None: "ldap:1389", 16: "ldap:389"}

    def test_the_number_of_a_collected_piece_decides(self) -> None:
        own = found(
            THREE,
            limits("proc-limits-2.txt", asked="cat /proc/102/limits on ldap"),
            monitor("cn-monitor-2.ldif", asked="ldapsearch -Y EXTERNAL -H ldapi -b cn=Monitor * + on ldap"),
        )
        assert set(files_of(own).values()) == {"ldap:1389"}

    def test_a_folder_of_its_own_is_one_server(self) -> None:
        folder = "ldap/second"
        own = found(
            THREE, configuration("slapd.ldif", 1389, folder=folder, identity=facts.OPENLDAP), limits(folder=folder)
        )
        assert own.gaps == ()
        assert {fact.origin.server for fact in own.facts} == {"ldap:1389"}

    def test_the_product_decides_where_one_server_has_it(self) -> None:
        rows = [facts.listening(389, owner="ns-slapd", pid=1), facts.listening(1389, owner="slapd", pid=2)]
        own = found(rows, monitor("cn-monitor.ldif"), configuration("dse.ldif"))
        assert files_of(own) == {"cn-monitor.ldif": "ldap:1389", "dse.ldif": "ldap:389"}

    def test_the_path_of_its_configuration_names_an_instance(self) -> None:
        rows = [facts.listening(389, owner="ns-slapd", pid=1), facts.listening(1389, owner="ns-slapd", pid=2)]
        own = found(
            rows,
            configuration("dse.ldif", 389, asked="the settings in /etc/dirsrv/slapd-ds1/dse.ldif on ldap"),
            configuration("dse-2.ldif", 1389, asked="the settings in /etc/dirsrv/slapd-ds2/dse.ldif on ldap"),
        )
        assert ports_of(own) == {"slapd-ds1@ldap": [389], "slapd-ds2@ldap": [1389]}


class TestLocalSocket:
    """Commands use the socket at which a script read, or that the server lists; none where it has none."""

    def read(self, *about: Any) -> ListeningServer:
        (server,) = found([facts.listening(389)], *about).servers
        return server

    def test_what_a_script_read_as_root_there_is_changed_there(self) -> None:
        url = "ldapi://%2Frun%2Fslapd-ds1.socket"
        server = self.read(
            monitor(
                "cn-monitor.ldif", asked=f"ldapsearch -Y EXTERNAL -H {url} -b cn=monitor -s base, to process 7 on ldap"
            )
        )
        assert server.session == LdapSession(url=url, mechanism="EXTERNAL")

    @pytest.mark.parametrize("make", [configuration, monitor])
    def test_of_evidence_by_hand_the_listed_one_counts(self, make: Callable[..., Any]) -> None:
        paths = ("/run/slapd ds1.socket",)
        assert self.read(make("one.ldif", local_sockets=paths)).socket == "ldapi://%2Frun%2Fslapd%20ds1.socket"
        assert self.read(make("one.ldif", local_sockets=(*paths, "/run/other"))).socket == "", (
            "either may be closed to root"
        )
        assert self.read(make("one.ldif", local_sockets=())).socket is None
        assert self.read(make("one.ldif")).socket == "", "unknown"

    @pytest.mark.parametrize(
        ("path", "socket"),
        [("%2Frun%2Fslapd%2Fldapi", "ldapi://%2Frun%2Fslapd%2Fldapi"), ("%2Fproc%2F7%2Froot%2Frun%2Fldapi", "")],
        ids=["of the host", "in a container"],
    )
    def test_a_command_line_shows_where_it_is(self, path: str, socket: str) -> None:
        asked = f"the settings of connections and indexes in /x, of process 7 (local socket ldapi://{path}) on ldap"
        assert self.read(configuration("cn-config.ldif", asked=asked)).socket == socket

    def test_a_command_line_shows_that_there_is_none(self) -> None:
        asked = "the settings of connections and indexes in /x, of process 7 (without a local socket) on ldap"
        assert self.read(configuration("cn-config.ldif", asked=asked)).socket is None


class TestStorage:
    """Mounts, sizes and extents are a server's where its process is named, else its host's."""

    def mounts(self, name: str = "mountinfo.txt", *, asked: str = "") -> MountTable:
        origin = replace(facts.origin(name=name), asked=asked)
        return MountTable(origin=origin, mounts=(), complete=True, shows_atime=True)

    def test_what_a_process_sees_is_its_server_s(self) -> None:
        extents = replace(
            facts.origin(name="file-extents-2.txt"), asked="FIEMAP of the database files of process 102 on x"
        )
        names = replace(
            facts.origin(name="directory-sizes-3.txt"), asked="ls -f | wc -l, in the folders of process 103"
        )
        own = found(
            THREE,
            self.mounts(asked="cat /proc/101/mountinfo on ldap"),
            FileExtents(origin=extents, path="/srv/data.mdb"),
            DirectorySize(origin=names, path="/srv", names=3),
            self.mounts("mountinfo-103.txt"),
        )
        assert own.gaps == ()
        assert files_of(own) == {
            "mountinfo.txt": "ldap:389",
            "file-extents-2.txt": "ldap:1389",
            "directory-sizes-3.txt": "ldap:2389",
            "mountinfo-103.txt": "ldap:2389",
        }

    def test_a_table_that_names_no_process_is_its_host_s(self) -> None:
        own = found(THREE, self.mounts("mount.txt"), self.mounts("mounts-20261123.txt"))
        assert own.gaps == ()
        assert set(files_of(own).values()) == {""}

    def test_that_of_another_process_is_no_server_s(self) -> None:
        own = found(THREE, self.mounts(asked="cat /proc/999/mountinfo on ldap"))
        assert [gap.target for gap in own.gaps] == ["ldap/mountinfo.txt"]


class TestWithoutOwners:
    def test_ports_that_no_server_reports_may_be_of_several(self) -> None:
        def owns(*evidence: Any) -> bool:
            return found(UNOWNED, *evidence).servers[0].owns_ports

        assert not owns()
        assert not owns(configuration("a.ldif", 389, complete=False))
        assert owns(monitor("cn-monitor.ldif", 389, 636, 1389))
        assert found(UNOWNED[:2]).servers[0].owns_ports

    def test_ports_stay_one_server(self) -> None:
        assert ports_of(found(UNOWNED)) == {"ldap": [389, 636, 1389]}
        own = found(UNOWNED, monitor("cn-monitor.ldif", identity=facts.DS389), limits(), count("fd.txt"))
        assert ports_of(own) == {"ldap": [389, 636, 1389]}
        assert set(files_of(own).values()) == {"ldap"}

    def test_two_complete_sets_of_ports_are_two_servers(self) -> None:
        own = found(UNOWNED, configuration("a.ldif", 389, 636), configuration("b.ldif", 1389), limits())
        assert ports_of(own) == {"ldap:389": [389, 636], "ldap:1389": [1389]}
        assert files_of(own) == {"a.ldif": "ldap:389", "b.ldif": "ldap:1389"}
        assert [gap.target for gap in own.gaps] == ["ldap/proc-limits.txt"]

    def test_excerpts_of_one_configuration_are_one_server(self) -> None:
        own = found(
            UNOWNED[:2], configuration("a.ldif", 389, complete=False), configuration("b.ldif", 636, complete=False)
        )
        assert ports_of(own) == {"ldap": [389, 636]}

    def test_two_products_are_two_servers_of_unknown_ports(self) -> None:
        own = found(UNOWNED, monitor("cn-monitor.ldif"), configuration("dse.ldif"))
        assert ports_of(own) == {"ldap:389": [389, 636, 1389], "389ds@ldap": [], "openldap@ldap": []}

    def test_the_ports_of_one_product_leave_the_others_to_the_other(self) -> None:
        own = found(UNOWNED, monitor("cn-monitor.ldif"), configuration("dse.ldif", 389, 636))
        assert files_of(own) == {"cn-monitor.ldif": "ldap:1389", "dse.ldif": "ldap:389"}

    def test_monitors_of_servers_that_ran_at_one_time_are_two(self) -> None:
        at = facts.START
        evidence = [
            monitor(
                name, identity=facts.DS389, started_at=at + timedelta(seconds=start), taken_at=at + timedelta(hours=1)
            )
            for name, start in (("a.ldif", 0), ("b.ldif", 300))
        ]
        assert len(attribute_to_servers([facts.host("ldap")], evidence).servers) == 2

    def test_monitors_of_one_port_at_other_addresses_are_two(self) -> None:
        addresses = ("10.77.1.2", "10.77.1.3", "10.77.1.4")
        rows = [facts.row(f"{address}:389", "*:*", facts.TcpState.LISTEN) for address in addresses]
        monitors = [monitor(f"{address}.ldif", listeners=((address, 389),)) for address in addresses[:2]]
        own = found(rows, *monitors, limits())
        assert sorted(ports_of(own)) == [f"ldap:{address}:389" for address in addresses]
        assert files_of(own) == {f"{address}.ldif": f"ldap:{address}:389" for address in addresses[:2]}
        assert [gap.target for gap in own.gaps] == ["ldap/proc-limits.txt"]
        assert len(found(rows, monitors[0], limits()).servers) == 1
        both = monitor("all.ldif", listeners=tuple((address, 389) for address in addresses))
        assert len(found(rows, monitors[0], both, limits()).servers) == 1

    def test_monitors_before_and_after_a_restart_are_one(self) -> None:
        at = facts.START
        evidence = [
            monitor(
                name, identity=facts.DS389, started_at=at + timedelta(hours=start), taken_at=at + timedelta(hours=end)
            )
            for name, start, end in (("a.ldif", 0, 1), ("b.ldif", 2, 3))
        ]
        assert len(attribute_to_servers([facts.host("ldap")], evidence).servers) == 1

    def test_two_targets_of_one_host_are_two_servers(self) -> None:
        evidence = [
            monitor(
                "cn-monitor.ldif", asked=f"LDAP searches for cn-monitor at ldap://ldap:{port}", identity=facts.DS389
            )
            for port in (389, 1389)
        ]
        own = attribute_to_servers([facts.host("ldap")], evidence)
        assert sorted(one.server for one in own.servers) == ["ldap:1389", "ldap:389"]

    def test_two_targets_of_one_server_are_one(self) -> None:
        evidence = [
            monitor("cn-monitor.ldif", asked=f"LDAP searches for cn-monitor at {target}", identity=facts.DS389)
            for target in ("ldap://ldap", "ldaps://ldap")
        ]
        assert [one.server for one in attribute_to_servers([facts.host("ldap")], evidence).servers] == ["ldap"]

    def test_two_products_without_a_table(self) -> None:
        evidence = (monitor("cn-monitor.ldif"), configuration("dse.ldif"), limits())
        own = attribute_to_servers([facts.host("ldap")], evidence)
        assert sorted(ports_of(own)) == ["389ds@ldap", "openldap@ldap"]
        assert [gap.target for gap in own.gaps] == ["ldap/proc-limits.txt"]


def test_a_program_of_another_name_stays_the_only_server() -> None:
    own = found(THREE[:1], configuration("dse.ldif"))
    assert files_of(own) == {"dse.ldif": "ldap"}


def test_limits_of_another_process_are_not_those_of_the_server() -> None:
    own = found(THREE[:1], limits(asked="cat /proc/999/limits on ldap"))
    assert own.facts == ()
    assert len(own.gaps) == 1


class TestProxies:
    def proxies(self, rows: list[facts.Row], *evidence: Any, **traits: Any) -> dict[str, tuple[str, list[int]]]:
        own = found(rows, *evidence, **traits)
        return {one.server: (one.proxy, sorted(port for _, port in one.listeners)) for one in own.servers}

    def test_alone_on_its_host_it_has_the_host_s_name(self) -> None:
        rows = [facts.listening(389, owner="haproxy"), facts.listening(636, owner="haproxy"), *facts.at_server(3)]
        assert self.proxies(rows) == {"ldap": ("haproxy", [389, 636])}

    def test_beside_a_directory_server_it_is_a_server_of_its_own(self) -> None:
        rows = [facts.listening(389, owner="slapd", pid=101), facts.listening(636, owner="stunnel4", pid=102)]
        assert self.proxies(rows) == {"ldap": ("", [389]), "stunnel4@ldap": ("stunnel4", [636])}

    def test_two_programs_are_two(self) -> None:
        rows = [facts.listening(389, owner="haproxy"), facts.listening(636, owner="nginx")]
        assert self.proxies(rows) == {"haproxy@ldap": ("haproxy", [389]), "nginx@ldap": ("nginx", [636])}

    def test_the_list_of_processes_names_it_where_the_table_does_not(self) -> None:
        processes = ProcessTable(
            origin=facts.origin(),
            processes=(Process(pid=7, program="haproxy", namespace=NAMESPACE),),
            listeners=(ProcessListener(pid=7, address="*", port=389),),
        )
        rows = [facts.listening(389), *facts.at_server(3)]
        assert self.proxies(rows, processes=processes) == {"ldap": ("haproxy", [389])}
        assert self.proxies(rows) == {"ldap": ("", [389])}
