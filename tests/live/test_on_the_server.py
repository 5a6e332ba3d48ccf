"""`ldapdiag diagnose` on the server itself: it finds the directory, its LDAPI and containers, without a password."""

from __future__ import annotations

import json

import pytest

from lab.applications import Application
from lab.directory_servers import account
from lab.host import wait_for
from lab.topology import Topology, container

COUNT = 7
APART = ("--apart", "0.3")
ACCOUNT = account("application_foo")


@pytest.fixture(scope="module", params=["389-ds", "openldap"])
def site(request, laboratory):
    """Return a network with a directory, and an application with connections to it."""
    with Topology(apps=1) as running:
        running.server = laboratory.server(request.param, running.ldap)
        Application(running.app1, "held", address="10.77.1.2", name=ACCOUNT, count=COUNT).ready()
        yield running


@pytest.fixture(scope="module")
def sitting(site, desk_of):
    return desk_of(site, "ldap", "app1")


THEIRS = ({"10.77.2.2": COUNT}, {ACCOUNT: COUNT})


def test_without_arguments_root_finds_everything(site, sitting) -> None:
    said = sitting.diagnose(*APART, host=site.ldap)
    assert said.outcomes("descriptor-headroom") == {"clear"}
    assert said.connections == THEIRS
    assert said.report["gaps"] == []
    (host,) = said.report["hosts"]
    assert (host["name"], host["looks"], host["roles"]) == ("ldap", 2, ["server"])
    kinds = {one["fact"] for one in said.report["evidence"]}
    assert {
        "monitor",
        "configuration",
        "process-limits",
        "descriptor-count",
        "kernel-settings",
        "socket-table",
    } <= kinds
    assert {one["origin"] for one in said.report["evidence"] if one["fact"] == "socket-table"} == {
        "ldap/sockets-1.inet_diag",
        "ldap/sockets-2.inet_diag",
    }


def test_a_client_is_asked_over_ssh_beside_it(site, sitting) -> None:
    said = sitting.diagnose("local:", "ssh://app1", *APART, host=site.ldap)
    assert said.report["gaps"] == []
    assert said.outcome("ghost-connections", "10.77.2.2 -> 10.77.1.2:389") == "clear"
    assert said.connections == THEIRS


def test_ldapi_with_external_leaves_our_own_connection_out(site, sitting) -> None:
    said = sitting.diagnose(f"ldapi://{site.server.ldapi}", "-Y", "EXTERNAL", "local:", *APART, host=site.ldap)
    assert said.report["gaps"] == []
    assert said.connections == THEIRS


def test_a_password_is_for_what_was_named_alone(site, sitting) -> None:
    """It would be a wrong one here, and nobody is to find out: the directory that is found is asked as root."""
    said = sitting.diagnose("-D", "uid=nobody,dc=example,dc=com", *sitting.bind[2:], *APART, host=site.ldap)
    assert said.report["gaps"] == []
    assert said.connections == THEIRS


def test_our_own_connection_over_tcp_is_no_client_either(site, sitting) -> None:
    bind = ("-D", site.server.administrator, *sitting.bind[2:])
    for beside in ((), ("ssh://ldap",), ("ssh://ldap", "ssh://app1")):
        said = sitting.diagnose("ldap://ldap", *beside, *bind, *APART)
        assert said.connections == THEIRS, beside


def test_anybody_else_gets_what_is_shown_to_him(site, sitting) -> None:
    command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    done = site.ldap.attempt(
        [*command, *sitting.command("diagnose", *APART, "--format", "json")], env=sitting.environment
    )
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert all(gap["how"] for gap in report["gaps"])
    reasons = sorted(gap["reason"].partition(" of process")[0] for gap in report["gaps"])
    restricted = site.ldap.run(["sysctl", "-n", "kernel.dmesg_restrict"]).strip() == "1"
    messages = ["cannot read the messages of its kernel on errors of disks: not root"] if restricted else []
    assert [reason.partition(" /")[0] for reason in reasons] == [
        "cannot list its other network namespaces (containers): not root",
        "cannot list the descriptors",
        "cannot read",
        *messages,
        "cn=monitor not queried: its sockets are hidden from this user",
    ]
    share = next(one for one in report["findings"] if one["check"] == "connection-share")["observed"]
    assert {one["client"]: one["connections"] for one in share["by_client"]} == THEIRS[0]


class TestContainer:
    """The directory runs in a network namespace of the server's host, and its clients in the host's own."""

    @pytest.fixture(params=["389-ds", "openldap"])
    def inner(self, request, laboratory, topology) -> None:
        server = laboratory.server(request.param, topology.ldap)
        server.stop()
        box = container(topology.ldap, "web")
        topology.ldap.start(box.enter(server.argv), log=server.log)
        ask = ["ldapwhoami", "-Q", "-Y", "EXTERNAL", "-H", f"ldapi://{server.ldapi}"]
        wait_for(lambda: topology.ldap.attempt(ask).returncode == 0, "it does not answer in its container")
        Application(topology.ldap, "held", address=box.address, name=ACCOUNT, count=COUNT).ready()

    @pytest.mark.usefixtures("inner")
    @pytest.mark.parametrize("target", [[], ["netns:web"]], ids=["local", "netns"])
    def test_is_found_and_asked_with_everything(self, topology, desk, target) -> None:
        said = desk.diagnose(*target, *APART, host=topology.ldap)
        assert said.report["gaps"] == []
        assert said.connections == ({"10.88.1.1": COUNT}, {ACCOUNT: COUNT})
