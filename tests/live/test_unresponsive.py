"""A server that does not answer: stopped, looping, out of threads, blocked on a lock; and busy ones that do answer."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from lab.host import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.applications import Application
    from lab.directory_servers import Server
    from live.conftest import Desk

APART = ("--apart", "3", "--timeout", "10")
BLAMES_CLIENTS = ("unreleased-connections", "connection-churn", "stalled-reader", "unclean-closes")


@contextmanager
def asking(application: Application) -> Iterator[None]:
    """Let an application send a request on each of its connections, and wait for the answers meanwhile."""
    asked = threading.Thread(target=lambda: application.order("use"))
    asked.start()
    try:
        yield
    finally:
        asked.join()


def unread(server: Server) -> int:
    """Return how many of the server's connections have unread requests."""
    rows = server.host.run("ss -Htn state established state close-wait sport = :389").splitlines()
    return sum(int(row.split()[1]) > 1 for row in rows)


@pytest.mark.parametrize("family", ["openldap", "389-ds"])
def test_a_stopped_server_is_named_and_no_client(laboratory, topology, desk: Desk, start, family: str) -> None:
    server = laboratory.server(family, topology.ldap)
    app = start(topology.app1, "held", count=120, patience=60)
    topology.ldap.run(f"kill -STOP {server.pid}")
    with asking(app):
        wait_for(lambda: unread(server) >= 120, "the requests do not arrive")
        said = desk.diagnose("ssh://ldap", "ssh://app1", *APART)
        (found,) = said.found("server-unresponsive")
        assert (found["observed"]["state"], found["observed"]["waiting"]) == ("stopped", 120)
        topology.ldap.run(f"kill -CONT {server.pid}")
    assert said.code == 1
