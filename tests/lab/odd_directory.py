"""A directory whose values are oddly spread and whose indexes have gaps of every kind, and a 389-ds that serves it.

Sizes lie at both sides of what the server's logic turns at: 10 ids, the scan limit, 4000 ids. What is searched for is
drawn from a seed, so that a failure can be seen again.
"""

from __future__ import annotations

import random
import re
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab.directory_servers import DSE, INSTANCE, PASSWORD, SUFFIX
from lab.host import wait_for
from lab.raw_ldap import Connection
from lab.raw_search import search
from ldapdiag.servers.ds389.index_build import KEPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lab.directory_servers import Server

DATABASES = "cn=ldbm database,cn=plugins,cn=config"
BACKEND, LDBM = f"cn=userRoot,{DATABASES}", f"cn=config,{DATABASES}"
INDEXES_389, BUILDS = f"cn=index,{BACKEND}", "cn=index,cn=tasks,cn=config"
ACCESS, ERRORS = "/var/log/dirsrv/slapd-live/access", "/var/log/dirsrv/slapd-live/errors"
SCAN_LIMIT = 500
LOOKTHROUGH_LIMIT = 4000
PLACES = {"people": 0, "few": 5, "ten": 9, "eleven": 11, "limit": SCAN_LIMIT - 1, "more": SCAN_LIMIT + 1}
"""Entries below each organizational unit; people has the rest."""

INDEXES = {
    "uid": "nsIndexType: eq",
    "cn": "nsIndexType: pres\nnsIndexType: eq\nnsIndexType: sub",
    "sn": "nsIndexType: eq\nnsIndexType: sub",
    "givenName": "nsIndexType: eq\nnsMatchingRule: caseExactMatch",
    "preferredLanguage": "nsIndexType: eq\nnsIndexType: pres",
    "title": "nsIndexType: sub\nnsMatchingRule: 2.16.840.1.113730.3.3.2.18.1\nnsMatchingRule: 2.5.13.5",
    "roomNumber": "nsIndexType: pres\nnsIndexType: eq",
    "carLicense": "nsIndexType: approx\nnsIndexType: eq",
    "mail": "nsIndexType: eq\nnsIndexType: sub\nnsIndexIDListScanLimit: limit=20 type=sub",
    "departmentNumber": "nsIndexType: eq\nnsIndexType: pres\n"
    "nsIndexIDListScanLimit: limit=0 type=eq flags=AND values=d1\n"
    "nsIndexIDListScanLimit: limit=-1 type=eq\nnsIndexIDListScanLimit: limit=30 flags=AND",
    "homeDirectory": "objectClass: extensibleObject\nnsIndexType: eq\nnsIndexType: sub\n"
    "nsSubStrBegin: 2\nnsSubStrMiddle: 4\nnsSubStrEnd: 5",
    "labeledURI": "nsIndexType: eq\nnsIndexType: sub\nnsMatchingRule: nsSubStrBegin=4\nnsMatchingRule: nsSubStrEnd=2",
    "uidNumber": "nsIndexType: eq\nnsMatchingRule: integerOrderingMatch",
    "shadowMax": "nsIndexType: eq",
}
PERSON = f"uid=u0,ou=people,{SUFFIX}"
"""May bind, and looks through LOOKTHROUGH_LIMIT entries at most; the manager has no limit."""
UNBUILT = "initials"
"""Its index is added while the server runs, and never built."""


def entries(total: int) -> Iterator[str]:
    """Yield the entries as LDIF, the suffix first; with the suffix and the units there are `total`."""
    yield f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n"
    number = 0
    for place, few in PLACES.items():
        yield f"dn: ou={place},{SUFFIX}\nobjectClass: organizationalUnit\nou: {place}\n"
        for _ in range(few or total - 1 - len(PLACES) - sum(PLACES.values())):
            yield _person(number, place)
            number += 1


def _person(number: int, place: str) -> str:
    classes = "".join(f"objectClass: {one}\n" for one in ("inetOrgPerson", "posixAccount", "shadowAccount"))
    text = (
        f"dn: uid=u{number},ou={place},{SUFFIX}\n{classes}uid: u{number}\ncn: name{number}\nsn: sn{number % 50}\n"
        f"givenName: g{number % 5}\nemployeeNumber: {number}\ntitle: t{number % 20}\ndescription: d{number % 300}\n"
        f"uidNumber: {number}\ngidNumber: {number % 7}\nhomeDirectory: /home/u{number}\nshadowMax: {number}\n"
        f"shadowMin: {number % 100}\n"
        f"mail: u{number}@example.com\ncarLicense: {WORDS[number % len(WORDS)]}\ninitials: i{number % 9}\n"
        f"departmentNumber: d{number % 40}\nlabeledURI: http://u{number}/\npreferredLanguage: p{_sized(number)}\n"
    )
    if number == 0:
        text += f"userPassword: {PASSWORD}\n"
    return text + (f"roomNumber: r{number}\n" if number % 97 == 0 else "")


