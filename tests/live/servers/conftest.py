"""A room for real servers: namespaces of our own, so that port 389, the kernel's settings and /etc are ours alone."""

from __future__ import annotations

import shutil
import socket
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lab.directory_servers import Server
from lab.host import Host
from lab.laboratory import need
from lab.raw_ldap import Connection
from lab.terminal import paste

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "password"  # noqa: S105  of servers that live for one test run


class Room(Host):
    """A host with nobody else on its network, entered by commands and by sockets."""

    def __init__(self, folder: Path) -> None:
        super().__init__("room")
        self.folder = folder
        self.tools = folder / "bin"
        self.opened: list[socket.socket] = []
        self.tools.mkdir()
        self.run(f"mkdir -p /etc/systemd/system /run/slapd; mount --bind {self.tools} /run/bin")

    def paste(self, text: str) -> str:
        """Paste a text into a terminal, typing the password wherever it is asked for."""
        return paste(self, text)

    def connect(self, name: str = "", port: int = 389) -> socket.socket:
        """Open a connection from inside the room and bind."""
        opened = self.inside(lambda: socket.create_connection(("127.0.0.1", port), timeout=5))
        self.opened.append(opened)
        assert Connection(opened).bind(name, PASSWORD if name else "") == 0, f"bind as {name!r} was refused"
        return opened

    def hang_up(self) -> None:
        """Close what `connect` opened."""
        while self.opened:
            self.opened.pop().close()


@contextmanager
def a_room() -> Iterator[Room]:
    """Make a room, or fail with the reason."""
    need()
    folder = Path(tempfile.mkdtemp(prefix="ldapdiag-room-"))
    folder.chmod(0o755)  # ns-slapd reads its configuration as a user of its own
    room = Room(folder)
    try:
        yield room
    finally:
        room.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def room(laboratory):
    with a_room() as empty:
        yield empty


@pytest.fixture(autouse=True)
def _hang_up(request):
    """Close what a test opened, before the server that it asked ends."""
    yield
    for name in ("ds389", "slapd", "room"):
        if name in request.fixturenames:
            request.getfixturevalue(name).hang_up()


@pytest.fixture(scope="module")
def ds389(laboratory):
    """Start an instance as dscreate makes it, in a room of its own."""
    with a_room() as room:
        laboratory.ds389(room, settings={"nsslapd-idletimeout": "3600"})
        yield room


SLAPD_CONF = """
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/pid
TLSCACertificateFile {folder}/ca.pem
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
database config
rootpw {password}
access to * by dn.exact=gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth manage by * none
database mdb
suffix dc=example,dc=com
rootdn cn=admin,dc=example,dc=com
rootpw {password}
directory {folder}/db
database monitor
access to * by * read
"""

CERTIFICATES = """
cd {folder}; key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'
for ca in ca other; do openssl req -x509 $key -keyout $ca.key -out $ca.pem -subj /CN=$ca 2>&1; done
openssl req -x509 $key -CA ca.pem -CAkey ca.key -keyout server.key -out server.pem -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:false 2>&1
"""
"""A CA, another that signed nothing, and a certificate that is good for localhost alone."""


@pytest.fixture(scope="module")
def slapd(laboratory):
    """Start a slapd with cn=config in a room of its own, reachable where its tools look by default."""
    need("slapd")
    with a_room() as room:
        start_slapd(room)
        yield room


def start_slapd(room: Room) -> None:
    folder = room.folder / "slapd"
    (folder / "db").mkdir(parents=True)
    (folder / "slapd.d").mkdir()
    (folder / "slapd.conf").write_text(SLAPD_CONF.format(folder=folder, password=PASSWORD))
    room.run(CERTIFICATES.format(folder=folder))
    room.run(f"slapadd -q -f {folder}/slapd.conf < /dev/null")  # makes the database, without which slaptest fails
    room.run(f"slaptest -f {folder}/slapd.conf -F {folder}/slapd.d")
    argv = ["slapd", "-F", f"{folder}/slapd.d", "-h", "ldap:/// ldaps:/// ldapi:///", "-d", "0"]
    Server(
        host=room, argv=argv, administrator="cn=admin,dc=example,dc=com", ldapi="%2Frun%2Fslapd%2Fldapi",
        log=folder / "log", pid_file=f"{folder}/pid", unit="slapd.service",
    ).start()  # fmt: skip
