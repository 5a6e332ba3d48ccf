"""389-ds and slapd with the two databases of two_databases.py, and accounts of three limit classes in ou=services.

| account | 389-ds | slapd |
|---|---|---|
| the administrator | no limit | no limit |
| WIDE | nsLookThroughLimit and nsSizeLimit -1 | limits size=unlimited |
| USER | the server's: look-through 5,000, size 2,000 | the server's: size 500 |
| SMALL | nsLookThroughLimit 300, nsSizeLimit 100 | limits size.hard=100, size.unchecked=300 |
| probe(N) | nsLookThroughLimit N, no size limit | limits size.unchecked=N, no size limit |

A search by probe(N) fails with err 11 if the server has more than N candidate entries for it: this measures
candidates on both servers without a clock (`tests/lab/candidate_probe.py`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lab.directory_servers import (
    APPLICATIONS,
    DSE,
    INSTANCE,
    KEPT,
    PASSWORD,
    SUFFIX,
    Server,
    account,
    accounts,
    ds389,
)
from lab.phone_book import READERS
from lab.two_databases import EXAMPLE, PARTNERS, Branch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lab.host import Host
    from lab.laboratory import Laboratory

WIDE, USER, SMALL = APPLICATIONS
STEPS = (20, 200, 1_000, 5_000)
"""Limits of the probing accounts, in candidate entries."""
BACKENDS = {EXAMPLE: "userRoot", PARTNERS: "partners"}
"""The names of 389-ds's backends."""
TEXTS = (
    "uid", "cn", "sn", "givenName", "displayName", "mail", "telephoneNumber", "employeeNumber", "employeeType",
    "departmentNumber", "roomNumber", "title", "l", "description", "carLicense",
)  # fmt: skip
OTHERS = ("manager", "memberOf", "member", "createTimestamp", "modifyTimestamp")
NUMBERS = ("uidNumber", "gidNumber", "shadowLastChange")
RULES = {
    "uid": ("caseExactMatch",),
    "sn": ("caseExactMatch", "2.5.13.5"),
    "cn": ("caseIgnoreMatch",),
    "displayName": ("caseIgnoreMatch",),
    **dict.fromkeys(NUMBERS, ("integerOrderingMatch",)),
}
"""Matching rules that 389-ds can index, in the spelling of the searches."""
NO_LIMIT, SMALL_LIMITS = "nsLookThroughLimit: -1\nnsSizeLimit: -1\n", "nsLookThroughLimit: 300\nnsSizeLimit: 100\n"

KEPT_AT_PARTNERS = {
    "aci", "entryrdn", "entryusn", "entryuuid", "nscpentrydn", "nsds5replconflict", "nstombstonecsn", "nsuniqueid",
    "numsubordinates", "objectclass", "parentid", "targetuniqueid", "uid",
}  # fmt: skip
"""Indexes of userRoot that the other backend has, too, with the same types."""
PARTNERS_INDEXES = {"cn": ("eq",), "sn": ("eq", "sub"), "mail": ("eq",), "departmentNumber": ("eq",)}

SLAPD_CONFIGURATION = """include /etc/ldap/schema/nis.schema
moduleload memberof
moduleload sssvlv
"""
SLAPD_INDEXES = {
    EXAMPLE: "index objectClass,uid,member,memberOf,uidNumber,gidNumber eq\n"
    "index cn,sn,givenName,mail,telephoneNumber pres,eq,sub\n",
    PARTNERS: "index objectClass,uid,cn,mail,departmentNumber eq\nindex sn eq,sub\n",
}
"""Those that 389-ds has, as far as they are searched for."""
SLAPD_EVERYTHING = f"""index {",".join(one for one in TEXTS if one != "telephoneNumber")} pres,eq,sub,approx
index telephoneNumber pres,eq,sub
index objectClass,{",".join((*OTHERS, *NUMBERS))},entryCSN pres,eq
"""


def probe(limit: int) -> str:
    """Return the name of the account that may have so many candidate entries."""
    return f"probe{limit}"


