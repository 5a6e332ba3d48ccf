"""Indexes that lack entries, on real servers: what searches return, and what ldapdiag reports of it.

The truth is the server's own: a search of an entry alone, and the same search below the suffix.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from lab.directory_servers import DSE, INSTANCE, SUFFIX
from lab.odd_directory import ERRORS, INDEXES_389, add_index, begin_build, build, entries
from lab.terminal import paste
from lab.topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Desk
    from lab.directory_servers import Server
    from lab.host import Host

ENTRIES = 6000
PEOPLE = 20_000
NEW, RULED, DEFAULT, HALF = "employeeNumber", "uidNumber", "gidNumber", "title"
WRONG = "wrong-answers-possible"


@dataclass(frozen=True, slots=True)
class Site:
    server: Server
    desk: Desk
    folder: Path
    way: tuple[str, ...]
    """The target and how to bind there."""
    at: Host | None = None
    """Where ldapdiag runs; None: at the desk."""

    def verdicts(self, *arguments: str) -> dict[str, dict[str, Any]]:
        """Return what `ldapdiag indexes` finds, by attribute in lower case."""
        code, out, err = self.desk.run("indexes", *arguments, "--format", "json", host=self.at)
        assert out, (code, err)
        report = json.loads(out)
        assert code == (1 if {"critical", "high"} & {one["severity"] for one in report["findings"]} else 0)
        return {one["observed"]["attribute"].lower(): one for one in report["findings"] if one["check"] == WRONG}

    def offline(self) -> dict[str, dict[str, Any]]:
        """Judge copies of dse.ldif and of the errors log."""
        for path in (DSE, ERRORS):
            (self.folder / path.rpartition("/")[2]).write_text(self.server.host.run(["cat", path]))
        return self.verdicts(str(self.folder))

    def probed(self) -> dict[str, dict[str, Any]]:
        """Judge the live server by its answers."""
        return self.verdicts(*self.way, "--probe-answers")

    def collected(self) -> str:
        """Return a capture with the probe, which contains none of the values that it searched for."""
        capture = self.folder.with_name("capture")
        code, _, err = self.desk.run("collect", *self.way, "--probe-answers", "--output", str(capture))
        assert code == 0, err
        (answers,) = capture.rglob("index-answers.txt")
        assert not re.search(r"uid=|example|\bu\d", answers.read_text())
        return str(capture)

    def found(self, filter_: str, base: str = SUFFIX, scope: str = "sub") -> int:
        return self.server.search(base, "-s", scope, filter_, "1.1").count("dn: ")

    def entry_with(self, filter_: str) -> str:
        """Return an entry that matches, found without an index."""
        return self.server.search(SUFFIX, f"(!(!{filter_}))", "1.1").split("dn: ")[1].strip()

    def answers_wrong(self, filter_: str, of: str = "") -> bool:
        """Return whether the server does not find an entry that matches, the first one or that of another filter."""
        dn = self.entry_with(of or filter_)
        assert self.found(filter_, dn, "base") == 1
        return self.found(filter_, dn) == 0


@pytest.fixture(scope="module")
def ds389(laboratory, desk_of, tmp_path_factory) -> Iterator[Site]:
    with Topology(apps=0) as topology:
        server = laboratory.ds389(topology.ldap)
        server.stop()
        server.host.run("cat > /run/load.ldif; chmod 644 /run/load.ldif", stdin="\n".join(entries(ENTRIES)))
        server.host.run(["ns-slapd", "ldif2db", "-D", INSTANCE, "-n", "userRoot", "-i", "/run/load.ldif"])
        server.start()
        desk = desk_of(topology, "ldap")
        way = ("ldap://ldap", "-D", "cn=Directory Manager", *desk.bind[2:])
        yield Site(server, desk, tmp_path_factory.mktemp("ds1"), way)


def crash_during_a_build(site: Site, attribute: str, value: str, middle: int) -> None:
    """Build an index and kill the server before half of the build is done; again, if the build was faster."""
    server = site.server
    for attempt in range(8):
        logged = server.host.run(f"grep -c 'Indexing attribute: {attribute}' {ERRORS} || true").strip()
        begin_build(server, f"t{attempt}", attribute)
        begun = f"$(grep -c 'Indexing attribute: {attribute}' {ERRORS})"
        server.host.run(f"while [ {begun} = {logged} ]; do :; done; kill -9 {server.pid}")
        server.process.end()
        server.start()
        if "Finished" in server.host.run(["cat", ERRORS]).rpartition(f"Indexing attribute: {attribute}")[2]:
            continue
        if site.answers_wrong(f"({attribute}={value})", of=f"(employeeNumber={middle})"):
            return
    pytest.fail("half of every build was done before the server could be killed")


def states(found: dict[str, dict[str, Any]]) -> dict[str, tuple[str, str, str]]:
    return {name: (one["observed"]["state"], one["confidence"], one["severity"]) for name, one in found.items()}


def test_the_life_of_indexes_of_a_389_ds(ds389) -> None:
    """An index that is added, an interrupted build, a default index that is deleted, and a rule without a build."""
    server = ds389.server
    assert states(ds389.offline()) == {}
    assert ds389.answers_wrong("(uidNumber<=10)", of="(employeeNumber=9)"), "a range, in the order of text"
    unordered = ("text-order", "certain", "high")
    assert states(ds389.probed()) == {"uidnumber": unordered, "gidnumber": unordered}
    add_index(server, NEW)
    add_index(server, HALF)
    server.modify(f"dn: cn={DEFAULT},{INDEXES_389}\nchangetype: delete\n")
    assert not ds389.answers_wrong(f"({NEW}=100)")
    # dse.ldif does not show whether the server has started since; the server itself does.
    unused = dict.fromkeys((NEW.lower(), HALF.lower()), ("unused", "likely", "high"))
    assert states(ds389.offline()) == {DEFAULT.lower(): ("absent", "possible", "high"), **unused}
    # Over LDAP nothing shows whether the two were built since; that the next start adds the default index is certain.
    assert states(ds389.probed()) == {"uidnumber": unordered, DEFAULT.lower(): unused[NEW.lower()]}

    rule = "add: nsMatchingRule\nnsMatchingRule: integerOrderingMatch\n"
    server.modify(f"dn: cn={RULED},{INDEXES_389}\nchangetype: modify\n{rule}")
    middle, late = ENTRIES // 2, ENTRIES - 20
    crash_during_a_build(ds389, HALF, f"t{middle % 20}", middle)
    assert ds389.answers_wrong(f"({NEW}=100)")
    assert ds389.answers_wrong(f"({RULED}=5)")
    assert ds389.answers_wrong(f"({DEFAULT}=3)")
    assert ds389.answers_wrong(f"(title=t{late % 20})", of=f"(employeeNumber={late})")
    # The server writes an index that it has added at a start into dse.ldif with the next change.
    server.modify("dn: cn=config\nchangetype: modify\nreplace: nsslapd-idletimeout\nnsslapd-idletimeout: 0\n")
    assert states(ds389.offline()) == {
        NEW.lower(): ("never-built", "likely", "critical"),
        HALF.lower(): ("interrupted", "likely", "critical"),
        DEFAULT.lower(): ("recreated", "likely", "critical"),
        RULED.lower(): ("changed", "possible", "high"),
    }
    proved = ds389.probed()
    assert states(proved) == dict.fromkeys(
        map(str.lower, (NEW, HALF, DEFAULT, RULED)), ("wrong", "certain", "critical")
    )

    assert states(ds389.verdicts("ssh://ldap")) == states(ds389.offline())
    assert states(ds389.verdicts(ds389.collected())) == states(proved)
    for name in (NEW, DEFAULT):  # the commands compare one old entry, which the others may find
        with pytest.raises(AssertionError, match="WRONG: "):
            paste(server.host, proved[name.lower()]["remedies"][0]["text"])

    build(server, "all", *proved)
    assert not ds389.answers_wrong(f"({NEW}=100)")
    for name in (NEW, RULED):
        assert "right: " in paste(server.host, proved[name.lower()]["remedies"][0]["text"])
    assert states(ds389.offline()) == {}
    assert states(ds389.probed()) == {"gidnumber": unordered}
    server.restart()
    assert states(ds389.offline()) == {}

    server.stop()
    server.host.run(["mv", ERRORS, f"{ERRORS}.20261122-010101"])  # as the server renames it
    server.start()
    build_line = f"Indexing attribute: {NEW.lower()}"
    assert build_line not in server.host.run(["cat", ERRORS])
    capture = ds389.folder.with_name("rotated")
    code, _, err = ds389.desk.run("collect", "ssh://ldap", "--output", str(capture))
    assert code == 0, err
    (errors,) = capture.rglob("errors")
    assert build_line in errors.read_text()
    assert states(ds389.verdicts(str(capture))) == {}


# slapd, which records nowhere whether an index was built: only a probe shows it.

ADDED, EDITED = "displayName", "employeeNumber"


@pytest.fixture(scope="module")
def slapd(laboratory, desk_of, tmp_path_factory) -> Iterator[Site]:
    with Topology(apps=0) as topology:
        people = "\n".join(
            f"dn: uid=p{number},{SUFFIX}\nobjectClass: inetOrgPerson\nuid: p{number}\ncn: person {number}\nsn: x\n"
            f"displayName: person {number}\nemployeeNumber: {number}\n"
            for number in range(PEOPLE)
        )
        server = laboratory.slapd(topology.ldap, database="index objectClass,uid eq\nindex cn eq,sub", entries=people)
        way = (f"ldapi://{server.ldapi}", "-Y", "EXTERNAL")
        yield Site(server, desk_of(topology, "ldap"), tmp_path_factory.mktemp("slapd"), way, topology.ldap)


def indexer_runs(server: Server) -> bool:
    return "mdb_online_index" in server.search("cn=Runqueue,cn=Threads,cn=Monitor", "-s", "base", "monitoredInfo")


def with_index(line: str) -> str:
    return f"dn: olcDatabase={{1}}mdb,cn=config\nchangetype: modify\nadd: olcDbIndex\nolcDbIndex: {line}\n"


def test_the_life_of_indexes_of_a_slapd(slapd) -> None:
    """A restart while an index is built, and an index that is added to the configuration of a stopped server."""
    server = slapd.server
    assert states(slapd.probed()) == {}
    server.modify(with_index(f"{ADDED} eq"))
    assert indexer_runs(server), "PEOPLE are too few for this machine"
    server.stop()
    server.host.run("slapmodify -n0 -F /etc/ldap/slapd.d", stdin=with_index(f"{EDITED} eq"))
    server.start()
    last = PEOPLE - 1
    assert slapd.answers_wrong(f"({ADDED}=person {last})")
    assert not slapd.answers_wrong(f"({ADDED}=person 0)"), "the build began"
    assert slapd.answers_wrong(f"({EDITED}=0)")
    wrong = ("wrong", "certain", "critical")
    found = slapd.probed()
    assert states(found) == {ADDED.lower(): wrong, EDITED.lower(): wrong}

    server.stop()
    server.host.run(f"slapindex -q -F /etc/ldap/slapd.d -b {SUFFIX} {ADDED} {EDITED}")
    server.start()
    assert not slapd.answers_wrong(f"({ADDED}=person {last})")
    assert states(slapd.probed()) == {}
