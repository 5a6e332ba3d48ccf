"""A directory drawn from a seed: sites, teams, hosts and contacts, with attributes that spread as the seed has it.

How many values an attribute has, how unevenly they spread, and how many people have it, nobody chose: no threshold of
the analyser was looked at. The same seed draws the same directory again.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING

from lab.directory_servers import INSTANCE, SUFFIX, Server, accounts
from lab.phone_book import FAMILY, GIVEN, READERS
from lab.two_database_servers import limited, limits, probes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.host import Host
    from lab.laboratory import Laboratory

PERSONS, TEAMS, HOSTS, CONTACTS = "ou=Accounts", "ou=Teams", "ou=Hosts", "ou=Contacts"
SITES = 12
BEGIN, MINUTES = datetime(2021, 3, 1, tzinfo=UTC), 60 * 24 * 365 * 5
FIRST_NUMBER = 10_000
FORMS = {
    "employeeNumber": "E{:06}",
    "employeeType": "type{:03}",
    "departmentNumber": "{:04}",
    "businessCategory": "unit {:03}",
    "roomNumber": "B{:05}",
    "title": "Engineer {:04}",
    "l": "town {:03}",
    "st": "state {:02}",
    "street": "{} Main Street",
    "postalCode": "{:05}",
    "o": "company {:03}",
    "ou": "division {:03}",
    "preferredLanguage": "l{:02}",
    "carLicense": "HH-{:05}",
    "homePhone": "+49 40 {:06}",
    "mobile": "+49 171 {:06}",
    "pager": "+49 166 {:06}",
    "telephoneNumber": "+49 89 {:06}",
    "facsimileTelephoneNumber": "+49 89 9 {:06}",
    "initials": "X{:03}",
    "physicalDeliveryOfficeName": "office {:04}",
    "description": "note {:05}",
    "labeledURI": "http://example.com/{:06}",
    "loginShell": "/bin/shell{:02}",
    "gecos": "gecos {:06}",
    "destinationIndicator": "D{:04}",
    "postOfficeBox": "PO {:05}",
    "gidNumber": "{}",
    "shadowExpire": "{}",
    "shadowLastChange": "{}",
}
"""Attributes of people that have drawn values, by the text of a value."""
ALWAYS = ("employeeNumber", "gidNumber")
PLACES = ("manager", "secretary", "seeAlso")
"""Attributes that name another person."""
INDEXED = (
    "member,memberUid,memberOf eq",
    "cn,sn,mail pres,eq,sub",
    "uid,uidNumber,gidNumber eq",
    "givenName eq,sub",
    "o,l eq",
    "telephoneNumber,mobile eq,sub",
    "employeeType,departmentNumber eq",
    "title,description eq",
    "roomNumber eq",
    "manager,seeAlso eq",
    "displayName sub",
    "entryCSN,entryUUID eq",
)
"""Of these a slapd has some; 389-ds has its default ones."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How the values of an attribute are spread."""

    values: int
    skew: float
    share: float