def probes() -> str:
    """Return the probing accounts as LDIF."""
    return "".join(
        f"\ndn: {account(name)}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn: {name}\n"
        f"userPassword: {PASSWORD}\n"
        for name in map(probe, STEPS)
    )


# 389 Directory Server


def two_databases_389(laboratory: Laboratory, host: Host, *, everything: bool = False) -> Server:
    """Start a 389 Directory Server with both databases, which are loaded once in a run.

    `everything`: all attributes have every type of index that they can have.
    """
    made = laboratory.folder / f"two-databases-389{'-everything' * everything}.tar"
    if made.exists():
        return ds389(host, made)
    server = laboratory.ds389(host)
    server.stop()
    dse = _with_partners(_unfolded(host.run(["cat", DSE])))
    host.run(["tee", DSE], stdin=_with_everything(dse) if everything else dse)
    for branch, backend in BACKENDS.items():
        host.run("cat > /run/load.ldif; chmod 644 /run/load.ldif", stdin="\n".join(_content(branch)))
        host.run(["ns-slapd", "ldif2db", "-D", INSTANCE, "-n", backend, "-i", "/run/load.ldif"])
    host.run("rm -f /run/load.ldif /var/log/dirsrv/slapd-live/*")
    host.run(["tar", "--exclude=__db.*", "-C", "/", "-cf", made, *KEPT])
    return ds389(host, made)


def _content(branch: Branch) -> Iterable[str]:
    if branch is EXAMPLE:
        yield f"dn: {SUFFIX}\nobjectClass: domain\ndc: example\n{READERS}"
        yield limited(accounts() + probes())
    else:
        yield f"dn: {PARTNERS.suffix}\nobjectClass: organization\no: partners\n{READERS}"
    yield from branch.entries(at_389=True)


def limited(text: str) -> str:
    """Return accounts with the limits of 389-ds in their entries."""
    limits = {WIDE: NO_LIMIT, SMALL: SMALL_LIMITS}
    limits |= {probe(one): f"nsLookThroughLimit: {one}\nnsSizeLimit: -1\n" for one in STEPS}
    for name, lines in limits.items():
        text = text.replace(f"\nuid: {name}\n", f"\nuid: {name}\n{lines}")
    return text


def _unfolded(ldif: str) -> str:
    return ldif.replace("\n ", "")


def _with_partners(dse: str) -> str:
    """Return a dse.ldif with a second backend like the first, but for its indexes and for those of new backends."""
    name = BACKENDS[PARTNERS]
    told = dse.rstrip("\n").split("\n\n")
    ours = [one for one in told if ",cn=userroot,cn=ldbm database," in one.lower().partition("\n")[0]]
    root = [one for one in told if one.lower().startswith("dn: cn=userroot,cn=ldbm database,")]
    (tree,) = [one for one in told if "\nnsslapd-backend: userroot" in one]
    index = re.compile(r"dn: cn=([^,]+),cn=(?:index,cn=userroot|default indexes),", re.IGNORECASE)

    def stays(entry: str) -> bool:
        found = index.match(entry)
        return not found or found[1].lower() in KEPT_AT_PARTNERS

    theirs = [re.sub(r"(?i)\buserroot\b", name, one) for one in (*root, *ours) if stays(one)]
    theirs += [_index(name, attribute, types) for attribute, types in PARTNERS_INDEXES.items()]
    tree = re.sub(r"dn: cn=[^,]+(?:\\,[^,]+)*,cn=mapping tree", "dn: cn=o\\\\3Dpartners,cn=mapping tree", tree)
    tree = re.sub(r"\ncn: .*", "", tree).replace("nsslapd-backend: userroot", f"nsslapd-backend: {name}")
    theirs = [one.replace("nsslapd-suffix: dc=example,dc=com", f"nsslapd-suffix: {PARTNERS.suffix}") for one in theirs]
    # A backend's missing indexes are made again from the default ones when the server starts.
    kept = [one for one in told if stays(one) or "cn=default indexes" not in one.partition("\n")[0]]
    return "\n\n".join([*kept, f"{tree}\ncn: {PARTNERS.suffix}", *theirs]) + "\n"


