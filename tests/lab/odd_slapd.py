"""A slapd whose indexes have gaps of every kind, entries with odd distributions, and filters drawn over both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.directory_servers import SUFFIX

if TYPE_CHECKING:
    from random import Random

PEOPLE, FEW = f"ou=people,{SUFFIX}", f"ou=few,{SUFFIX}"
SCHEMA = "include /etc/ldap/schema/nis.schema\n"

GAPS = """index default pres,eq
index objectClass,uid eq
index name eq,sub
index sn pres
index givenName eq,nosubtypes
index distinguishedName eq,nosubtypes
index displayName subinitial
index mail subany,eq
index telephoneNumber subfinal,eq
index description sub
index roomNumber pres
index carLicense eq,nolang
index employeeType eq,approx,nolang,nosubtypes
index localityName eq,pres
index uidNumber eq
index gidNumber,createTimestamp pres
index preferredLanguage
index modifyTimestamp,entryCSN,entryUUID eq
index homeDirectory,street pres,eq
index businessCategory eq,sub,approx
index initials approx
index dnQualifier eq"""
"""Nothing for employeeNumber, departmentNumber, manager, secretary, seeAlso; for title what a supertype gives."""

LONG_KEYS = "index_substr_if_minlen 3\nindex_substr_if_maxlen 6\nindex_substr_any_len 2\nindex_substr_any_step 1\n"
TAGGED = """index objectClass,dnQualifier pres,eq
index cn,displayName,mail eq,sub
index cn;lang-fr pres
index sn subany
index description;lang-fr sub
index telephoneNumber,l subinitial,subfinal
index gidNumber,uidNumber pres,eq
index employeeNumber sub"""

NO_OBJECT_CLASS = "index uid,cn,sn pres,eq,sub"

WORDS = ("alder", "birch", "cedar", "elm", "fir", "hazel", "juniper", "larch", "maple", "oak", "pine", "rowan")


def entries(count: int = 1500) -> str:
    """Return LDIF: some attributes in every entry, some in few, values of one entry and values of most."""
    units = [f"dn: {one}\nobjectClass: organizationalUnit\nou: {one[3:6]}\n" for one in (PEOPLE, FEW)]
    return "\n".join([*units, *(entry(number) for number in range(count))])


def entry(number: int) -> str:
    """Return one entry as LDIF."""
    word, other = WORDS[number % 12], WORDS[number // 12 % 12]
    name = f"p{number}"
    lines = [
        f"dn: uid={name},{FEW if number % 300 == 7 else PEOPLE}", "objectClass: inetOrgPerson",
        "objectClass: posixAccount", f"uid: {name}", f"cn: {word} {other} {number}", f"sn: {other}",
        f"givenName: {word}", f"displayName: {word}-{number}", f"mail: {name}@{word}.example.com",
        f"telephoneNumber: +1 555 {number:05}", f"employeeNumber: {number}", f"departmentNumber: {number % 10}",
        f"employeeType: {WORDS[number % 3]}", f"roomNumber: {number % 90}", f"l: {word}", f"uidNumber: {number}",
        f"gidNumber: {number % 5}", "homeDirectory: /home", f"initials: {word[0]}{other[0]}",
        f"title: {other} of {word}",
        f"carLicense: {word}{number % 40}", f"preferredLanguage: {'fr' if number % 2 else 'en'}",
        f"manager: uid=p{number // 10},{PEOPLE}", f"seeAlso: uid=p{number // 7},{PEOPLE}",
    ]  # fmt: skip
    if number % 25 == 0:
        lines += [f"description: {word} of {other}", f"cn;lang-fr: {word} de {other}", f"street: {number} {word}"]
        lines += [f"businessCategory: {other}", f"employeeType;lang-fr: {word}", f"carLicense;lang-fr: {word}"]
    return "\n".join(lines) + "\n"


NAMES = (
    "cn", "commonName", "2.5.4.3", "cn;lang-fr", "cn;lang-de", "sn", "sn;lang-fr", "givenName", "displayName", "mail",
    "telephoneNumber", "description", "description;lang-fr", "roomNumber", "carLicense", "carLicense;lang-fr",
    "employeeType", "employeeType;lang-fr", "l", "localityName", "L;LANG-FR", "street", "title", "name", "initials",
    "preferredLanguage", "businessCategory", "employeeNumber", "departmentNumber", "uid", "UID", "nosuchattribute",
    "jpegPhoto", "homeDirectory",
)  # fmt: skip
CLASSES = ("person", "inetOrgPerson", "top", "groupOfNames", "referral")
NUMBERS = ("uidNumber", "gidNumber", "dnQualifier", "cn", "employeeNumber", "nosuchattribute")
TIMES = ("createTimestamp", "modifyTimestamp")
DISTINGUISHED = ("manager", "secretary", "seeAlso", "distinguishedName", "entryDN", "entryDN")
RULES = ("cn:caseExactMatch:", "cn:", "cn:dn:caseIgnoreMatch:", ":caseIgnoreMatch:", ":dn:2.5.13.2:", "uidNumber:")
OF_DN = ("entryDN:", "entryDN:distinguishedNameMatch:", "entryDN:dnSuperiorMatch:", "entryDN:dnSubtreeMatch:")


@dataclass
class Drawing:
    """Filters, one after another, from a seed."""

    random: Random

    def filter(self, depth: int = 3) -> str:
        """Return a filter with sets within sets, at most so deep."""
        dice = self.random.random()
        if depth == 0 or dice < 0.4:
            return self.leaf()
        if dice < 0.5:
            return f"(!{self.filter(depth - 1)})"
        members = "".join(self.filter(depth - 1) for _ in range(self.random.randint(1, 4)))
        return f"({'&' if dice < 0.8 else '|'}{members})"

    def leaf(self) -> str:
        """Return an assertion of any kind."""
        draw = self.random
        person = f"uid=p{draw.randint(0, 300)},{PEOPLE}"
        kinds = {
            f"(objectClass={draw.choice(CLASSES)})": 4,
            f"({draw.choice(NAMES)}={self.value()})": 26,
            f"({draw.choice(NAMES)}={self.pattern()})": 25,
            f"({draw.choice(NAMES + NUMBERS + TIMES + DISTINGUISHED)}=*)": 13,
            f"({draw.choice(NUMBERS)}{draw.choice(('>=', '<='))}{draw.randint(0, 2000)})": 8,
            f"({draw.choice(TIMES)}{draw.choice(('>=', '<='))}{draw.randint(2000, 2060)}0101000000Z)": 4,
            f"({draw.choice(NAMES)}~={self.value()})": 7,
            f"({draw.choice(DISTINGUISHED)}={person})": 5,
            f"({draw.choice(OF_DN)}={person})": 3,
            f"({draw.choice(RULES)}=17)": 3,
            "(hasSubordinates=TRUE)": 2,
        }
        return draw.choices(tuple(kinds), tuple(kinds.values()))[0]

    def value(self) -> str:
        """Return a value that some, many or no entries have."""
        draw = self.random
        return draw.choice((draw.choice(WORDS), str(draw.randint(0, 2000)), f"p{draw.randint(0, 2000)}"))

    def pattern(self) -> str:
        """Return a pattern with pieces of up to seven letters."""
        draw = self.random
        pieces = [draw.choice(WORDS)[: draw.randint(0, 7)] for _ in range(draw.randint(2, 4))]
        pieces[1:-1] = [piece or "x" for piece in pieces[1:-1]]
        return "*".join(pieces) if any(pieces) else "*a*"
