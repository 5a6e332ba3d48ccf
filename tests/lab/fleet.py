"""Several slapds on one host, each with a port, an LDAPI socket and a limit of descriptors of its own."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.host import Host, Process, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lab.topology import Container

CONFIGURATION = """include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_monitor
pidfile {place}/pid
argsfile {place}/args
database monitor
access to * by * read
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One slapd of several on a host."""

    host: Host
    port: int
    process: Process

    @property
    def place(self) -> str:
        """The folder of its configuration and its LDAPI socket."""
        return place_of(self.port)

    @property
    def pid(self) -> int:
        """The server's process number in its host."""
        return int(self.host.run(["cat", f"{self.place}/pid"]))


def start_fleet(
    host: Host, folder: Path, ports: Iterable[int], *, descriptors: int, box: Container | None = None
) -> dict[int, Member]:
    """Start a slapd on each port, with this `ulimit -n`, and wait until all listen; their logs go to the folder.

    In a container, they are in its network namespace, and have the files of the host.
    """
    ports = list(ports)
    members = {}
    for port in ports:
        place = place_of(port)
        host.run(f"mkdir -p {place}; cat > {place}/slapd.conf", stdin=CONFIGURATION.format(place=place))
        urls = f"ldap://:{port} ldapi://{place.replace('/', '%2F')}%2Fldapi"
        argv = ["slapd", "-f", f"{place}/slapd.conf", "-h", urls, "-d", "stats"]
        command = ["sh", "-c", f"ulimit -n {descriptors}; exec {shlex.join(argv)}"]
        process = host.start(box.enter(command) if box else command, log=folder / f"slapd-{host.pid}-{port}.log")
        members[port] = Member(host=host, port=port, process=process)
    for member in members.values():
        wait_for(lambda member=member: _listens(member), f"the slapd on port {member.port} does not listen")
    return members


def place_of(port: int) -> str:
    """Return the folder of the slapd on a port."""
    return f"/run/slapd-{port}"


def _listens(member: Member) -> bool:
    assert not member.process.poll(), f"the slapd on port {member.port} failed"
    search = ["ldapsearch", "-x", "-H", f"ldapi://{member.place.replace('/', '%2F')}%2Fldapi", "-s", "base", "-b", ""]
    return member.host.attempt(search).returncode == 0