def _with_everything(dse: str) -> str:
    """Return a dse.ldif with every index that the attributes of people can have, in both backends, and list views."""
    attributes = dict.fromkeys(TEXTS, ("pres", "eq", "sub", "approx"))
    attributes |= dict.fromkeys((*OTHERS, *NUMBERS), ("pres", "eq"))
    names = "|".join(map(re.escape, attributes))
    ours = re.compile(rf"dn: cn=(?:{names}),cn=index,cn=(?:{'|'.join(BACKENDS.values())}),", re.IGNORECASE)
    kept = [one for one in dse.rstrip("\n").split("\n\n") if not ours.match(one)]
    for branch, backend in BACKENDS.items():
        kept += [_index(backend, name, types, RULES.get(name, ())) for name, types in attributes.items()]
        for number, (filter_, sort) in enumerate(LIST_VIEWS):
            kept += _list_view(f"view{number}", backend, branch, filter_, sort)
    return "\n\n".join(kept) + "\n"


LIST_VIEWS = (
    ("(objectClass=person)", "cn uid"),
    ("(objectClass=person)", "uidNumber"),
    ("(objectClass=posixAccount)", "-uidNumber"),
)
"""Filters and sort keys of the searches for a list view, all below ou=people."""


def _list_view(name: str, backend: str, branch: Branch, filter_: str, sort: str) -> list[str]:
    place = f"cn={name},cn={backend},cn=ldbm database,cn=plugins,cn=config"
    right = f'(targetattr="*")(version 3.0; acl "{name}"; allow (read,search,compare) userdn="ldap:///all";)'
    view = f"dn: {place}\nobjectClass: top\nobjectClass: vlvSearch\ncn: {name}\nvlvBase: {branch.place}\nvlvScope: 2"
    index = f"dn: cn={backend}{name},{place}\nobjectClass: top\nobjectClass: vlvIndex\ncn: {backend}{name}"
    return [f"{view}\nvlvFilter: {filter_}\naci: {right}", f"{index}\nvlvSort: {sort}"]


def _index(backend: str, attribute: str, types: tuple[str, ...], rules: tuple[str, ...] = ()) -> str:
    lines = "".join(f"\nnsIndexType: {one}" for one in types) + "".join(f"\nnsMatchingRule: {one}" for one in rules)
    place = f"cn={attribute},cn=index,cn={backend},cn=ldbm database,cn=plugins,cn=config"
    return f"dn: {place}\nobjectClass: top\nobjectClass: nsIndex\ncn: {attribute}\nnsSystemIndex: false{lines}"


# slapd


def two_databases_slapd(
    laboratory: Laboratory, host: Host, *, by_file: bool = False, everything: bool = False
) -> Server:
    """Start a slapd with both databases.

    `by_file`: slapd.conf stays its configuration, which else is cn=config.
    `everything`: all attributes have every type of index that they can have.
    """
    indexes = dict.fromkeys(SLAPD_INDEXES, SLAPD_EVERYTHING) if everything else SLAPD_INDEXES
    database = f"maxsize 1000000000\noverlay sssvlv\n{limits()}{indexes[EXAMPLE]}"
    partners = f"rootdn cn=admin,{SUFFIX}\nmaxsize 500000000\noverlay sssvlv\n{limits()}{indexes[PARTNERS]}"
    root = f"dn: {PARTNERS.suffix}\nobjectClass: organization\no: partners\n\n"
    return laboratory.slapd(
        host, configuration=SLAPD_CONFIGURATION, database=database, by_file=by_file,
        entries="\n".join([probes(), *EXAMPLE.entries(at_389=False)]),
        further={PARTNERS.suffix: (partners, root + "\n".join(PARTNERS.entries(at_389=False)))},
    )  # fmt: skip


def limits() -> str:
    lines = {WIDE: "size=unlimited time=unlimited", SMALL: "size.soft=100 size.hard=100 size.unchecked=300"}
    lines |= {probe(one): f"size=unlimited size.unchecked={one} time=unlimited" for one in STEPS}
    return "".join(f'limits dn.exact="{account(name)}" {told}\n' for name, told in lines.items())