class DrawnDirectory:
    """The entries, of which any person is known by number."""

    def __init__(self, seed: int, people: int) -> None:
        self.seed, self.people = seed, people
        self.draw = Random(seed)  # noqa: S311  nothing secret
        self.spreads = {name: self._spread(name) for name in (*FORMS, *PLACES, "memberOf")}
        self.suffix = SUFFIX
        self.teams, self.hosts, self.contacts = people // 30, people // 8, people // 5

    def _spread(self, name: str) -> Spread:
        values = int(math.exp(self.draw.uniform(math.log(3), math.log(self.people))))
        share = 1.0 if name in ALWAYS else self.draw.choice((1, 1, 0.7, 0.3, 0.05, 0.01))
        return Spread(self.people if name == "employeeNumber" else values, self.draw.choice((1, 1, 1, 2, 4)), share)

    def _chance(self, *of: object) -> float:
        digest = hashlib.blake2b(repr((self.seed, of)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64

    def _pick(self, name: str, number: int) -> int:
        spread = self.spreads[name]
        if name == "employeeNumber":
            return number * 7919 % self.people
        return int(self._chance(name, number) ** spread.skew * spread.values)

    def has(self, name: str, number: int) -> bool:
        """Return whether a person has an attribute."""
        return name not in self.spreads or self._chance("has", name, number) < self.spreads[name].share

    def value(self, name: str, number: int) -> str:
        """Return the value of a person; where the person has none, one that another person may have."""
        if name in FORMS:
            return FORMS[name].format(self._pick(name, number))
        if name in PLACES:
            return self.dn(self._pick(name, number) % self.people)
        if name == "memberOf":
            return self.team(self._pick(name, number) % self.teams)
        return self._own(number)[name]

    def _own(self, number: int) -> dict[str, str]:
        given = GIVEN[int(self._chance("given", number) ** 2 * len(GIVEN))]
        family = FAMILY[int(self._chance("family", number) * len(FAMILY))]
        uid = f"{given[:2]}{family[:3]}{number:05}".lower()
        born = BEGIN + timedelta(minutes=int(self._chance("born", number) * MINUTES))
        changed = born + (BEGIN + timedelta(minutes=MINUTES) - born) * self._chance("changed", number)
        return {
            "uid": uid,
            "givenName": given,
            "sn": family,
            "cn": f"{given} {family} {number % 97}",
            "displayName": f"{family}, {given} {number % 1009}",
            "mail": f"{given}.{family}{number}@example.com".lower(),
            "uidNumber": str(FIRST_NUMBER + number),
            "homeDirectory": f"/home/{uid}",
            "cn;lang-fr": f"{family} {given}",
            "createTimestamp": f"{born:%Y%m%d%H%M}00Z",
            "modifyTimestamp": f"{changed:%Y%m%d%H%M}00Z",
        }

    def site(self, number: int) -> str:
        """Return the branch of a person's site: most are at few sites."""
        return f"l=site{int(self._chance('site', number) ** 2 * SITES):02},{PERSONS}"

    def unit(self, number: int) -> str:
        """Return the branch that a person is in."""
        return f"ou={'staff' if self._chance('unit', number) < 0.8 else 'guests'},{self.site(number)}"

    @cached_property
    def _dns(self) -> list[str]:
        return [f"uid={self._own(one)['uid']},{self.unit(one)},{SUFFIX}" for one in range(self.people)]

    def dn(self, number: int) -> str:
        """Return the DN of a person."""
        return self._dns[number]

    def team(self, number: int) -> str:
        """Return the DN of a team."""
        return f"cn=team{number},{TEAMS},{SUFFIX}"

    def _person(self, number: int, *, at_389: bool) -> str:
        values = self._own(number)
        if self._chance("french", number) > 0.03:
            del values["cn;lang-fr"]
        values |= {name: self.value(name, number) for name in self.spreads if self.has(name, number)}
        values.setdefault("gidNumber", "0")
        classes = ["inetOrgPerson", "posixAccount", "shadowAccount", *(["nsMemberOf"] if at_389 else [])]
        lines = [f"dn: {self.dn(number)}", *(f"objectClass: {one}" for one in classes)]
        return "\n".join([*lines, *(f"{name}: {value}" for name, value in values.items())]) + "\n"

    def _members(self) -> dict[str, list[int]]:
        members: dict[str, list[int]] = {self.team(number): [] for number in range(self.teams)}
        for number in range(self.people):
            if self.has("memberOf", number):
                members[self.value("memberOf", number)].append(number)
        return members

    def entries(self, *, at_389: bool) -> Iterator[str]:
        """Yield everything below the suffix as LDIF."""
        units = [PERSONS, TEAMS, HOSTS, CONTACTS, f"ou=unix,{TEAMS}"]
        for one in units:
            yield f"dn: {one},{SUFFIX}\nobjectClass: organizationalUnit\n"
        for number in range(SITES):
            yield f"dn: l=site{number:02},{PERSONS},{SUFFIX}\nobjectClass: locality\n"
            for unit in ("staff", "guests"):
                yield f"dn: ou={unit},l=site{number:02},{PERSONS},{SUFFIX}\nobjectClass: organizationalUnit\n"
        for number in range(self.people):
            yield self._person(number, at_389=at_389)
        for number, (team, several) in enumerate(self._members().items()):
            members = "".join(f"member: {self.dn(one)}\n" for one in several or [0])
            yield f"dn: {team}\nobjectClass: groupOfNames\ncn: team{number}\n{members}"
            uids = "".join(f"memberUid: {self._own(one)['uid']}\n" for one in several)
            yield (
                f"dn: cn=unix{number},ou=unix,{TEAMS},{SUFFIX}\nobjectClass: posixGroup\ncn: unix{number}\n"
                f"gidNumber: {number}\n{uids}"
            )
        for number in range(self.hosts):
            yield (
                f"dn: cn=host{number},{HOSTS},{SUFFIX}\nobjectClass: device\nobjectClass: ipHost\ncn: host{number}\n"
                f"ipHostNumber: 10.0.{number // 250}.{number % 250}\nserialNumber: S{number * 31:07}\n"
                f"owner: {self.dn(number % 500)}\nl: {FORMS['l'].format(number % 40)}\n"
            )
        for number in range(self.contacts):
            given, family = GIVEN[number % len(GIVEN)], FAMILY[number * 5 % len(FAMILY)]
            yield (
                f"dn: cn={given} {family} {number},{CONTACTS},{SUFFIX}\nobjectClass: inetOrgPerson\nsn: {family}\n"
                f"mail: {given}{number}@partner{number % 90}.example.net\no: company {number % 90:03}\n"
                f"telephoneNumber: +1 555 {number:05}\n"
            )


def drawn_389(directory: DrawnDirectory, laboratory: Laboratory, host: Host) -> Server:
    """Start a 389 Directory Server with this directory and its default indexes."""
    server = laboratory.ds389(host)
    server.stop()
    root = f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n{READERS}"
    staff = limited(accounts() + probes())
    host.run(
        "cat > /run/load.ldif; chmod 644 /run/load.ldif",
        stdin="\n".join([root, staff, *directory.entries(at_389=True)]),
    )
    host.run(["ns-slapd", "ldif2db", "-D", INSTANCE, "-n", "userRoot", "-i", "/run/load.ldif"])
    host.run("rm -f /run/load.ldif")
    return server.start()


def drawn_slapd(directory: DrawnDirectory, laboratory: Laboratory, host: Host) -> Server:
    """Start a slapd with this directory and half of INDEXED."""
    chosen = Random(directory.seed).sample(INDEXED, len(INDEXED) // 2)  # noqa: S311  nothing secret
    indexes = "".join(f"index {one}\n" for one in ("objectClass eq", *chosen))
    return laboratory.slapd(
        host,
        configuration="include /etc/ldap/schema/nis.schema\nmoduleload memberof\nmoduleload sssvlv\n",
        database=f"maxsize 1000000000\noverlay sssvlv\n{limits()}{indexes}",
        entries="\n".join([probes(), *directory.entries(at_389=False)]),
    )
