"""Access logs and index configuration of live hosts: over ssh, on the server itself, and with sudo."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lab.directory_servers import SUFFIX
from lab.host import wait_for
from lab.topology import Topology, container
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.origin import Origin
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab.directory_servers import Server
    from lab.host import Host

SEARCHES = 23
ROTATED = 5
ACCESS = "/var/log/dirsrv/slapd-live/access"
GATHER = """
import json, sys
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.sources.gathering import gather
from ldapdiag.sources.collection_options import CollectionOptions

class Heard(list):
    def __call__(self, path): self.append(path)
    def answered(self, target, summary, seconds, gap=None): self.append(summary)
    def failed(self, gap): self.append(gap.reason)
    def waiting(self, seconds): pass

heard = Heard()
bundle = gather(sys.argv[2:], options=CollectionOptions(**json.loads(sys.argv[1])), progress=heard)
print(json.dumps({
    "gaps": [[gap.target, gap.reason, gap.how] for gap in bundle.gaps],
    "heard": heard,
    "logs": [
        [log.origin.folder, log.family, [file for stream in log.streams for file in stream.files],
         sum(row.requests for key, row in log.segment.shapes.items() if "displayName" in str(key))]
        for log in bundle.facts if isinstance(log, AccessLog)
    ],
    "indexes": [
        [one.origin.folder, one.identity.family, one.whole, sum(len(each.definitions) for each in one.backends)]
        for one in bundle.facts if isinstance(one, IndexConfiguration)
    ],
}, default=str))
"""


@pytest.fixture(scope="module")
def site(laboratory):
    """Return a network: 389-ds on ldap with a rotated log, slapd on app1, which logs to a file of its own."""
    with Topology() as running:
        running.server = laboratory.ds389(running.ldap)
        search(running.server, ROTATED)
        running.server.stop()
        running.ldap.run(f"mv {ACCESS} {ACCESS}.20261119-010101; gzip {ACCESS}.20261119-010101")
        running.server.start()
        running.slapd = laboratory.slapd(running.app1)
        for server in (running.server, running.slapd):
            search(server, SEARCHES)
        yield running


@pytest.fixture(scope="module")
def gathered(site, desk_of) -> Callable[..., dict[str, Any]]:
    """Return what gathers from targets, at the desk or on another host."""
    desk = desk_of(site, "ldap", "app1")

    def gather(
        *targets: str, host: Host | None = None, before: tuple[str, ...] = (), **options: object
    ) -> dict[str, Any]:
        options = {"logs": True, "sample_interval_seconds": 0.0, **options}
        command = [*before, sys.executable, "-c", GATHER, json.dumps(options), *targets]
        return json.loads((host or desk.host).run(command, env=desk.environment))

    return gather


def search(server: Server, count: int) -> None:
    for number in range(count):
        server.search(SUFFIX, f"(displayName=number {number})")


def expected(searches: int, *files: str, family: str = "389ds") -> list[object]:
    folder = "ldap" if family == "389ds" else "app1"
    return [folder, family, [f"{folder}/{file}" for file in files], searches]


def test_over_ssh_each_host_tells_of_its_own_log_and_indexes(site, gathered) -> None:
    said = gathered("ssh://ldap", "ssh://app1")
    assert said["gaps"] == []
    log = site.slapd.log.name
    assert sorted(said["logs"]) == [
        expected(SEARCHES, log, family="openldap"),
        expected(SEARCHES + ROTATED, "access.20261119-010101", "access"),
    ]
    assert sorted(one[:3] for one in said["indexes"]) == [["app1", "openldap", True], ["ldap", "389ds", True]]
    assert f"{ACCESS} of ssh://ldap" in said["heard"]
    assert "access logs: access, access.20261119-010101" in said["heard"]


def test_without_the_wish_no_log_comes(gathered) -> None:
    said = gathered("ssh://ldap", logs=False)
    assert said["logs"] == []
    assert [one[0] for one in said["indexes"]] == ["ldap"]


def test_log_reads_the_logs_of_hosts(site, desk_of) -> None:
    desk = desk_of(site, "ldap", "app1", "app2")
    command = [sys.executable, "-m", "ldapdiag", "log", "--format", "json", "--config", "none", "--timeout", "1m"]
    over_ssh = json.loads(desk.host.run([*command, "ssh://ldap", "ssh://app1"], env=desk.environment))
    here = json.loads(site.ldap.run([*command, "local:"], env=desk.environment))
    for report, folders in ((over_ssh, {"ldap", "app1"}), (here, {"ldap"})):
        assert {one["name"].partition("/")[0] for one in report["streams"]} == folders
        assert [gap for gap in report["gaps"] if gap["target"] != "local:"] == []
        found = sum(one["count"] for one in report["searches"]["shapes"] if "displayName" in one["shape"])
        assert found == ROTATED + SEARCHES * len(folders)
    nothing = desk.host.attempt([*command, "ssh://app2"], env=desk.environment)
    assert nothing.returncode == 2
    assert "no access log of a directory server was found" in nothing.stderr


@pytest.mark.parametrize("name", ["ldap", "app1"])
def test_on_the_server_itself_they_are_read_where_they_lie(site, gathered, name) -> None:
    said = gathered(host=site.hosts[name])
    assert said["gaps"] == []
    if name == "ldap":
        assert said["logs"] == [expected(SEARCHES + ROTATED, "access.20261119-010101", "access")]
    else:
        assert said["logs"] == [expected(SEARCHES, site.slapd.log.name, family="openldap")]
    assert {one[0] for one in said["indexes"]} == {name}


def test_a_file_that_is_named_besides_counts_once(site, gathered) -> None:
    said = gathered("local:", ACCESS, host=site.ldap)
    assert [one[3] for one in said["logs"]] == [SEARCHES + ROTATED]


def test_an_excerpt_says_of_indexes_what_the_whole_configuration_says(site, gathered) -> None:
    dse = site.ldap.run(["cat", "/etc/dirsrv/slapd-live/dse.ldif"])
    slapcat = site.app1.run(["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"])
    for host, whole in ((site.ldap, dse), (site.app1, slapcat)):
        fetch_logs = gathered_files(host)
        assert indexes_of(fetch_logs) == indexes_of(whole)


def gathered_files(host: Host) -> str:
    """Return what the script prints of a host's configuration."""
    from ldapdiag.sources.live.ssh.remote import ScriptSession  # noqa: PLC0415  import late

    with ScriptSession(argv=host.enter(["sh"]), target="ssh://x", folder="x", sockets=False, monitors=False) as session:
        pieces = [
            one for one in session.collect() if getattr(one, "path", "").endswith(("/dse.ldif", "/cn-config.ldif"))
        ]
    (piece,) = pieces
    return piece.open().read().decode()