WORDS = ("silver", "copper plate", "golden", "iron", "tin roof")


def _sized(number: int) -> int:
    """Return a value that as many entries have as it says; the rest have 0."""
    for size in (10, 11, SCAN_LIMIT, SCAN_LIMIT + 1):
        if number < size:
            return size
        number -= size
    return 0


def configured(dse: str, scan_limit: int = SCAN_LIMIT) -> str:
    """Return a stopped server's dse.ldif with these indexes and this limit."""
    for attribute in INDEXES:
        dse = re.sub(rf"(?im)^dn: cn={attribute},cn=index,cn=userroot,.*\n(?:.+\n)*\n", "", dse)
    dse = re.sub(r"(?im)^nsslapd-idlistscanlimit: .*", f"nsslapd-idlistscanlimit: {scan_limit}", dse)
    dse = re.sub(r"(?im)^nsslapd-lookthroughlimit: .*", f"nsslapd-lookthroughlimit: {LOOKTHROUGH_LIMIT}", dse)
    return "\n\n".join([dse.rstrip("\n"), *(index_entry(*one) for one in INDEXES.items())]) + "\n"


def add_index(server: Server, attribute: str) -> None:
    """Add an index for equality to a running server, which does not build it."""
    server.modify(index_entry(attribute, "nsIndexType: eq\n").replace("\n", "\nchangetype: add\n", 1))


def begin_build(server: Server, name: str, *attributes: str) -> str:
    """Begin to build indexes, and return the DN of the task of this name."""
    task = f"cn={name},{BUILDS}"
    names = "".join(f"nsIndexAttribute: {one}\n" for one in attributes)
    server.modify(
        f"dn: {task}\nchangetype: add\nobjectClass: extensibleObject\ncn: {name}\nnsInstance: userroot\n{KEPT}\n{names}"
    )
    return task


def build(server: Server, name: str, *attributes: str) -> None:
    """Build indexes by a task of this name."""
    task = begin_build(server, name, *attributes)
    wait_for(lambda: "nsTaskExitCode: 0" in server.search(task), "the build does not end")


def index_entry(attribute: str, settings: str) -> str:
    """Return the entry of an index."""
    dn = f"cn={attribute},{INDEXES_389}"
    return f"dn: {dn}\nobjectClass: nsIndex\ncn: {attribute}\nnsSystemIndex: false\n{settings}"


def load(server: Server, total: int) -> None:
    """Give a server these indexes and so many entries, and start it again."""
    server.stop()
    dse = server.host.run(["cat", DSE])
    server.host.run(["tee", DSE], stdin=configured(dse))
    server.host.run("cat > /run/load.ldif; chmod 644 /run/load.ldif", stdin="\n".join(entries(total)))
    server.host.run(["ns-slapd", "ldif2db", "-D", INSTANCE, "-n", "userRoot", "-i", "/run/load.ldif"])
    server.start()


def limit_scans(server: Server, limit: int) -> None:
    """Set how long a list of ids may be; the server takes it at once."""
    entry = f"dn: {LDBM}\nchangetype: modify\nreplace: nsslapd-idlistscanlimit\nnsslapd-idlistscanlimit: {limit}\n"
    server.modify(entry)


@dataclass(frozen=True, slots=True)
class Asked:
    """One search."""

    filter: str
    base: str = SUFFIX
    scope: str = "sub"


@dataclass(slots=True)
class Logged:
    """What the server wrote of one search."""

    filter: str = ""
    notes: str = ""
    err: int = -1
    entries: int = 0
    lookups: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """STAT: ids, by attribute in lower case, type and key."""


REQUEST = re.compile(r' op=(\d+) SRCH base=.* filter="(.*?)"(?: attrs=|$)')
STATISTICS = re.compile(r" op=(\d+) STAT read index: attribute=(\S+) key\((\w+)\)=(.*) --> count (\d+)")
RESULT = re.compile(r" op=(\d+) RESULT err=(\d+) tag=101 nentries=(\d+)(.*)")
NOTES = re.compile(r" notes=(\S+)")


