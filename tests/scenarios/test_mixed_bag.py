"""A mixed bag: one tree of folders, each host's sockets as its own system prints them, judged as one.

The captured incidents 5a and 6c, written again: a server on Solaris (or a domain controller on Windows), a client on a
German Windows, a client on Linux, and an F5 between them.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

import writers
from box_writers import as_f5, as_f5_properties, flows_of
from conftest import CAPTURES
from incidents import (
    APP1,
    APP2,
    GHOSTS,
    INCIDENTS,
    SNAT,
    clear,
    diagnosed_facts,
    finding,
    findings,
    ghost_ports,
    not_judged,
)
from ldapdiag.finding import Confidence, Severity
from ldapdiag.sources.gathering import gather

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ldapdiag.diagnosis import Diagnosis

WINDOWS = ("utf-16", "cp850")
"""What redirecting netstat writes: PowerShell, and cmd.exe of Western Europe."""
POLICY = CAPTURES / "windows" / "ldifde-query-policy.ldif"
BOX = "10.77.1.1 -> 10.77.1.2:389"


def host(folder: Path, case: str, name: str, content: bytes | str, file: str = "sockets.txt") -> None:
    """Write a host's folder: the table, and when it was taken."""
    own = folder / name
    own.mkdir(parents=True)
    (own / file).write_bytes(content.encode() if isinstance(content, str) else content)
    shutil.copy(INCIDENTS / case / name / "captured-at.txt", own)


def sockets(case: str, name: str) -> list[writers.Socket]:
    """Return a host's sockets as its own ss told them."""
    (table,) = gather([str(INCIDENTS / case / name / "ss-tan.txt")]).facts
    return writers.sockets_in(table)


def ends(folder: Path, case: str, encoding: str = "utf-16") -> None:
    """Write the server (Solaris) and the clients (a German Windows, Linux)."""
    host(folder, case, "ldap", writers.as_solaris(sockets(case, "ldap")))
    windows = writers.as_netstat_windows(sockets(case, "app1"), german=True)
    host(folder, case, "app1", windows.encode(encoding))
    host(folder, case, "app2", writers.as_ss(sockets(case, "app2")))


def f5(folder: Path, case: str, *, properties: bool = False) -> None:
    """Write the table of the F5 in the firewall's place."""
    (table,) = gather([str(INCIDENTS / case / "fw" / "conntrack-L.txt")]).facts
    host(folder, case, "fw", (as_f5_properties if properties else as_f5)(flows_of(table)), "show-sys-connection.txt")


def judge(folder: Path) -> Diagnosis:
    """Judge the whole tree, named once; every file of it must be evidence, understood to the last line."""
    gathered = gather([str(folder)])
    assert [fact.origin.path for fact in gathered.facts if fact.origin.not_understood] == []
    tables = [fact for fact in gathered.facts if fact.kind in {"socket-table", "flow-table"}]
    assert {fact.origin.folder.rpartition("/")[2] for fact in tables} >= {"app1", "app2", "ldap"}
    return diagnosed_facts(gathered.facts)


