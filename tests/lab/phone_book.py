"""A phone book of 20,000 people whose indexes have gaps, what it is asked, and what its server wrote of each search.

The gaps are the same on every server: cn, sn, givenName, mail and telephoneNumber have pres, eq and sub; uid, member
and objectClass have eq; displayName, employeeNumber, shadowLastChange and description have nothing.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from lab.directory_servers import APPLICATIONS, INSTANCE, PASSWORD, SUFFIX, account, accounts
from lab.host import wait_for
from lab.odd_directory import ACCESS
from lab.raw_ldap import Connection
from lab.raw_search import search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lab.directory_servers import Server

PEOPLE = 20_000
GROUPS, MEMBERS = 50, 40
PLACE = f"ou=people,{SUFFIX}"
PLANNED = {"displayname": {"eq", "sub"}, "employeenumber": {"eq"}, "shadowlastchange": {"eq"}, "uid": {"sub"}}
"""What ends the scans that an index can end."""
RULED_AT_389 = {"cn": {"caseExactMatch"}}
"""What 389-ds can have besides: an index with the rule of an extensible match."""

SLAPD_SCHEMA = "include /etc/ldap/schema/nis.schema\n"
SLAPD_INDEXES = """maxsize 1000000000
limits users size=unlimited time=unlimited
index objectClass,uid,member eq
index cn,sn,givenName,mail,telephoneNumber pres,eq,sub
"""
READERS = (
    'aci: (targetattr!="userPassword")(version 3.0; acl "all"; allow (read,search,compare) userdn="ldap:///all";)\n'
)
UNLIMITED, LIMITED = APPLICATIONS[:2], APPLICATIONS[2]
"""At 389-ds some may look at every entry; who may not is refused by it (err 11)."""

GIVEN = tuple(
    f"{one}{end}" for one in ("An", "Ber", "Cla", "Do", "Em", "Fri", "Ga") for end in ("na", "ta", "ris", "da")
)
FAMILY = tuple(
    f"{one}{end}"
    for one in ("Acker", "Berg", "Dorn", "Eichen", "Feld", "Gersten", "Hagel", "Kirsch", "Linden")
    for end in ("bach", "hof", "mann", "reuter", "stein", "wald", "weger")
)

PERSON = f"""dn: uid=p{{digits}},{PLACE}
objectClass: inetOrgPerson
objectClass: shadowAccount
uid: p{{digits}}
cn: {{given}} {{family}}
sn: {{family}}
givenName: {{given}}
displayName: {{digits}} {{given}} {{family}} {{digits}}
mail: {{given}}.{{family}}.{{digits}}@example.com
telephoneNumber: +49 30 {{digits}}
employeeNumber: {{digits}}
shadowLastChange: {{number}}
description: {"since " * 8}{{digits}}
"""


def known_of(number: int) -> dict[str, str]:
    """Return the parts of what a person's entry says."""
    given, family = GIVEN[number % len(GIVEN)], FAMILY[number % len(FAMILY)]
    return {"given": given, "family": family, "digits": f"{number:05}", "number": str(number)}


def entries() -> Iterator[str]:
    """Yield everybody, and the groups, as LDIF."""
    yield f"dn: {PLACE}\nobjectClass: organizationalUnit\nou: people\n"
    yield f"dn: ou=groups,{SUFFIX}\nobjectClass: organizationalUnit\nou: groups\n"
    for number in range(PEOPLE):
        yield PERSON.format(**known_of(number))
    for number in range(GROUPS):
        members = "".join(f"member: uid=p{one:05},{PLACE}\n" for one in range(number, number + MEMBERS))
        yield f"dn: cn=group{number},ou=groups,{SUFFIX}\nobjectClass: groupOfNames\ncn: group{number}\n{members}"