def ask(server: Server, searches: Sequence[Asked], name: str = "cn=Directory Manager") -> list[Logged]:
    """Search one after the other, and return what the server wrote of each."""
    before = int(server.host.run(["stat", "-c", "%s", ACCESS]))
    connection = server.host.inside(lambda: Connection(socket.create_connection(("127.0.0.1", 389))))
    assert connection.bind(name, PASSWORD) == 0
    for one in searches:
        search(connection, one.base, one.scope, one.filter)
    connection.unbind()
    # A result is logged after it is sent.
    return wait_for(
        lambda: _logged(server.host.run(f"tail -c +{before + 1} {ACCESS}").splitlines(), len(searches)),
        f"the log does not tell of {len(searches)} searches",
    )


def _logged(lines: Iterable[str], expected: int) -> list[Logged]:
    """Return what the log has of each search; nothing as long as it has not all of them."""
    known: dict[int, Logged] = {}  # by the number of the operation: 1 and on, for 0 is the bind
    for line in lines:
        if found := STATISTICS.search(line):
            told = known.setdefault(int(found[1]), Logged())
            told.lookups[found[2].partition(";")[0].lower(), found[3], found[4]] = int(found[5])
        elif found := REQUEST.search(line):
            known.setdefault(int(found[1]), Logged()).filter = found[2]
        elif found := RESULT.search(line):
            told = known.setdefault(int(found[1]), Logged())
            told.err, told.entries = int(found[2]), int(found[3])
            told.notes = notes[1] if (notes := NOTES.search(found[4])) else ""
    done = [known[operation] for operation in sorted(known) if known[operation].err >= 0]
    return done if len(done) == expected else []


def drawn(draw: random.Random, count: int) -> list[Asked]:
    """Return searches: leaves of all kinds, sets in sets three deep, every scope, large and small bases."""
    places = [SUFFIX] * 6 + [f"ou={place},{SUFFIX}" for place in PLACES] + [f"uid=u1,ou=people,{SUFFIX}"]
    return [
        Asked(_filter(draw, draw.choice((0, 1, 1, 2, 2, 3))), draw.choice(places), draw.choices(SCOPES, (7, 3, 1))[0])
        for _ in range(count)
    ]


SCOPES = ("sub", "one", "base")


def _filter(draw: random.Random, depth: int) -> str:
    if depth == 0:
        return leaf(draw)
    match draw.choice("&&&||!"):
        case "!":
            return f"(!{_filter(draw, depth - 1)})"
        case operator:
            members = [_filter(draw, draw.randrange(depth)) for _ in range(draw.randint(1, 3))]
            return f"({operator}{''.join(members)})"


def leaf(draw: random.Random) -> str:
    """Return an assertion, each attribute and each kind as likely as another."""
    number = draw.randrange(900)
    attribute, stem, modulus = draw.choice(VALUES)
    value = f"{stem}{number % modulus}"
    match draw.choice(("eq", "eq", "eq", "sub", "sub", "range", "presence", "other")):
        case "eq":
            return f"({attribute}={value})"
        case "sub":
            return f"({attribute}={draw.choice(PATTERNS).replace('V', value).replace('v', value[-2:])})"
        # Without a scan limit a range over many values of one entry ends 2.3.1: (objectClass<=zzz) is enough.
        case "range" if attribute != "objectClass":
            return f"({attribute}{draw.choice('<>')}={value})"
        case "presence":
            return f"({attribute}=*)"
        case _:
            return draw.choice(OTHERS)


