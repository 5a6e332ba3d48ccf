"""The desk of the laboratory: ldapdiag run there as a person runs it, over ssh and LDAP, and what it said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lab.applications import Application
from lab.desk import Desk
from lab.directory_servers import account
from lab.host import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lab.host import Host
    from lab.topology import Topology

PASSWORD = "password"  # noqa: S105  of servers that live for one test


@pytest.fixture(scope="session")
def desk_of(laboratory) -> Callable[..., Desk]:
    """Return what makes the desk of a topology, with a way into every host, or into these."""

    def made(topology: Topology, *hosts: str) -> Desk:
        for name in hosts or topology.hosts:
            laboratory.keys.serve(topology.hosts[name])
        password = laboratory.folder / "password"
        password.touch(mode=0o600)
        password.write_text(PASSWORD)
        return Desk(topology.desk, laboratory.keys.configuration(topology), password)

    return made


@pytest.fixture
def desk(desk_of, topology: Topology) -> Desk:
    """Return the desk, with a way into every host."""
    return desk_of(topology)


@pytest.fixture
def start() -> Callable[..., Application]:
    """Return what starts an application and waits until it is ready."""

    def started(
        host: Host, mode: str, *, address: str = "10.77.1.2", name: str = "xyz", **settings: object
    ) -> Application:
        return Application(host, mode, address=address, name=account(f"application_{name}"), **settings).ready()

    return started


def gone_from(host: Host, ends: set[tuple[str, int]], *, states: Sequence[str] = ()) -> None:
    """Wait until a client shows none of these ends any more, in any state or in these."""
    every = states or (
        "ESTAB",
        "FIN-WAIT-1",
        "FIN-WAIT-2",
        "CLOSE-WAIT",
        "LAST-ACK",
        "CLOSING",
        "TIME-WAIT",
        "SYN-SENT",
    )
    wait_for(lambda: not host.ends(*every) & ends, f"{host.name} still has some of {sorted(ends)[:3]}…")
