"""A middlebox with a known idle timeout, connections with gaps on both sides of it, and the bracket that is measured.

Each case is a network of its own, so many run at once: they mostly sleep. The truth is the timeout that was set.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from incidents import diagnosed
from lab import boxes
from lab.applications import Application
from lab.desk import Desk
from lab.directory_servers import account
from lab.topology import Topology
from ldapdiag.analysis.idle.bounds import IdleBounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.directory_servers import Server
    from lab.laboratory import Laboratory
    from ldapdiag.analysis.idle.bounds import PathBounds

STYLES = {
    "silent drop": boxes.silent_drop,
    "reset to the client": boxes.reset_to_client,
    "reset to both": boxes.reset_to_both,
    "proxy": boxes.proxy,
}
GAPS = (0.4, 0.8, 1.15, 1.3)
"""Of the timeout: for how long connections are idle between two requests, a pool for each."""
LATER = 1.5
"""Of the timeout: after so long a second pool starts for each gap, so that no one moment explains all losses."""
PATIENCE = 6
"""Of the timeout: for so long a client waits for an answer, and its kernel retransmits."""
PROBES = 0.4
"""Of the timeout: after so long a silence keepalive probes are sent, where an end sends any."""
ROUNDING = 0.25
"""Seconds: a firewall counts in whole ones and looks at its table now and then."""
EVERYWHERE = ("ssh://ldap", "ssh://app1", "ssh://fw")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is set up. `at_server` is the timeout of a second firewall, on the server's own host."""

    seconds: int
    style: str = "silent drop"
    keepalive: str = "none"
    """none, client or server."""
    at_server: int | None = None
    restarted: str = ""
    """client, application, server, server's host, table (of the firewall), or nothing."""
    gaps: tuple[float, ...] = GAPS
    wait: float = 1.5
    """Of the timeout: how long after the restart the tables are taken."""
    patience: float = PATIENCE

    @property
    def truth(self) -> int:
        """The idle seconds after which a connection is lost: of two in series, those of the faster."""
        return min(self.seconds, self.at_server or self.seconds)

    @property
    def name(self) -> str:
        """Return what distinguishes it from the others."""
        keepalive = "" if self.keepalive == "none" else f", keepalive at the {self.keepalive}"
        second = f", then {self.at_server} s" if self.at_server else ""
        restarted = f", {self.restarted} restarted" if self.restarted else ""
        every = " and ".join(f"{gap * self.truth:g}" for gap in self.gaps)
        gaps = "" if self.gaps == GAPS else f", used every {every} s, tables {self.wait * self.truth:g} s later"
        return f"{self.seconds} s {self.style}{second}{keepalive}{restarted}{gaps}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """The bounds of one path, with or without the firewall's own settings among the evidence."""

    case: Case
    with_settings: bool
    path: PathBounds

    @property
    def contains(self) -> bool:
        """Return whether the truth lies within."""
        lower, upper = self.path.lower_seconds, self.path.upper_seconds
        above = lower is None or lower <= self.case.truth + ROUNDING
        return above and (upper is None or upper >= self.case.truth - ROUNDING)

    @property
    def seconds_wide(self) -> float | None:
        """Return the seconds between the bounds; None where one is missing."""
        lower, upper = self.path.lower_seconds, self.path.upper_seconds
        return None if lower is None or upper is None else upper - lower

    @property
    def width(self) -> str:
        """Return the seconds between the bounds, or which is missing."""
        lower, upper = self.path.lower_seconds, self.path.upper_seconds
        if lower is None and upper is None:
            return "no bound"
        if upper is None:
            return "no upper bound"
        return f"{upper - (lower or 0):.1f} s{'' if lower is not None else ' (from 0)'}"


def measured(laboratory: Laboratory, case: Case, folder: Path) -> list[Bracket]:
    """Set a case up, let its clients work, and return what is measured with and without the firewall's settings."""
    with Topology(apps=1) as topology:
        server = laboratory.slapd(topology.ldap)
        server.log.touch()
        if case.keepalive == "server":
            topology.ldap.sysctl(net__ipv4__tcp_keepalive_time=_probes(case))
        box = STYLES[case.style](topology.fw, case.seconds)
        if case.at_server:
            boxes.silent_drop(topology.ldap, case.at_server, hook="input")
        pools = _start(topology, box.address, case)
        time.sleep(LATER * case.truth)
        pools += _start(topology, box.address, case)
        time.sleep(1.5 * case.truth)
        if case.restarted:
            pools = _restart(topology, server, box, case, pools)
            time.sleep(case.wait * case.truth)
        capture = _collected(laboratory, topology, folder)
    return [
        Bracket(case=case, with_settings=with_settings, path=path)
        for with_settings in (False, True)
        for path in _paths(capture, server.log, with_settings=with_settings)
    ]


def _probes(case: Case) -> int:
    return max(1, round(PROBES * case.truth))


def _start(topology: Topology, address: str, case: Case) -> list[Application]:
    """Start a pool of two connections for each gap."""
    keepalive = {"keepalive": _probes(case)} if case.keepalive == "client" else {}
    started = [
        Application(
            topology.app1, "resting", address=address, name=account("application_xyz"), count=2,
            rest=gap * case.truth, patience=case.patience * case.truth, **keepalive,
        )
        for gap in case.gaps
    ]  # fmt: skip
    return [one.ready() for one in started]


def _restart(
    topology: Topology, server: Server, box: boxes.Box, case: Case, pools: list[Application]
) -> list[Application]:
    """Restart what the case names, and the pools where they went with it."""
    match case.restarted:
        case "table":
            topology.fw.run("conntrack -F")
        case "server":
            server.restart()
        case "server's host":
            topology.unplug("ldap")
            server.stop()
            topology.plug("ldap")
            server.start()
        case "application":
            for pool in pools:
                pool.end()
            return _start(topology, box.address, case)
        case "client":
            topology.reboot("app1")
            return _start(topology, box.address, case)
    return pools


def _collected(laboratory: Laboratory, topology: Topology, folder: Path) -> Path:
    """Collect from all hosts, over ssh, and return the capture."""
    for name in ("ldap", "app1", "fw"):
        laboratory.keys.serve(topology.hosts[name])
    desk = Desk(topology.desk, laboratory.keys.configuration(topology), folder)
    code, _, errors = desk.run("collect", *EVERYWHERE, "--apart", "2", "--output", str(folder / "capture"))
    assert code == 0, errors
    return folder / "capture"


def _paths(capture: Path, log: Path, *, with_settings: bool) -> Iterator[PathBounds]:
    """Yield the bounds of every path, judged as files are."""
    hosts = [one for one in sorted(capture.iterdir()) if one.is_dir() and (with_settings or one.name != "fw")]
    for bounds in diagnosed(*hosts, log).facts.every(IdleBounds):
        yield from bounds.paths
