"""The printed commands reach the server that was read, in the way that it was read, and no other.

The server listens on odd ports; nothing is on the usual ones. What is set is what the server itself then has.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from lab.directory_servers import PASSWORD
from lab.terminal import paste
from lab.topology import Topology
from log_lines import header, run, stamp

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Desk
    from lab.directory_servers import Server
    from lab.host import Host

PORT, TLS_PORT = 3890, 6360
FAMILIES = ("389-ds", "openldap")
MANAGERS = {"389-ds": "cn=Directory Manager", "openldap": "cn=config"}
CONFIGURED = {"389-ds": "cn=ldbm database,cn=plugins,cn=config", "openldap": "cn=config"}
INDEXED = {"389-ds": r"^nsIndexType: eq", "openldap": r"^olcDbIndex: displayName eq"}
MONITOR = "dn: olcDatabase={2}monitor,cn=config"
MONITOR_FOR_ALL = f"{MONITOR}\nchangetype: modify\nreplace: olcAccess\nolcAccess: to * by * read\n"
"""The printed commands watch the build there."""
SEARCH = 'SRCH base="dc=example,dc=com" scope=2'


@dataclass(frozen=True, slots=True)
class Site:
    """A server on odd ports, and the log of what was slow on it."""

    family: str
    server: Server
    desk: Desk
    log: Path
    folder: Path

    def way(self, name: str, authority: Path) -> tuple[Host, tuple[str, ...], str]:
        """Return the host at which a command is typed, its options, and what the printed commands must contain."""
        plain, tls, address = f"ldap://ldap:{PORT}", f"ldaps://ldap:{TLS_PORT}", f"ldaps://10.77.1.2:{TLS_PORT}"
        socket = f"ldapi://{self.server.ldapi}"
        exact, line = self.folder / "exact password", self.folder / "password-line"
        exact.write_text(PASSWORD)
        line.write_text(f"{PASSWORD}\n")
        for file in (exact, line):
            file.chmod(0o600)
        who, trust = ("-D", MANAGERS[self.family]), ("--ca-file", str(authority))
        at = ("-y", str(exact))
        ways = {
            # The tools would send the end of the line, so they ask.
            "typed": ((plain, *who, "-y", str(line)), f"-H {plain} -D"),
            "start-tls": ((plain, "-ZZ", *trust, *who, *at), f"-H {plain} -ZZ -D"),
            "tls": ((tls, *trust, *who, *at), f"-H {tls} -D"),
            "unverified": ((address, "--insecure", *who, *at), f"-H {address} -D"),
            "local": ((socket, "-Y", "EXTERNAL"), f"-Q -Y EXTERNAL -H {socket}"),
            "script": (("ssh://ldap",), f"-Q -Y EXTERNAL -H {socket}"),
        }
        arguments, printed = ways[name]
        return self.server.host if name == "local" else self.desk.host, arguments, printed

    def has_index(self) -> bool:
        """Return whether the server has the index, by its own configuration."""
        if self.family == "389-ds":
            found = self.server.search(CONFIGURED[self.family], "(cn=displayName)", "nsIndexType")
        else:
            found = self.server.search(CONFIGURED[self.family], "(olcDbIndex=*)", "olcDbIndex")
        return re.search(INDEXED[self.family], found, re.MULTILINE) is not None


def slow_search(family: str) -> bytes:
    """Return a log in which a search by displayName took 63 s."""
    if family == "389-ds":
        lines = [f"{stamp(30)} conn=77 fd=70 slot=70 connection from 10.10.1.168 to 10.0.0.9"]
        lines += [f'{stamp(31)} conn=77 op=0 {SEARCH} filter="(displayName=joe)" attrs=ALL']
        lines += [f"{stamp(94)} conn=77 op=0 RESULT err=0 tag=101 nentries=1 etime=63.000000000 notes=A"]
        return header(PORT).replace(b"slapd-corp", b"slapd-live") + run(1, 20) + "\n".join([*lines, ""]).encode()
    at = "00000001 0x7f6ced7fe6c0 conn=1000"
    lines = [f"6b000aac.{at} fd=12 ACCEPT from IP=10.77.2.2:40000 (IP=10.77.1.2:389)"]
    lines += [f'6b000aad.{at} op=1 {SEARCH} deref=0 filter="(displayName=joe)"']
    lines += [f"6b000aec.{at} op=1 SEARCH RESULT tag=101 err=0 qtime=0.000011 etime=63.000000 nentries=1 text="]
    return "\n".join([*lines, ""]).encode()


@pytest.fixture(scope="module", params=FAMILIES)
def site(request, laboratory, desk_of, tmp_path_factory) -> Iterator[Site]:
    """Return a server on odd ports without the index, and a log that wants it."""
    folder = tmp_path_factory.mktemp(request.param)
    with Topology(apps=0) as topology:
        certificate = laboratory.authority.sign("ldap")
        if request.param == "389-ds":
            settings = {"nsslapd-securePort": str(TLS_PORT)}
            server = laboratory.ds389(topology.ldap, certificate=certificate, port=PORT, settings=settings)
            gone = "dn: cn=displayName,cn=index,cn=userroot,cn=ldbm database,cn=plugins,cn=config\nchangetype: delete\n"
            topology.ldap.attempt(
                ["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", f"ldapi://{server.ldapi}"], stdin=gone
            )  # a default index of some versions
        else:
            server = laboratory.slapd(
                topology.ldap, certificate=certificate, port=PORT, tls_port=TLS_PORT, database="index objectClass eq"
            )
            server.modify(MONITOR_FOR_ALL)
        assert not topology.ldap.sockets(389)
        log = folder / "access.log"
        log.write_bytes(slow_search(request.param))
        yield Site(request.param, server, desk_of(topology, "ldap"), log, folder)


def ldap_commands(text: str) -> list[str]:
    """Return the tools of a text with their words."""
    return re.findall(r"(?:\S+=\S+ )?(?<![\w-])ldap(?:search|modify) -[^\n]*", text)


@pytest.mark.parametrize("way", ["typed", "start-tls", "tls", "unverified", "local", "script"])
def test_the_printed_script_changes_the_server_that_was_read(site: Site, laboratory, way: str) -> None:
    if way == "script" and site.family == "openldap":
        pytest.skip("a log of slapd names no host, so beside a host's evidence it is another server's")
    host, arguments, printed = site.way(way, laboratory.authority.certificate)
    assert not site.has_index()
    code, script, err = site.desk.run("indexes", *arguments, str(site.log), "--script", host=host)
    assert code < 2, err
    commands = ldap_commands(script)
    assert commands
    for command in commands:
        assert f"{printed} " in f"{command} ", command
    assert "LDAP_URI" not in script
    _, out, _ = site.desk.run("indexes", *arguments, str(site.log), "--format", "json", host=host)
    (found,) = [one for one in json.loads(out)["findings"] if one["check"] == "missing-index"]
    there = site.server.host if way == "script" else host
    paste(there, script)
    assert site.has_index()
    _, out, err = site.desk.run("indexes", *arguments, str(site.log), "--format", "json", host=host)
    assert json.loads(out)["indexes"][0]["plan"] == [], err
    paste(there, found["remedies"][0]["undo"])
    assert not site.has_index()


def test_a_capture_has_the_same_commands_without_local_files_and_address(site: Site, laboratory, tmp_path) -> None:
    _, arguments, _ = site.way("tls", laboratory.authority.certificate)
    capture = tmp_path / "capture.tar.gz"
    code, _, err = site.desk.run("collect", "--output", str(capture), *arguments)
    assert code == 0, err
    live, saved = (
        site.desk.run("indexes", *evidence, str(site.log), "--script") for evidence in (arguments, [str(capture)])
    )
    assert live[0] == saved[0]
    files = re.compile(r"""LDAPTLS_CACERT=(?:'[^']*'|\S+) | -y (?:'[^']*'|"[^"]*"|\S+)| -W""")
    named, unnamed = ([files.sub("", one) for one in ldap_commands(ran[1])] for ran in (live, saved))
    assert [one.replace(f"ldaps://ldap:{TLS_PORT}", '"${LDAP_URI:?}"') for one in named] == unnamed != []
    assert not re.search(rf"LDAPTLS_CACERT|{re.escape(str(tmp_path.parent))}|-y (?!\"\$)", saved[1])