VALUES = (
    ("uid", "u", 900), ("cn", "name", 900), ("sn", "sn", 50), ("givenName", "g", 5), ("employeeNumber", "", 900),
    ("title", "t", 20), ("description", "d", 300), ("uidNumber", "", 900), ("gidNumber", "", 7),
    ("homeDirectory", "/home/u", 900), ("shadowMax", "", 900), ("mail", "u", 900), ("initials", "i", 9),
    ("departmentNumber", "d", 40), ("labeledURI", "http://u", 900), ("roomNumber", "r", 900), ("name", "name", 900),
    ("objectClass", "person", 1), ("nosuchattribute", "x", 9), ("2.5.4.4", "sn", 50), ("surname", "sn", 50),
    ("carLicense", "tin roof", 1), ("cn;lang-fr", "name", 900), ("telephoneNumber", "1", 9), ("nsRole", "cn=r", 5),
)  # fmt: skip
PATTERNS = ("V*", "*V", "*V*", "v*", "*v", "*v*", "?*".replace("?", "u"), "*V*v", "u*v*", "*a*", "V*V", "n*m*")
OTHERS = (
    "(objectClass=inetOrgPerson)", "(objectClass=person)", "(objectClass=organizationalUnit)", "(objectClass=*)",
    *(f"(preferredLanguage=p{size})" for size in (10, 11, SCAN_LIMIT, SCAN_LIMIT + 1, 0)),
    "(carLicense~=silver)", "(carLicense~=copper roof)", "(carLicense~=12)", "(cn~=name1)", "(uidNumber~=5)",
    "(givenName:caseExactMatch:=g1)", "(givenName:dn:caseExactMatch:=g1)", "(givenName:2.5.13.5:=g1)",
    "(title:2.5.13.5:=t5)", "(title:fr:=t5)", "(uidNumber:1.2.840.113556.1.4.803:=64)",
    "(cn:caseExactMatch:=name5)", "(cn:dn:=name5)", "(sn:fr:=sn1)", "(nosuchattribute:caseExactMatch:=x)",
    "(userPassword=*abcd*)", "(jpegPhoto=*)", "(modifyTimestamp>=20200101000000Z)", "(ou=few)", "(mail=*@example.com)",
)  # fmt: skip

FRENCH = "2.16.840.1.113730.3.3.2.18.1"
GIVEN_NAME_RULES = ("caseExactMatch", "dn:caseExactMatch", "caseexactmatch", "2.5.13.5", "caseIgnoreMatch", "fr")
TITLE_RULES = (
    *("fr", "FR", "fr-FR", "de", "2.5.13.5", "caseExactMatch"),
    *(f"fr.{suffix}" for suffix in range(1, 7)),
    *(FRENCH, f"{FRENCH}.3", f"{FRENCH}.4", f"{FRENCH}.6"),
)

