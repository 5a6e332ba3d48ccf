"""A load of writes, and its own record of them: the last value of each entry that the server has acknowledged.

    load = WriteLoad(server)         # connections bound, their entries added
    volume.settle()
    load.start(); load.wait_for(100)
    disk.cut(server=server.pid)
    acknowledged = load.stop()       # {"writer3": 57}
    lost(acknowledged, values(server))

Each connection changes its own entry again and again, from 1 upwards, and waits for each answer. Acknowledged means
that the client has received success.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from lab.directory_servers import PASSWORD, SUFFIX
from lab.host import wait_for
from lab.raw_ldap import Connection, element

if TYPE_CHECKING:
    from lab.directory_servers import Server

WRITERS = 10
ENTRY = "dn: {name}\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: {uid}\ndescription: 0\n"
MODIFY_REQUEST, SUCCESS = 0x66, 0


class WriteLoad:
    """Writers of a server, on one connection each."""

    def __init__(self, server: Server, *, writers: int = WRITERS) -> None:
        """Add their entries and bind their connections; nothing is changed before `start`."""
        self.server = server
        self.acknowledged = {f"writer{number}": 0 for number in range(writers)}
        added = (ENTRY.format(name=_name(uid), uid=uid) for uid in self.acknowledged)
        server.modify("\n".join(entry.replace("\n", "\nchangetype: add\n", 1) for entry in added))
        self.connections = {uid: server.host.inside(self._bound) for uid in self.acknowledged}
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self._write, args=(uid,), daemon=True) for uid in self.acknowledged]

    def start(self) -> None:
        """Let them write until they are stopped or the server is gone."""
        for thread in self.threads:
            thread.start()

    def wait_for(self, changes: int) -> None:
        """Wait until every writer has changed its entry, and all together so often."""

        def enough() -> bool:
            assert all(thread.is_alive() for thread in self.threads), "a writer has failed"
            return sum(self.acknowledged.values()) >= changes and all(self.acknowledged.values())

        wait_for(enough, f"the server does not acknowledge {changes} changes")

    def stop(self) -> dict[str, int]:
        """End it, and return the last acknowledged value of each entry."""
        self.is_over.set()
        for thread in self.threads:
            thread.join()
        for connection in self.connections.values():
            connection.socket.close()
        return self.acknowledged

    def _bound(self) -> Connection:
        connection = Connection(socket.create_connection(("127.0.0.1", self.server.port), timeout=60))
        assert connection.bind(self.server.administrator, PASSWORD) == SUCCESS
        return connection

    def _write(self, uid: str) -> None:
        connection, value = self.connections[uid], 0
        with suppress(OSError, EOFError):  # the server's end is what the test is about
            while not self.is_over.is_set():
                value += 1
                connection.send(_replace(_name(uid), "description", str(value)))
                if connection.result() != SUCCESS:
                    return
                self.acknowledged[uid] = value


def values(server: Server) -> dict[str, int]:
    """Return the value that each writer's entry has now."""
    found = server.search(f"ou=services,{SUFFIX}", "(uid=writer*)", "uid", "description")
    rows = [dict(line.split(": ", 1) for line in entry.splitlines()) for entry in found.strip().split("\n\n") if entry]
    return {row["uid"]: int(row["description"]) for row in rows}


def lost(acknowledged: dict[str, int], found: dict[str, int]) -> int:
    """Return how many acknowledged changes are gone; an entry that is gone lost all of them."""
    return sum(max(0, value - found.get(uid, 0)) for uid, value in acknowledged.items())


def _name(uid: str) -> str:
    return f"uid={uid},ou=services,{SUFFIX}"


def _replace(name: str, attribute: str, value: str) -> bytes:
    """Return a modify request that replaces an attribute by one value (RFC 4511, 4.6)."""
    values = element(0x31, element(4, value.encode()))
    change = element(0x30, b"\x0a\x01\x02" + element(0x30, element(4, attribute.encode()) + values))
    return element(MODIFY_REQUEST, element(4, name.encode()) + element(0x30, change))
