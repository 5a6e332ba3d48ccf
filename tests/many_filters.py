"""Access logs with very many filter shapes, and their totals as they are summed while the log is written."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice, permutations
from random import Random
from typing import TYPE_CHECKING

from indexes_389 import BACKEND, LIST, index, limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

WITH_INDEX = """
cn sn givenName uid mail telephoneNumber ou o l member owner seeAlso uniqueMember memberUid uidNumber gidNumber manager
secretary serialNumber employeeNumber
"""
WITHOUT_INDEX = """
st street title description businessCategory postalCode postOfficeBox physicalDeliveryOfficeName x121Address
destinationIndicator initials generationQualifier houseIdentifier info drink roomNumber userClass host
documentIdentifier documentTitle documentVersion documentLocation homePhone associatedDomain personalTitle mobile pager
co buildingName carLicense departmentNumber employeeType preferredLanguage displayName gecos
"""
INDEXED = tuple(WITH_INDEX.split())
INVENTED = tuple(f"exampleKey{number:02}" for number in range(20))
"""More indexes, of attributes that no filter has."""
LACKING = tuple(WITHOUT_INDEX.split())
"""Attributes without an index."""
FORMS = ("(&({})({})({}))", "(|({})({})({}))", "(&({})(|({})({})))", "(|({})(&({})({})))", "(!(&({})({})({})))")
"""Of the last no index helps."""
EVERY = 20
"""One shape in so many is indexed."""
CONNECTIONS, ACCOUNTS = 50, 7
MILLISECOND = 10**6


@dataclass(slots=True)
class Totals:
    """What a log contains. Times in nanoseconds."""

    searches: int = 0
    etime: int = 0
    scans: int = 0
    scan_etime: int = 0


@dataclass(frozen=True, slots=True)
class Search:
    """One search of a log. Times in nanoseconds."""

    time: int
    connection: int
    op: int
    filter: str
    etime: int
    is_scan: bool


def shapes() -> Iterator[tuple[str, bool]]:
    """Yield filters with a place for each value, and whether every entry is examined for them; 130,000 or so."""
    indexed = permutations(INDEXED, 3)
    place = 0
    for stars in range(8):
        for form in FORMS:
            for names in combinations(LACKING, 3):
                if place % EVERY == 0:
                    yield _filter(FORMS[0], next(indexed), 0), False
                yield _filter(form, names, stars), True
                place += 1


def _filter(form: str, names: Sequence[str], stars: int) -> str:
    """Return a filter; the bits of `stars` decide which of its values have a star at each end."""
    star = ["*" if stars >> number & 1 else "" for number in range(len(names))]
    return form.format(*(f"{name}={star[number]}{{{number}}}{star[number]}" for number, name in enumerate(names)))


def searches(kinds: int, count: int, totals: Totals) -> Iterator[Search]:
    """Yield so many searches of so many shapes, some of which are twenty times as costly as others; add them up."""
    draw = Random(7)  # noqa: S311  nothing secret
    known = list(islice(shapes(), kinds))
    draw.shuffle(known)
    time = 0
    for place in range(count):
        time += MILLISECOND
        kind = place % kinds
        shape, is_scan = known[kind]
        text = shape.format(f"v{place:x}", f"x{draw.randrange(1 << 30):x}", f"y{place % 97:x}")
        usual = 5 + 95 * (kind % 1009) // 1009
        etime = (usual * MILLISECOND + draw.randrange(MILLISECOND)) if is_scan else 200_000 + draw.randrange(99_000)
        totals.searches += 1
        totals.etime += etime
        totals.scans += is_scan
        totals.scan_etime += etime if is_scan else 0
        yield Search(time, place % CONNECTIONS + 1, place // CONNECTIONS + 1, text, etime, is_scan)


def write_389(folder: Path, kinds: int, count: int) -> Totals:
    """Write a log of 389-ds with its configuration, and return the totals of the log."""
    folder.mkdir(parents=True)
    built = (index("nsIndexType: eq\nnsIndexType: sub", attribute=one) for one in (*INDEXED, *INVENTED))
    (folder / "dse.ldif").write_text(BACKEND + LIST + "".join(built) + limits("nsslapd-idlistscanlimit: 4000"))
    totals = Totals()
    with (folder / "access").open("w", encoding="ascii") as stream:
        stream.write("\t389-Directory/2.3.1 B2022.\n\tds1:389 (/etc/dirsrv/slapd-ds1)\n\n")
        for number in range(1, CONNECTIONS + 1):
            name = f"uid=app{number % ACCOUNTS},ou=apps,dc=example,dc=com"
            stream.write(
                f"{stamp(0)} conn={number} fd=64 slot=64 connection from 10.0.0.{number} to 10.0.1.1\n"
                f'{stamp(0)} conn={number} op=0 BIND dn="{name}" method=128 version=3\n'
                f"{stamp(0)} conn={number} op=0 RESULT err=0 tag=97 nentries=0 wtime=0.000100000 "
                f'optime=0.000200000 etime=0.000300000 dn="{name}"\n'
            )
        for search in searches(kinds, count, totals):
            head = f"{stamp(search.time)} conn={search.connection} op={search.op}"
            notes = ' notes=A details="Fully Unindexed Filter"' if search.is_scan else ""
            stream.write(
                f'{head} SRCH base="dc=example,dc=com" scope=2 filter="{search.filter}" attrs=ALL\n'
                f"{head} RESULT err=0 tag=101 nentries=1 wtime=0.000010000 "
                f"optime={(search.etime - 10_000) / 1e9:.9f} etime={search.etime / 1e9:.9f}{notes}\n"
            )
    return totals


def stamp(moment: int) -> str:
    """Return a time, in nanoseconds after midnight, as 389-ds writes it."""
    seconds, nanoseconds = divmod(moment, 10**9)
    return f"[20/Nov/2026:{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{nanoseconds:09} +0000]"


def write_slapd(folder: Path, kinds: int, count: int) -> Totals:
    """Write a log of slapd with its configuration, and return the totals of the log."""
    folder.mkdir(parents=True)
    built = "".join(f"olcDbIndex: {one} eq,sub\n" for one in (*INDEXED, *INVENTED))
    (folder / "config.ldif").write_text(
        "dn: cn=config\nobjectClass: olcGlobal\ncn: config\n\n"
        "dn: olcDatabase={1}mdb,cn=config\nobjectClass: olcDatabaseConfig\nobjectClass: olcMdbConfig\n"
        f"olcDatabase: {{1}}mdb\nolcDbDirectory: /var/lib/ldap\nolcSuffix: dc=example,dc=com\n{built}"
    )
    totals = Totals()
    with (folder / "slapd.log").open("w", encoding="ascii") as stream:
        for number in range(1, CONNECTIONS + 1):
            head = f"{slapd_stamp(0)} slapd[4711]: conn={1000 + number}"
            name = f"uid=app{number % ACCOUNTS},ou=apps,dc=example,dc=com"
            stream.write(
                f"{head} fd=12 ACCEPT from IP=10.0.0.{number}:40{number:03} (IP=0.0.0.0:389)\n"
                f'{head} op=0 BIND dn="{name}" method=128\n'
                f'{head} op=0 BIND dn="{name}" mech=SIMPLE bind_ssf=0 ssf=0\n'
                f"{head} op=0 RESULT tag=97 err=0 qtime=0.000010 etime=0.000100 text=\n"
            )
        for search in searches(kinds, count, totals):
            micro = search.etime // 1000
            totals.etime -= search.etime - micro * 1000
            totals.scan_etime -= (search.etime - micro * 1000) if search.is_scan else 0
            head = f"{slapd_stamp(search.time)} slapd[4711]: conn={1000 + search.connection} op={search.op}"
            stream.write(
                f'{head} SRCH base="dc=example,dc=com" scope=2 deref=0 filter="{search.filter}"\n'
                f"{head} SEARCH RESULT tag=101 err=0 qtime=0.000010 etime={micro / 1e6:.6f} nentries=1 text=\n"
            )
    return totals


def slapd_stamp(moment: int) -> str:
    """Return a time, in nanoseconds after midnight, as syslog writes it."""
    seconds, nanoseconds = divmod(moment, 10**9)
    return (
        f"2026-11-20T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{nanoseconds // 1000:06}+00:00 ds1"
    )


WRITERS: dict[str, Callable[[Path, int, int], Totals]] = {"389-ds": write_389, "slapd": write_slapd}
