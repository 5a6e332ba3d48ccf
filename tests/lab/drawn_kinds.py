"""Kinds of search drawn from what applications send: as many as asked for, of a drawn directory (drawn_directory.py).

In a template `<u>` is an attribute of which nearly every person has another value, `<c>` one of the spread ones, `<t>`
one of text, `<n>` a number, `<d>` one that names a person; `{…}` is a value of the person that a search is for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from lab.controlled_search import Control
from lab.drawn_directory import CONTACTS, FIRST_NUMBER, FORMS, HOSTS, PERSONS, PLACES, TEAMS
from lab.search_kinds import SMALL, USER, WIDE, SearchKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lab.drawn_directory import DrawnDirectory

NUMBERS = ("uidNumber", "gidNumber", "shadowExpire", "shadowLastChange")
SPREAD = tuple(name for name in FORMS if name not in NUMBERS)
DRAWN = {
    "u": ("uid", "mail", "employeeNumber", "homeDirectory", "displayName"),
    "c": SPREAD,
    "t": (*SPREAD, "cn", "sn", "givenName", "displayName", "mail", "uid"),
    "n": NUMBERS,
    "d": (*PLACES, "memberOf"),
}
TEMPLATES = (
    # mail servers
    "(mail={mail})",
    "(|(mail={mail})(mailAlternateAddress={mail}))",
    "(&(objectClass=inetOrgPerson)(|(uid={uid})(mail={mail})))",
    "(mail=*@partner{number2}.example.net)",
    "(&(mail=*)(<c>=<c=>))",
    "(rfc822Mailbox={mail})",
    "(&(mail={mail})(!(<c>=<c=>)))",
    # nss, SSSD, sudo, automounter
    "(&(uid={uid})(objectClass=posixAccount)(&(uidNumber=*)(!(uidNumber=0))))",
    "(&(uidNumber={uidNumber})(objectClass=posixAccount))",
    "(&(objectClass=posixGroup)(memberUid={uid}))",
    "(&(objectClass=groupOfNames)(member={dn}))",
    "(member={dn})",
    "(&(gidNumber={gidNumber})(objectClass=posixGroup)(cn=*))",
    "(&(objectClass=posixAccount)(gidNumber={gidNumber}))",
    "(&(objectClass=shadowAccount)(uid={uid}))",
    "(sudoUser={uid})",
    "(&(objectClass=automount)(automountKey={uid}))",
    "(&(objectClass=posixGroup)(|(memberUid={uid})(member={dn})))",
    "(&(objectClass=ipHost)(ipHostNumber=10.0.{number2}.7))",
    "(userid={uid})",
    "(&(objectClass=posixAccount)(loginShell={loginShell}))",
    "(homeDirectory={homeDirectory})",
    # VPN, single sign-on
    "(&(uid={uid})(memberOf={memberOf}))",
    "(&(objectClass=person)(sAMAccountName={uid}))",
    "(|(uid={uid})(userPrincipalName={mail}))",
    "(&(|(uid={uid})(mail={uid}))(!(shadowExpire<=18000)))",
    "(memberOf={memberOf})",
    "(&(memberOf={memberOf})(<c>=<c=>))",
    "(|(memberOf={memberOf})(memberOf={memberOf2}))",
    "(uid:caseExactMatch:={uid})",
    "(<u>=<u=>)",
    "(<u>=nobody {number})",
    # HR synchronisation, polls
    "(employeeNumber={employeeNumber})",
    "(&(objectClass=person)(modifyTimestamp>={late}))",
    "(modifyTimestamp>={late})",
    "(&(createTimestamp>={day})(createTimestamp<={later}))",
    "(createTimestamp<={early})",
    "(|(modifyTimestamp>={late})(createTimestamp>={late}))",
    "(&(<c>=<c=>)(modifyTimestamp>={late}))",
    "(&(<u>=*)(!(<c>=*)))",
    "(<n>>={high})",
    "(<n><=<n=>)",
    "(&(<n>>=<n=>)(<n><={next}))",
    "(<u>>=<u=>)",
    "(&(<c>=<c=>)(<n>=<n=>))",
    "(<d>=<d=>)",
    "(&(<d>=<d=>)(objectClass=person))",
    "(|(<d>=<d=>)(<d>={dn}))",
    # address books
    "(|(cn=*<tail=>*)(mail=*<tail=>*)(<t>=*<t~>*))",
    "(cn={cn_head}*)",
    "(<t>=<t^>*)",
    "(<t>=*<t$>)",
    "(<t>=*<t~>*)",
    "(sn={sn_head}*)",
    "(&(objectClass=inetOrgPerson)(|(cn={sn_head}*)(sn={sn_head}*)(mail={sn_head}*)))",
    "(&(<c>=<c=>)(cn=*{sn_head}*))",
    "(sn~={sn})",
    "(&(givenName={givenName})(sn={sn}))",
    "(displayName=*{sn}*)",
    "(surname={sn})",
    "(telephoneNumber=*{telephoneNumber_tail})",
    "(|(telephoneNumber={telephoneNumber})(mobile={mobile})(homePhone={homePhone}))",
    "(cn;lang-fr={cn;lang-fr})",
    "(cn;lang-fr=*)",
    "(cn=*{number2}*)",
    "(mail=*)",
    "(<t>=*)",
    "(name={sn})",
    "(<t>=<t1>*)",
    "(o={o})",
    "(&(o={o})(telephoneNumber=*))",
    "(2.5.4.12={title})",
    "(fax={facsimileTelephoneNumber})",
    "(<t>~=<t=>)",
    "(<t>:caseExactMatch:=<t=>)",
    "(ou:dn:={site})",
    # reports, inventories, scripts of administrators
    "(<c>=<c=>)",
    "(&(<c>=<c=>)(<t>=<t=>))",
    "(|(<c>=<c=>)(<t>=<t=>))",
    "(&(objectClass=person)(!(<c>=<c=>)))",
    "(!(<c>=*))",
    "(&(<c>=<c=>)(!(<t>=<t=>)))",
    "(&(objectClass=*)(<c>=<c=>))",
    "(objectClass=device)",
    "(serialNumber=S{serial})",
    "(owner={owner})",
    "(&(objectClass=device)(owner={owner}))",
    "(objectClass=groupOfNames)",
    "(uidNumber:1.2.840.113556.1.4.803:=8192)",
    "(objectClass=*)",
    "(&(|(<c>=<c=>)(<c>=<c2>))(|(<t>=<t=>)(<t>=<t2>)))",
    "(&(objectClass=inetOrgPerson)(&(<c>=<c=>)(&(<t>=*<t~>*)(!(uid={uid})))))",
    "(entryUUID=00000000-0000-4000-8000-{number12})",
    "(hasSubordinates=TRUE)",
    "(numSubordinates>=1)",
    "(<c>=*)",
    "(nosuchattribute=*{uid}*)",
)
BASES = (
    "",
    "",
    "",
    "",
    PERSONS,
    PERSONS,
    "l=site00,ou=Accounts",
    "ou=guests,l=site03,ou=Accounts",
    "ou=staff,l=site11,ou=Accounts",
)
OWN_BASES = {
    "device": HOSTS,
    "serial": HOSTS,
    "owner": HOSTS,
    "posixGroup": TEAMS,
    "groupOfNames": TEAMS,
    "partner": CONTACTS,
}
"""Places where an application that knows the tree asks."""
CONTROLS = (
    *([Control()] * 17),
    Control(page=200),
    Control(page=1000),
    Control(sort=("sn", "cn")),
    Control(sort=("-uid",)),
    Control(sort=("cn",), first=1),
)
WHO = (*([WIDE] * 16), USER, USER, SMALL)


@dataclass(frozen=True, slots=True)
class DrawnKind(SearchKind):
    """A kind of search of a drawn directory."""

    def base(self, number: int) -> str:
        """Return the base of the search for a person."""
        if self.place == "own":
            return self.branch.dn(number)
        return f"{self.place},{self.branch.suffix}" if self.place else self.branch.suffix

    def text(self, number: int) -> str:
        """Return the filter of the search for a person."""
        return re.sub(r"\{([^}]+)\}", lambda found: _value(self.branch, found[1], number), self.filter)


def _value(directory: DrawnDirectory, name: str, number: int) -> str:
    own = {
        "dn": lambda: directory.dn(number),
        "number": lambda: str(number),
        "number2": lambda: str(number % 90),
        "number12": lambda: f"{number:012}",
        "late": lambda: f"202602{10 + number % 10}000000Z",
        "early": lambda: f"202103{10 + number % 10}000000Z",
        "high": lambda: str(FIRST_NUMBER + directory.people - 10 - number % 50),
        "serial": lambda: f"{number % directory.hosts * 31:07}",
        "owner": lambda: directory.dn(number % 500),
        "day": lambda: f"2023{1 + number % 12:02}{1 + number % 28:02}000000Z",
        "later": lambda: f"2023{1 + number % 12:02}{1 + number % 28:02}235900Z",
        "site": lambda: ("staff", "guests")[number % 2],
    }
    if name in own:
        return own[name]()
    attribute, _, part = name.partition("_")
    other = attribute.removesuffix("2")
    value = directory.value(other, (number + 17) % directory.people if other != attribute else number)
    if attribute == "next":
        value = ""
    return {"": value, "head": value[:5], "one": value[:1], "tail": value[-4:], "mid": value[2:6]}[part].strip()


PARTS = {"=": "", "^": "_head", "1": "_one", "$": "_tail", "~": "_mid", "2": "2"}


def _filled(template: str, draw: Random) -> str:
    """Return a template with attributes drawn for its letters."""
    for letter, several in DRAWN.items():
        name = draw.choice(several)
        for sign, part in PARTS.items():
            template = template.replace(f"<{letter}{sign}>", f"{{{name}{part}}}")
        template = template.replace(f"<{letter}>", name)
        if letter == "n":
            template = template.replace("{next}", f"{{{name}2}}")
    return template.replace("<tail=>", "{sn_tail}")


def drawn_kinds(directory: DrawnDirectory, count: int) -> Mapping[str, SearchKind]:
    """Return so many kinds, no two of them the same; every template comes before one comes again."""
    draw = Random(directory.seed + 1)  # noqa: S311  nothing secret
    kinds: dict[str, SearchKind] = {}
    seen: set[tuple[str, str, str]] = set()
    waiting: list[str] = []
    while len(kinds) < count:
        if not waiting:
            waiting = draw.sample(TEMPLATES, len(TEMPLATES))
        template = waiting.pop()
        text = _filled(template, draw)
        place = next((base for word, base in OWN_BASES.items() if word in text), "") if draw.random() < 0.6 else ""
        place = place or draw.choice(BASES)
        scope = draw.choices(("sub", "one", "base"), (20, 2, 1))[0]
        if scope == "base":
            place = "own"
        control = draw.choice(CONTROLS) if scope != "base" else Control()
        key = (text, place, scope)
        if key not in seen:
            seen.add(key)
            name = f"{len(kinds):03}"
            kinds[name] = DrawnKind(text, directory, WIDE if control.sort else draw.choice(WHO), place, scope, control)
    return kinds