TRIED = tuple(
    Asked(filter_, base, scope)
    for filter_, base, scope in (
        ("(employeeNumber=10)", SUFFIX, "sub"),
        ("(&(uid=u10)(employeeNumber=10))", SUFFIX, "sub"),
        ("(&(employeeNumber=10)(uid=u10))", SUFFIX, "sub"),
        ("(&(objectClass=inetOrgPerson)(employeeNumber=51))", SUFFIX, "sub"),
        ("(&(objectClass=inetOrgPerson)(cn=name1*))", SUFFIX, "sub"),
        ("(objectClass=inetOrgPerson)", SUFFIX, "sub"),
        ("(cn=*)", SUFFIX, "sub"),
        ("(|(uid=u10)(employeeNumber=10))", SUFFIX, "sub"),
        ("(|(title=t1)(employeeNumber=10))", SUFFIX, "sub"),
        ("(!(uid=u10))", SUFFIX, "sub"),
        ("(&(objectClass=inetOrgPerson)(!(uid=u10)))", SUFFIX, "sub"),
        ("(&(objectClass=inetOrgPerson)(!(uid=nobody)))", SUFFIX, "sub"),
        ("(&(cn=name1*)(!(title=t1)))", SUFFIX, "sub"),
        ("(&(!(title=t1))(uid=u10))", SUFFIX, "sub"),
        ("(&(!(title=t1))(objectClass=person))", SUFFIX, "sub"),
        ("(&(!(title;lang-fr=t1))(sn=sn1))", SUFFIX, "sub"),
        ("(objectClass=*)", SUFFIX, "sub"),
        ("(objectClass=*)", f"ou=few,{SUFFIX}", "one"),
        ("(objectClass=*)", f"ou=few,{SUFFIX}", "sub"),
        ("(employeeNumber=1)", f"ou=few,{SUFFIX}", "sub"),
        ("(employeeNumber=10)", f"ou=people,{SUFFIX}", "one"),
        ("(employeeNumber=10)", f"ou=people,{SUFFIX}", "base"),
        ("(employeeNumber=10)", f"ou=limit,{SUFFIX}", "one"),
        ("(employeeNumber=10)", f"ou=limit,{SUFFIX}", "sub"),
        ("(employeeNumber=10)", f"ou=more,{SUFFIX}", "one"),
        ("(employeeNumber=10)", f"ou=more,{SUFFIX}", "sub"),
        *((f"(cn={short})", SUFFIX, "sub") for short in ("n*", "*am*", "*0", "na*", "*ame*", "*10")),
        *((f"(homeDirectory={short})", SUFFIX, "sub") for short in ("/*", "*ome*", "*u10", "*/u10", "/h*", "*/u10*")),
        *((f"(labeledURI={short})", SUFFIX, "sub") for short in ("ht*", "htt*", "http://u1*", "*/", "*u10/")),
        ("(uid=u1*)", SUFFIX, "sub"),
        ("(uid>=u790)", SUFFIX, "sub"),
        ("(uid<=u790)", SUFFIX, "sub"),
        ("(&(uid>=u78)(uid<=u79))", SUFFIX, "sub"),
        ("(&(uid>=u1)(objectClass=person)(uid<=u11))", SUFFIX, "sub"),
        ("(&(employeeNumber>=1)(employeeNumber<=2))", SUFFIX, "sub"),
        ("(uidNumber<=9)", SUFFIX, "sub"),
        ("(shadowMax<=9)", SUFFIX, "sub"),
        ("(employeeNumber>=790)", SUFFIX, "sub"),
        ("(cn:caseExactMatch:=name1)", SUFFIX, "sub"),
        *((f"(givenName:{rule}:=g1)", SUFFIX, "sub") for rule in GIVEN_NAME_RULES),
        ("(givenName;lang-fr:caseExactMatch:=g1)", SUFFIX, "sub"),
        ("(gn:caseExactMatch:=g1)", SUFFIX, "sub"),
        ("(givenName:=g1)", SUFFIX, "sub"),
        *((f"(title:{rule}:={value})", SUFFIX, "sub") for rule in TITLE_RULES for value in ("t5", "t18")),
        ("(&(title:fr:=t5)(employeeNumber=5))", SUFFIX, "sub"),
        ("(|(title:fr:=t5)(uid=u1))", SUFFIX, "sub"),
        ("(!(title:fr:=t5))", SUFFIX, "sub"),
        *((f"(uidNumber:integerOrderingMatch:={value})", SUFFIX, "sub") for value in (5, 700, 1390)),
        ("(uidNumber:1.2.840.113556.1.4.803:=64)", SUFFIX, "sub"),
        ("(nosuchattribute=1)", SUFFIX, "sub"),
        ("(nosuchattribute=*1234*)", SUFFIX, "sub"),
        ("(&(nosuchattribute=1)(employeeNumber=1))", SUFFIX, "sub"),
        ("(|(nosuchattribute=1)(uid=u10))", SUFFIX, "sub"),
        ("(!(nosuchattribute=1))", SUFFIX, "sub"),
        ("(initials=i1)", SUFFIX, "sub"),
        ("(departmentNumber=d1)", SUFFIX, "sub"),
        ("(&(departmentNumber=d1)(objectClass=person))", SUFFIX, "sub"),
        ("(&(departmentNumber=d2)(objectClass=person))", SUFFIX, "sub"),
        ("(departmentNumber=d1)", f"ou=more,{SUFFIX}", "one"),
        ("(&(departmentNumber=*)(objectClass=person))", SUFFIX, "sub"),
        ("(departmentNumber=*)", SUFFIX, "sub"),
        ("(mail=u1*)", SUFFIX, "sub"),
        ("(mail=u10@*)", SUFFIX, "sub"),
        *((f"(preferredLanguage=p{size})", SUFFIX, "sub") for size in (10, 11, SCAN_LIMIT, SCAN_LIMIT + 1)),
        *((f"(&(preferredLanguage=p{size})(employeeNumber=1))", SUFFIX, "sub") for size in (10, 11, SCAN_LIMIT + 1)),
        ("(&(|(&(description=d1)(uid=u1))(cn=name5))(|(&(description=d1)(uid=u1))(cn=name5)))", SUFFIX, "sub"),
        *((f"({of_parents})", SUFFIX, "sub") for of_parents in ("numSubordinates>=1", "numSubordinates=*")),
        *((f"(hasSubordinates={value})", SUFFIX, "sub") for value in ("TRUE", "FALSE", "*")),
        *((f"(cn;lang-fr{operator}name1)", SUFFIX, "sub") for operator in ("=", ">=", "<=", "~=")),
        ("(cn;lang-fr=*)", SUFFIX, "sub"),
        ("(cn;lang-fr=*name1*)", SUFFIX, "sub"),
        (f"(entrydn=uid=u1,ou=people,{SUFFIX})", SUFFIX, "sub"),
        ("(nsRole=cn=x)", SUFFIX, "sub"),
        ("(name=name1)", SUFFIX, "sub"),
        ("(cn;lang-fr=name1)", SUFFIX, "sub"),
    )
)
"""What turned out to matter when the server's logic was read; no answer is written here."""