@pytest.mark.parametrize("encoding", WINDOWS)
class TestSolarisWindowsAndLinux:
    def test_behind_an_f5_that_keeps_addresses_the_ghosts_are_certain(self, tmp_path, encoding) -> None:
        ends(tmp_path, GHOSTS, encoding)
        f5(tmp_path, GHOSTS)
        diagnosis = judge(tmp_path)
        found = finding(diagnosis, "ghost-connections")
        assert (found.subject, found.hosts) == (APP1, ("app1", "ldap"))
        assert found.observed["ghost_client_ports"] == ghost_ports(GHOSTS)
        assert (found.observed["ghosts"], found.observed["matched"], found.observed["unproven"]) == (268, 2, 0)
        assert (found.observed["path"], found.observed["pairing"]) == ("direct", "4-tuple")
        assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.CERTAIN)
        assert "fw carries the live connections and has no entry for any of these 268." in found.detail
        assert "40 of them held at both ends" in clear(diagnosis, "ghost-connections", APP2).reason
        assert findings(diagnosis, "stranded-connections") == {}

    def test_behind_an_f5_that_translates_its_table_joins_the_ends(self, tmp_path, encoding) -> None:
        ends(tmp_path, SNAT, encoding)
        f5(tmp_path, SNAT)
        diagnosis = judge(tmp_path)
        found = finding(diagnosis, "ghost-connections")
        assert found.subject == BOX
        assert found.hosts == ("app1", "app2", "ldap")
        assert found.observed["ghost_client_ports"] == ghost_ports(SNAT)
        assert (found.observed["ghosts"], found.observed["matched"], found.observed["unproven"]) == (80, 42, 0)
        assert (found.observed["path"], found.observed["pairing"]) == ("nat", "box-table")
        assert found.observed["client_hosts"] == ["app1", "app2"]
        assert found.confidence is Confidence.CERTAIN
        assert "On the path is fw (NAT)" in found.detail
        assert "fw carries the live connections and has no entry for any of these 80." in found.detail
        assert findings(diagnosis, "stranded-connections") == {}

    def test_without_the_f5_the_ghosts_are_likely(self, tmp_path, encoding) -> None:
        ends(tmp_path, GHOSTS, encoding)
        found = finding(judge(tmp_path), "ghost-connections")
        assert (found.observed["ghosts"], found.confidence) == (268, Confidence.LIKELY)
        assert "The flow table of the middlebox between them would settle it." in found.detail
        assert "A Windows container" in found.remedies[0].text, "what is to be run there is no collect as root"

    def test_without_the_f5_that_translates_nothing_is_claimed(self, tmp_path, encoding) -> None:
        ends(tmp_path, SNAT, encoding)
        diagnosis = judge(tmp_path)
        assert findings(diagnosis, "ghost-connections") == findings(diagnosis, "stranded-connections") == {}
        assert "no socket table of 10.77.1.1" in not_judged(diagnosis, "ghost-connections", BOX).reason


def domain_controller(
    folder: Path, policy: str | None, written: Callable[..., str] = writers.as_netstat_windows
) -> Diagnosis:
    """Judge the incident with a domain controller as the server, and its LDAP policies as LDIF."""
    ends(folder, GHOSTS)
    (folder / "ldap" / "sockets.txt").write_text(written(sockets(GHOSTS, "ldap")), newline="")
    if policy is not None:
        (folder / "ldap" / "policies.txt").write_text(policy)
    f5(folder, GHOSTS, properties=True)
    return judge(folder)


class TestDomainController:
    def test_its_ghosts_are_found_and_its_policy_tells_how_long_they_live(self, tmp_path) -> None:
        diagnosis = domain_controller(tmp_path, POLICY.read_text())
        ghosts = finding(diagnosis, "ghost-connections")
        assert ghosts.observed["ghost_client_ports"] == ghost_ports(GHOSTS)
        assert ghosts.confidence is Confidence.CERTAIN
        found = finding(diagnosis, "idle-timeout")
        assert found.observed["current_seconds"] == found.observed["ghost_lifetime_seconds"] == 1800
        limit = next(one for one in found.remedies if one.title.startswith("limit: "))
        assert '"Set MaxConnIdleTime to ' in limit.text
        assert '"Set MaxConnIdleTime to 1800"' in limit.undo
        wait, restart = ghosts.remedies
        assert wait.title == "drain: wait about 1,800 s: the idle timeout of 1,800 s closes them"
        assert (restart.title, restart.is_alternative) == ("drain: restart the server", True)
        assert "may not reach connections that were opened" in found.detail, "which Microsoft does not document"

    def test_its_table_by_powershell_has_the_same_ghosts(self, tmp_path) -> None:
        diagnosis = domain_controller(tmp_path, POLICY.read_text(), writers.as_powershell_csv)
        ghosts = finding(diagnosis, "ghost-connections")
        assert (ghosts.observed["ghost_client_ports"], ghosts.confidence) == (ghost_ports(GHOSTS), Confidence.CERTAIN)

    def test_a_policy_without_an_idle_time_is_that_of_the_default(self, tmp_path) -> None:
        policy = POLICY.read_text().replace("lDAPAdminLimits: MaxConnIdleTime=1800\n", "")
        assert finding(domain_controller(tmp_path, policy), "idle-timeout").observed["current_seconds"] == 900

    def test_without_its_policies_the_ghosts_stay_and_the_idle_time_is_unknown(self, tmp_path) -> None:
        diagnosis = domain_controller(tmp_path, None)
        assert finding(diagnosis, "ghost-connections").observed["ghosts"] == 268
        assert finding(diagnosis, "idle-timeout").observed["current_seconds"] is None
