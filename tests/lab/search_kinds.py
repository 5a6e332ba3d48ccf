"""The kinds of search that the two databases are asked (two_databases.py): each has an id, by which records name it.

`{…}` in a filter is a value of the person that a search is for; `{after}` and `{next}` are of the person 20 later.
The limits of USER and SMALL are in two_database_servers.py; nearly everything else is asked by WIDE, which has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.controlled_search import Control
from lab.directory_servers import APPLICATIONS, account
from lab.two_databases import EXAMPLE, FIRST_UID_NUMBER, FRENCH, GROUPED, LICENSED, PARTNERS, Branch, csn

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDE, USER, SMALL = APPLICATIONS
ADMINISTRATOR = "administrator"
PLAIN = Control()


@dataclass(frozen=True, slots=True)
class SearchKind:
    """One kind of search."""

    filter: str
    branch: Branch = EXAMPLE
    who: str = WIDE
    place: str = ""
    """RDN below the suffix, "own" for the person's entry, "service" for an account; the suffix where empty."""
    scope: str = "sub"
    control: Control = PLAIN
    every: int = 1
    """It is for every person whose number is a multiple of this."""
    only: str = ""
    """The family that it is asked of."""

    def base(self, number: int) -> str:
        """Return the base of the search for a person."""
        if self.place == "own":
            return self.branch.dn(number)
        if self.place == "service":
            return account(WIDE)
        return f"{self.place},{self.branch.suffix}" if self.place else self.branch.suffix

    def text(self, number: int) -> str:
        """Return the filter of the search for a person."""
        return self.filter.format(**_values(self.branch, number))


def _values(branch: Branch, number: int) -> dict[str, str]:
    person = {name.replace(";lang-fr", "_fr"): value for name, (value,) in branch.person(number).items()}
    later = number + 20
    last = branch.people - 20 + number % 10
    return person | {
        "dn": branch.dn(number),
        "group": branch.group(number % 200),
        "other_group": branch.group((number + 1) % 200),
        "next": str(int(person["uidNumber"]) + 20),
        "few": str(FIRST_UID_NUMBER + number % 20),
        "high": str(FIRST_UID_NUMBER + last),
        "nine": str(9900 + number % 100),
        "grouped": branch.dn(number % GROUPED),
        "late": branch.person(last)["modifyTimestamp"][0],
        "after": branch.person(later)["modifyTimestamp"][0],
        "csn": csn(last),
        "head": f"{branch.letter}{number // 100:03}",
        "part": f"{number:05}",
        "last": f"{last:05}",
        "city": f"city {(number + 1) % 20:02}",
    }


PEOPLE, GROUPS = "ou=people", "ou=groups"
PERSONS = "(objectClass=person)"

