"""Two databases with the same attributes: 20,000 people below dc=example,dc=com, 8,000 below o=partners.

The generator is the truth: how many entries have a value is counted from what it yields (`entries_with`), and the
values of person number N are known (`Branch.person`). Which indexes the databases have is in two_database_servers.py.

| attribute | values | entries each (EXAMPLE) |
|---|---|---|
| uid, mail, displayName, employeeNumber, homeDirectory, uidNumber, shadowLastChange | one for each person | 1 |
| roomNumber, title, manager, departmentNumber | 2,000, 500, 1,000, 200 | 10, 40, 20, 100 |
| sn, givenName, l, gidNumber | 63, 28, 20, 5 | about 317, 714, 1,000, 4,000 |
| employeeType | staff, contractor, intern, board | 60 %, 30 %, 9 %, 1 % |
| description | odd, even | half |
| carLicense; cn;lang-fr and displayName;lang-fr; memberOf | every 50th, every 25th, the first 8,000 | 1, 1, 40 |
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from lab.directory_servers import SUFFIX
from lab.phone_book import FAMILY, GIVEN

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUPS, GROUPED = 200, 8_000
"""Groups of the first branch, and how many people are in one of them."""
FRENCH, LICENSED = 25, 50
"""Every 25th person has French names, every 50th a car."""
FIRST_UID_NUMBER = 1000
BEGIN, STEP = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=10)
"""Person number N was created and last modified N steps after the begin."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The content of one database."""

    suffix: str
    letter: str
    """First letter of each uid."""
    people: int
    groups: int = 0

    @property
    def place(self) -> str:
        """Return the DN above all people."""
        return f"ou=people,{self.suffix}"

    def dn(self, number: int) -> str:
        """Return the DN of a person."""
        return f"uid={self.letter}{number:05},{self.place}"

    def group(self, number: int) -> str:
        """Return the DN of a group."""
        return f"cn=group{number},ou=groups,{self.suffix}"

    def person(self, number: int) -> dict[str, tuple[str, ...]]:
        """Return the attributes of a person, but for the object classes."""
        given, family, digits = GIVEN[number % len(GIVEN)], FAMILY[number % len(FAMILY)], f"{number:05}"
        changed = f"{BEGIN + number * STEP:%Y%m%d%H%M%S}Z"
        values = {
            "uid": f"{self.letter}{digits}",
            "cn": f"{given} {family}",
            "sn": family,
            "givenName": given,
            "displayName": f"{digits} {given} {family}",
            "mail": f"{given}.{family}.{digits}@example.com",
            "telephoneNumber": f"+49 30 {digits}",
            "employeeNumber": digits,
            "employeeType": _kind(number),
            "departmentNumber": f"d{number % 200:03}",
            "roomNumber": f"r{number % 2000:04}",
            "title": f"title {number % 500:03}",
            "l": f"city {number % 20:02}",
            "description": "odd" if number % 2 else "even",
            "manager": self.dn(number // 20),
            "uidNumber": str(FIRST_UID_NUMBER + number),
            "gidNumber": str(number % 5),
            "homeDirectory": f"/home/{self.letter}{digits}",
            "shadowLastChange": str(number),
            "createTimestamp": changed,
            "modifyTimestamp": changed,
        }
        if number % LICENSED == 0:
            values["carLicense"] = f"B {digits}"
        if number % FRENCH == 0:
            values |= {"cn;lang-fr": f"{given} de {family}", "displayName;lang-fr": f"{given} de {family} {digits}"}
        if self.groups and number < GROUPED:
            values["memberOf"] = self.group(number % self.groups)
        return {name: (value,) for name, value in values.items()}

    def entries(self, *, at_389: bool) -> Iterator[str]:
        """Yield everything below the suffix as LDIF; only 389-ds needs an object class for memberOf."""
        yield f"dn: {self.place}\nobjectClass: organizationalUnit\nou: people\n"
        for number in range(self.people):
            yield self._entry(number, at_389=at_389)
        if self.groups:
            yield f"dn: ou=groups,{self.suffix}\nobjectClass: organizationalUnit\nou: groups\n"
        for number in range(self.groups):
            members = "".join(f"member: {self.dn(one)}\n" for one in range(number, GROUPED, self.groups))
            yield f"dn: {self.group(number)}\nobjectClass: groupOfNames\ncn: group{number}\n{members}"

    def _entry(self, number: int, *, at_389: bool) -> str:
        values = self.person(number)
        classes = ["inetOrgPerson", "posixAccount", "shadowAccount"]
        if at_389 and "memberOf" in values:
            classes.append("nsMemberOf")
        lines = [f"dn: {self.dn(number)}", *(f"objectClass: {one}" for one in classes)]
        lines += [f"{name}: {value}" for name, several in values.items() for value in several]
        if not at_389:
            lines.append(f"entryCSN: {csn(number)}")
        return "\n".join(lines) + "\n"


EXAMPLE = Branch(SUFFIX, "a", 20_000, GROUPS)
PARTNERS = Branch("o=partners", "p", 8_000)
BRANCHES = (EXAMPLE, PARTNERS)


def csn(number: int) -> str:
    """Return slapd's entryCSN of a person."""
    return f"{BEGIN + number * STEP:%Y%m%d%H%M%S}.000000Z#000000#000#000000"


@cache
def frequencies(branch: Branch) -> Counter[tuple[str, str]]:
    """Return how many people of a branch have a value, by attribute and value, both in lower case."""
    return Counter(
        (name.lower(), value.lower())
        for number in range(branch.people)
        for name, several in branch.person(number).items()
        for value in several
    )


def entries_with(branch: Branch, attribute: str, value: str) -> int:
    """Return how many people of a branch have this value."""
    return frequencies(branch)[attribute.lower(), value.lower()]


def entries_that_have(branch: Branch, attribute: str) -> int:
    """Return how many people of a branch have this attribute, which has one value in each."""
    return sum(count for (name, _), count in frequencies(branch).items() if name == attribute.lower())


def _kind(number: int) -> str:
    percent = number * 37 % 100  # spread over the whole database, as real values are
    return "staff" if percent < 60 else "contractor" if percent < 90 else "intern" if percent < 99 else "board"
