"""The first action of a report, from what `ldapdiag diagnose` prints by default: where it is carried out, and what.

An operator reads no more than the screen: the line `first`, the host it names, and the commands below.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.applications import OPEN, UNANSWERED
from lab.host import wait_for
from lab.terminal import paste

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lab.applications import Application
    from lab.desk import Desk, Said
    from lab.directory_servers import Server
    from lab.host import End
    from lab.topology import Topology

DEAD, LIVING, POOL = 24, 3, 8
BOX_SECONDS = 4
PATIENT = 5
"""Seconds after which a living connection counts as dead for its application; a busy machine is no box."""
OTHER_DISKS = ("unsafe-writes", "unsuited-filesystem", "io-errors", "volume-full")
"""A server of the laboratory keeps its database in memory, or on whatever disk this machine has."""
TARGETS = ("ldap://ldap", "ssh://ldap", "ssh://app1", "ssh://app2", "ssh://fw")


@dataclass(frozen=True, slots=True)
class FirstAction:
    """What is printed behind `first`."""

    title: str
    host: str
    commands: str


def first_action(text: str) -> FirstAction:
    """Read the first action from the text of a report."""
    lines = text.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("    first   "))
    blank = lines.index("", begin)
    head = " ".join(line.strip() for line in lines[begin:blank])
    found = re.match(r"first +(?P<title>.+?)(?: ·)? at (?P<host>[\w.-]+)\b", head)
    assert found, head
    commands = lines[blank + 1 : lines.index("", blank + 1)]
    return FirstAction(found["title"], found["host"], "\n".join(commands))


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """The founding incident: dead connections of app1 at the server, beside living ones of app1 and app2.

    All are bound with ordinary accounts: no idle timeout applies to Directory Manager.
    """

    topology: Topology
    desk: Desk
    server: Server
    leaking: Application
    pool: Application

    folder: Path

    @property
    def dead(self) -> set[End]:
        return self.leaking.truth().ends(UNANSWERED)

    @property
    def descriptors(self) -> int:
        """How many sockets the process of the server has open."""
        return int(self.server.host.run(f"ls -l /proc/{self.server.pid}/fd | grep -c socket:"))

    @property
    def bind(self) -> tuple[str, ...]:
        return self.desk.bind if "Manager" in self.server.administrator else ()

    def printed(self) -> FirstAction:
        """Diagnose, and read the first action as it is printed without any option of the output."""
        site = self.folder / "ldapdiag.toml"
        others = [f'[checks.{one}]\nenabled = false\nreason = "of this machine"\n' for one in OTHER_DISKS]
        site.write_text("".join(['schema = "ldapdiag.config/1"\n', *others]))
        code, out, err = self.desk.run("diagnose", *TARGETS, *self.bind, "--apart", "1", "--config", str(site))
        assert code == 1, f"exit {code}: {err}"
        return first_action(out)

    def diagnose(self, *options: str) -> Said:
        """Diagnose, and return the whole report."""
        return self.desk.diagnose(*TARGETS, *self.bind, "--apart", "1", *options)

    def carry_out(self, action: FirstAction) -> str:
        """Paste the commands on the host that the report names."""
        return paste(self.topology.hosts[action.host], action.commands)

    def is_nobody_cut(self) -> bool:
        """Tell whether every living connection is, for its application and at the server."""
        truths = (self.leaking.truth(), self.pool.truth())
        alive = truths[0].ends(OPEN) | truths[1].ends(OPEN)
        fates = truths[0].fates == {UNANSWERED: DEAD, OPEN: LIVING} and truths[1].fates == {OPEN: POOL}
        return fates and alive <= self.server.held()


def leak(topology: Topology, start: Callable[..., Application]) -> Application:
    """Let app1 leave dead connections beside living ones, and wait until it has forgotten them."""
    leaking = start(topology.app1, "leaking", count=DEAD, rest=BOX_SECONDS + 1, live=LIVING, patience=2)
    wait_for(lambda: not topology.app1.ends("FIN-WAIT-1"), "app1 goes on telling the dead that it has closed them")
    return leaking


def start_pool(topology: Topology, start: Callable[..., Application]) -> Application:
    """Let app2 use its connections all the time."""
    return start(topology.app2, "pool", name="foo", count=POOL, every=0.5, patience=PATIENT)