EQUALITY = {
    "eq-uid": SearchKind("(uid={uid})"),
    "eq-mail": SearchKind("(mail={mail})"),
    "eq-member": SearchKind("(member={grouped})"),
    "eq-memberof": SearchKind("(memberOf={group})"),
    "eq-employee": SearchKind("(employeeNumber={employeeNumber})"),
    "eq-employee-admin": SearchKind("(employeeNumber={employeeNumber})", who=ADMINISTRATOR),
    "eq-display": SearchKind("(displayName={displayName})"),
    "eq-room": SearchKind("(roomNumber={roomNumber})"),
    "eq-department": SearchKind("(departmentNumber={departmentNumber})"),
    "eq-city": SearchKind("(l={l})"),
    "eq-common": SearchKind("(employeeType=staff)"),
    "eq-rare-value": SearchKind("(employeeType=board)"),
    "eq-half": SearchKind("(description={description})"),
    "eq-absent": SearchKind("(employeeNumber=none {part})"),
    "eq-absent-indexed": SearchKind("(mail=none.{part}@example.com)"),
    "eq-manager": SearchKind("(manager={manager})"),
    "eq-indexed-many": SearchKind("(gidNumber={gidNumber})"),
    "eq-unknown": SearchKind("(nosuchattribute={part})"),
    "eq-french": SearchKind("(cn;lang-fr={cn_fr})", every=FRENCH),
    "eq-french-display": SearchKind("(displayName;lang-fr={displayName_fr})", every=FRENCH),
    "eq-car": SearchKind("(carLicense={carLicense})", every=LICENSED),
}
SUBSTRINGS = {
    "sub-initial": SearchKind("(displayName={employeeNumber} *)"),
    "sub-any": SearchKind("(displayName=*{employeeNumber}*)"),
    "sub-final": SearchKind("(displayName=*{givenName} {sn})"),
    "sub-initial-final": SearchKind("(mail={givenName}*.{part}@example.com)"),
    "sub-on-eq": SearchKind("(uid={head}*)"),
    "sub-any-on-eq": SearchKind("(uid=*{part}*)"),
    "sub-phone": SearchKind("(telephoneNumber=*{part})"),
    "sub-common": SearchKind("(mail=*@example.com)"),
    "sub-short-initial": SearchKind("(cn=q*)"),
    "sub-short-any": SearchKind("(sn=*q*)"),
    "sub-short-final": SearchKind("(givenName=*q)"),
    "sub-manager": SearchKind("(manager=uid=a0*)"),
    "sub-three": SearchKind("(|(cn=*{part}*)(displayName=*{part}*)(mail=*.{part}@*))"),
    "sub-title": SearchKind("(title=*{part}*)"),
}
PRESENCE = {
    "pres-rare": SearchKind("(carLicense=*)"),
    "pres-all-indexed": SearchKind("(mail=*)"),
    "pres-all": SearchKind("(description=*)"),
    "pres-not": SearchKind("(!(carLicense=*))"),
    "pres-french": SearchKind("(displayName;lang-fr=*)"),
    "pres-everything": SearchKind("(objectClass=*)"),
    "pres-without": SearchKind("(&(objectClass=inetOrgPerson)(!(displayName=*)))"),
}
RANGES = {
    "range-last": SearchKind("(uidNumber>={high})"),
    "range-first": SearchKind("(uidNumber<={few})"),
    "range-more-digits": SearchKind("(uidNumber>={nine})", place="ou=people", scope="one"),
    "range-between": SearchKind("(&(uidNumber>={uidNumber})(uidNumber<={next}))"),
    "range-shadow": SearchKind("(shadowLastChange<={few})"),
    "range-text": SearchKind("(employeeNumber>={last})"),
    "range-time-between": SearchKind("(&(createTimestamp>={createTimestamp})(createTimestamp<={after}))"),
    "poll": SearchKind("(modifyTimestamp>={late})"),
    "poll-person": SearchKind("(&(objectClass=person)(modifyTimestamp>={late}))", place=PEOPLE),
    "poll-csn": SearchKind("(entryCSN>={csn})", only="openldap"),
    "poll-usn": SearchKind("(entryUSN>={high})", only="389-ds"),
}
NESTED = {
    "and-person": SearchKind("(&(objectClass=inetOrgPerson)(displayName={displayName}))"),
    "and-common": SearchKind("(&(employeeType=staff)(departmentNumber={departmentNumber}))"),
    "and-not": SearchKind("(&(departmentNumber={departmentNumber})(!(employeeType=staff)))"),
    "and-harmless": SearchKind("(&(uid={uid})(employeeNumber={employeeNumber}))"),
    "and-harmless-turned": SearchKind("(&(employeeNumber={employeeNumber})(uid={uid}))"),
    "and-nested": SearchKind("(&(objectClass=person)(&(l={l})(title={title})))"),
    "and-everything": SearchKind("(&(objectClass=*)(title={title}))"),
    "and-or-not": SearchKind(
        "(&(|(departmentNumber={departmentNumber})(roomNumber={roomNumber}))(|(l={l})(l={city}))(!(title={title})))"
    ),
    "and-group": SearchKind("(&(objectClass=inetOrgPerson)(memberOf={group})(mail=*))"),
    "and-unknown": SearchKind("(&(objectClass=person)(nosuchattribute={part}))"),
    "or-two": SearchKind("(|(uid={uid})(employeeNumber={employeeNumber}))"),
    "or-indexed": SearchKind("(&(objectClass=inetOrgPerson)(|(uid={uid})(mail={mail})))"),
    "or-and": SearchKind("(|(&(employeeType=intern)(l={l}))(&(employeeType=board)(l={city})))"),
    "or-groups": SearchKind("(|(memberOf={group})(memberOf={other_group})(memberOf={dn}))"),
    "or-unknown": SearchKind("(|(nosuchattribute={part})(uid={uid}))"),
    "not-one": SearchKind("(&(objectClass=person)(!(uid={uid})))"),
    "not-deep": SearchKind("(&(l={l})(!(|(employeeType=staff)(employeeType=contractor))))"),
}
RULES = {
    "rule-uid": SearchKind("(uid:caseExactMatch:={uid})"),
    "rule-sn": SearchKind("(sn:caseExactMatch:={sn})"),
    "rule-sn-oid": SearchKind("(sn:2.5.13.5:={sn})"),
    "rule-dn": SearchKind("(cn:dn:caseIgnoreMatch:={cn})"),
    "rule-bits": SearchKind("(uidNumber:1.2.840.113556.1.4.803:=16384)"),
    "rule-own": SearchKind("(displayName:caseIgnoreMatch:={displayName})"),
    "approximate": SearchKind("(sn~={sn})"),
    "approximate-title": SearchKind("(&(l={l})(title~={title}))"),
}
SCOPES = {
    "base-own": SearchKind("(displayName={displayName})", place="own", scope="base"),
    "one-people": SearchKind("(employeeNumber={employeeNumber})", place=PEOPLE, scope="one"),
    "one-everything": SearchKind("(objectClass=*)", place=PEOPLE, scope="one"),
    "one-suffix": SearchKind("(objectClass=*)", scope="one"),
    "sub-groups": SearchKind("(description={part})", place=GROUPS),
    "sub-services": SearchKind("(employeeType=staff)", place="ou=services"),
}
CONTROLLED = {
    "paged-all": SearchKind(PERSONS, place=PEOPLE, control=Control(page=1000)),
    "paged-department": SearchKind("(departmentNumber={departmentNumber})", control=Control(page=50)),
    "paged-city": SearchKind("(l={l})", control=Control(page=250)),
    "sorted-family": SearchKind("(sn={sn})", control=Control(sort=("cn",))),
    "sorted-department": SearchKind("(departmentNumber={departmentNumber})", control=Control(sort=("-displayName",))),
    "sorted-number": SearchKind("(departmentNumber={departmentNumber})", control=Control(sort=("-uidNumber",))),
    "list-cn": SearchKind(PERSONS, place=PEOPLE, control=Control(sort=("cn", "uid"), first=1)),
    "list-deep": SearchKind(PERSONS, place=PEOPLE, control=Control(sort=("cn", "uid"), first=9000)),
    "list-number": SearchKind(
        "(objectClass=posixAccount)", place=PEOPLE, control=Control(sort=("-uidNumber",), first=1)
    ),
}
LIMITED = {
    "user-display": SearchKind("(displayName={displayName})", who=USER),
    "user-given": SearchKind("(givenName={givenName})", who=USER),
    "user-title": SearchKind("(title={title})", who=USER),
    "user-list": SearchKind(PERSONS, who=USER, place=PEOPLE, control=Control(sort=("cn", "uid"), first=1)),
    "small-display": SearchKind("(displayName={displayName})", who=SMALL),
    "small-room": SearchKind("(roomNumber={roomNumber})", who=SMALL),
    "small-family": SearchKind("(sn={sn})", who=SMALL),
    "small-city": SearchKind("(l={l})", who=SMALL),
    "small-own": SearchKind("(uid={uid})", who=SMALL),
}
AT_PARTNERS: Mapping[str, SearchKind] = {
    f"partners-{name}": SearchKind(filter_, PARTNERS, *rest)
    for name, filter_, *rest in (
        ("uid", "(uid={uid})"),
        ("display", "(displayName={displayName})"),
        ("mail-part", "(mail=*.{part}@*)"),
        ("mail-present", "(mail=*)"),
        ("department", "(departmentNumber={departmentNumber})"),
        ("two", "(&(l={l})(title={title}))"),
        ("poll", "(modifyTimestamp>={late})"),
        ("cn-part", "(cn={givenName} {sn}*)"),
        ("employee", "(employeeNumber={employeeNumber})", USER),
        ("given", "(givenName={givenName})"),
        ("number", "(uidNumber={uidNumber})"),
    )
} | {
    "partners-list": SearchKind(PERSONS, PARTNERS, place=PEOPLE, control=Control(sort=("uidNumber",), first=1)),
}  # fmt: skip

KINDS: dict[str, SearchKind] = {
    **EQUALITY, **SUBSTRINGS, **PRESENCE, **RANGES, **NESTED, **RULES, **SCOPES, **CONTROLLED, **LIMITED, **AT_PARTNERS,
}  # fmt: skip
MANY = frozenset({
    "sub-common", "pres-all-indexed", "pres-all", "pres-not", "pres-everything", "eq-common", "eq-half", "rule-bits",
    "not-one", "one-everything", "range-more-digits", "paged-all", "range-text", "partners-mail-present",
    "list-cn", "list-deep", "list-number", "user-list", "pres-without",
})  # fmt: skip
"""They return or sort thousands of entries, and are asked less often."""


def kinds_of(family: str) -> dict[str, SearchKind]:
    """Return the kinds that a family is asked."""
    return {name: kind for name, kind in KINDS.items() if kind.only in ("", family)}