def indexes_of(text: str) -> IndexConfiguration:
    (found,) = [fact for fact in facts_of(text) if isinstance(fact, IndexConfiguration)]
    return replace(found, origin=Origin(path="x"))


def test_nobody_special_is_told_what_to_do(site, gathered) -> None:
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    said = gathered(host=site.ldap, before=nobody)
    assert said["logs"] == []
    assert [
        "local:",
        "cannot read /etc/dirsrv/slapd-live/dse.ldif",
        "use --sudo, or a user with access to it",
    ] in (said["gaps"])


def test_a_visitor_needs_sudo(site, laboratory, gathered) -> None:
    laboratory.keys.serve(site.app2, sudo=True)
    server = laboratory.ds389(site.app2)
    search(server, 3)
    try:
        plain = gathered("ssh://visitor@app2")
        raised = gathered("ssh://visitor@app2", sudo=True)
    finally:
        server.stop()
    assert plain["logs"] == []
    assert any("cannot read" in reason for _, reason, _ in plain["gaps"])
    assert [log[3] for log in raised["logs"]] == [3]
    assert raised["gaps"] == []


def test_a_server_in_a_container_has_its_log_there(laboratory, topology, desk_of) -> None:
    server = laboratory.ds389(topology.ldap)
    server.stop()
    box = container(topology.ldap, "web")
    topology.ldap.run(f"rm -f {ACCESS}")
    topology.ldap.start(box.enter(server.argv), log=server.log)
    ask = ["ldapwhoami", "-Q", "-Y", "EXTERNAL", "-H", f"ldapi://{server.ldapi}"]
    wait_for(lambda: topology.ldap.attempt(ask).returncode == 0, "it does not answer in its container")
    search(server, 4)
    desk = desk_of(topology, "ldap")
    command = [sys.executable, "-c", GATHER, json.dumps({"logs": True, "sample_interval_seconds": 0.0})]
    for host, targets, folder in ((desk.host, ["ssh://ldap"], "ldap-web"), (topology.ldap, ["netns:web"], "web")):
        said = json.loads(host.run([*command, *targets], env=desk.environment))
        assert [(log[0], log[3]) for log in said["logs"]] == [(folder, 4)], targets
