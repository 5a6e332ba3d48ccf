"""A slapd whose lower database is glued to the one above it: a search of the upper one examines both.

The truth is the server's own: the entries that a search finds, and the database that has them.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from lab.directory_servers import SUFFIX
from lab.host import Host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.directory_servers import Server

UPPER = "dc=com"
PEOPLE, FEW, SEARCHES = 4000, 300, 400
LOWER_NAME, UPPER_NAME = "{1}mdb", "{2}mdb"


def people(count: int, place: str) -> str:
    return "\n".join(
        f"dn: uid=p{number},{place}\nobjectClass: inetOrgPerson\nuid: p{number}\ncn: c\nsn: s\n"
        f"employeeNumber: {number}\ndisplayName: {name(number)}\n"
        for number in range(count)
    )


@pytest.fixture
def server(laboratory) -> Iterator[Server]:
    root = f"dn: {UPPER}\nobjectClass: domain\ndc: com\n\n"
    lines = "rootdn cn=admin,dc=com\nindex objectClass,uid,employeeNumber eq\n"
    with Host("ldap") as host:
        yield laboratory.slapd(
            host,
            database="subordinate\nindex objectClass,uid eq\nindex displayName approx",
            entries=people(PEOPLE, SUFFIX),
            further={UPPER: (lines, root + people(FEW, UPPER))},
        )


def name(number: int) -> str:
    return "Main Street" if number else f"Zebra {number}"


def found(server: Server, text: str) -> int:
    return server.search(UPPER, text, "1.1").count("dn: ")


def configuration(server: Server) -> str:
    return server.host.run(["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"])


def test_a_search_of_the_upper_database_needs_the_index_in_both(server, tmp_path) -> None:
    assert found(server, "(employeeNumber=7)") == 2
    numbers = "".join(f"{number}\n" for number in range(SEARCHES))
    server.host.run(
        ["ldapsearch", "-Q", "-Y", "EXTERNAL", "-H", f"ldapi://{server.ldapi}", "-b", UPPER, "-f", "-",
         "(employeeNumber=%s)", "1.1"], stdin=numbers,
    )  # fmt: skip
    slow = re.sub(r"(?<= etime=)\S+", "0.050000", server.log.read_text())
    (tmp_path / "access.log").write_text(slow)
    for glued in (True, False):
        text = configuration(server)
        (tmp_path / "configuration.ldif").write_text(text if glued else text.replace("olcSubordinate: TRUE\n", ""))
        report = json.loads(ldapdiag("indexes", tmp_path, "--format", "json").text)
        planned = {(one["backend"], one["attribute"].lower()) for one in report["indexes"][0]["plan"]}
        assert planned == ({(LOWER_NAME, "employeenumber")} if glued else set())


def test_a_probe_judges_each_database_by_its_own_entries(server) -> None:
    entry = f"dn: olcDatabase={LOWER_NAME},cn=config\nchangetype: modify\n"
    line = "add: olcDbIndex\nolcDbIndex: employeeNumber eq\n"
    server.stop()
    server.host.run("slapmodify -n0 -F /etc/ldap/slapd.d", stdin=entry + line)
    server.start()
    assert found(server, "(employeeNumber=7)") == 1
    lower = f"(&(uid=p0)(entryDN:dnSubtreeMatch:={SUFFIX})(!(!(displayName~=Zebra 0))))"
    assert (found(server, lower), found(server, "(displayName~=Zebra 0)")) == (1, 1), "only in the upper one, by a scan"
    way = (f"ldapi://{server.ldapi}", "-Y", "EXTERNAL", "--probe-answers", "--format", "json")
    report = json.loads(server.host.attempt([sys.executable, "-m", "ldapdiag", "indexes", *way]).stdout)
    wrong = {
        (one["observed"]["backend"], one["observed"]["attribute"])
        for one in report["findings"]
        if one["check"] == "wrong-answers-possible"
    }
    assert wrong == {(LOWER_NAME, "employeeNumber")}