def load_389(server: Server) -> Server:
    """Give a 389 Directory Server the phone book, and start it again."""
    root = f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n{READERS}"
    staff = accounts()
    for name in UNLIMITED:
        staff = staff.replace(f"uid: {name}\n", f"uid: {name}\nnsLookThroughLimit: -1\n")
    server.stop()
    server.host.run("cat > /run/load.ldif; chmod 644 /run/load.ldif", stdin="\n".join([root, staff, *entries()]))
    server.host.run(["ns-slapd", "ldif2db", "-D", INSTANCE, "-n", "userRoot", "-i", "/run/load.ldif"])
    server.host.run("rm /run/load.ldif")
    return server.start()


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked again and again, each time for another person."""

    filter: str
    times: int
    who: str = UNLIMITED[0]
    base: str = SUFFIX
    scope: str = "sub"


ENDED = {
    "display name": Question("(displayName={digits} {given} {family} {digits})", 6),
    "of another account": Question("(displayName={digits} {given} {family} {digits})", 6, UNLIMITED[1]),
    "beginning": Question("(displayName={digits} {given}*)", 6),
    "middle": Question("(displayName=*{family} {digits}*)", 6, UNLIMITED[1]),
    "end": Question("(displayName=*{digits})", 6),
    "person": Question("(&(objectClass=inetOrgPerson)(displayName={digits}*))", 6, UNLIMITED[1], PLACE),
    "in many": Question("(|(cn=*{digits}*)(displayName=*{digits}*)(mail=*{digits}*))", 6),
    "one of two": Question("(|(uid=p{digits})(employeeNumber={digits}))", 6),
    "employee": Question("(employeeNumber={digits})", 6),
    "employed person": Question("(&(objectClass=person)(employeeNumber={digits}))", 6, UNLIMITED[1], PLACE, "one"),
    "part of uid": Question("(uid=*{digits}*)", 6),
    "day": Question("(shadowLastChange={number})", 6),
}
"""Searches that scan for want of an index: those of PLANNED."""
ENDED_AT_389 = {
    "the last": Question("(employeeNumber>=19997)", 6),
    "since": Question("(shadowLastChange>=19996)", 6),
    "refused": Question("(displayName={digits} {given} {family} {digits})", 4, LIMITED),
}
"""slapd finds no ordering rule for either: such filters match nothing there. Nor has it that limit."""
UNHELPED = {
    "not": Question("(&(objectClass=person)(!(displayName=*)))", 2),
    "extensible": Question("(cn:caseExactMatch:={given} {digits})", 2),
    "short beginning": Question("(cn=q*)", 2),
    "short middle": Question("(sn=*q*)", 2, UNLIMITED[1]),
    "everything": Question("(objectClass=*)", 1),
}
"""Scans that no index ends."""
UNKNOWN = {"unknown attribute": Question("(nosuchattribute={digits})", 3)}
QUICK = {
    "uid": Question("(uid=p{digits})", 60, UNLIMITED[1]),
    "mail": Question("(mail=*.{digits}@example.com)", 20),
    "both": Question("(&(uid=p{digits})(employeeNumber={digits}))", 20),
    "both, turned": Question("(&(employeeNumber={digits})(uid=p{digits}))", 20),
    "members": Question(f"(member=uid=p{{digits}},{PLACE})", 10),
    "telephone": Question("(telephoneNumber=+49 30 {digits})", 10),
    "itself": Question("(displayName={digits})", 10, base=account(UNLIMITED[0]), scope="base"),
}
"""Searches that do no harm."""
EVERYTHING = ENDED | UNHELPED | UNKNOWN | QUICK


@dataclass(frozen=True, slots=True)
class Answered:
    """What the server wrote of one search."""

    etime: float
    """Seconds."""
    entries: int
    err: int
    notes: str


BIND = re.compile(r'conn=(\d+) op=0 BIND dn="(.*?)"')
RESULT = re.compile(r"conn=(\d+) op=(\d+) (?:SEARCH )?RESULT .*\btag=101\b.*")
ERR, ENTRIES, ETIME = (re.compile(rf" {name}=([\d.]+)") for name in ("err", "nentries", "etime"))
NOTES = re.compile(r" notes=(\S+)")


def ask(server: Server, questions: dict[str, Question], seed: int, times: int = 0) -> dict[str, list[Answered]]:
    """Ask as often as each question says, or so many times, in any order, and return what the server wrote."""
    draw = Random(seed)  # noqa: S311  nothing secret
    asked = [name for name, one in questions.items() for _ in range(times or one.times)]
    draw.shuffle(asked)
    logged = Logged(server)
    orders = server.host.inside(lambda: _asked(draw, [(name, questions[name]) for name in asked]))

    def answered() -> dict[tuple[str, int], Answered]:  # servers log a result after they have sent it
        results = results_of(logged.since().splitlines())
        return results if len(results) == len(asked) else {}

    try:
        results = wait_for(answered, f"the log has not all of {len(asked)} searches")
    except AssertionError as error:
        lines = logged.since().splitlines()
        error.add_note(f"results of {len(results_of(lines))} searches in {len(lines)} lines; the last: {lines[-3:]}")
        raise
    told: dict[str, list[Answered]] = {name: [] for name in questions}
    for who, names in orders.items():
        operations = sorted(
            operation for account_, operation in results if account_ == who
        )  # 389-ds leaves numbers out
        for name, operation in zip(names, operations, strict=True):
            told[name].append(results[who, operation])
    return told


def _asked(draw: Random, questions: Iterable[tuple[str, Question]]) -> dict[str, list[str]]:
    """Ask, over one connection for each account, and return the names of the questions by account."""
    connections: dict[str, Connection] = {}
    orders: dict[str, list[str]] = {}
    for name, one in questions:
        if one.who not in connections:
            connections[one.who] = Connection(socket.create_connection(("127.0.0.1", 389)))
            assert connections[one.who].bind(account(one.who), PASSWORD) == 0
        search(connections[one.who], one.base, one.scope, one.filter.format(**known_of(draw.randrange(PEOPLE))))
        orders.setdefault(one.who, []).append(name)
    for connection in connections.values():
        connection.unbind()
    return orders


def results_of(lines: Sequence[str]) -> dict[tuple[str, int], Answered]:
    """Return the results of searches by the account's name and the number of the operation."""
    names = {found[1]: found[2].partition(",")[0].partition("=")[2] for line in lines if (found := BIND.search(line))}
    return {
        (names[found[1]], int(found[2])): Answered(
            etime=float(ETIME.search(line)[1]),
            entries=int(ENTRIES.search(line)[1]),
            err=int(ERR.search(line)[1]),
            notes=notes[1] if (notes := NOTES.search(line)) else "",
        )
        for line in lines
        if (found := RESULT.search(line)) and found[1] in names
    }


class Logged:
    """The access log of a server from a moment on."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.begun = len(self._text())

    def since(self) -> str:
        """Return what was written since."""
        return self._text()[self.begun :]

    def _text(self) -> str:
        text = self.server.host.run(["cat", ACCESS]) if is_389(self.server) else self.server.log.read_text()
        return text[: text.rfind("\n") + 1]  # without a line that is being written


def is_389(server: Server) -> bool:
    """Tell whether a server is a 389 Directory Server."""
    return server.argv[0] == "ns-slapd"
