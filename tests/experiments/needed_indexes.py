"""Fifty indexes that no search of a month of log uses, dropped one at a time: which of them the server needs."""

from __future__ import annotations

import json
import re
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from command import ldapdiag
from experiments.notebook import AS_EXPECTED, Experiment
from lab.directory_servers import DATABASE_389, DSE, INSTANCE, SLAPD_FILE, SUFFIX
from lab.host import Host
from lab.internal_searches import (
    INTERNAL,
    LOG_389,
    OVERLAY_MODULES,
    OVERLAYS_SLAPD,
    RULES_389,
    RULES_SLAPD,
    SELF_SEARCHING,
    SET_SLAPD,
    manager,
    provoke_389,
    provoke_slapd,
)
from lab.laboratory import Laboratory
from lab.odd_directory import index_entry
from lab.terminal import paste

if TYPE_CHECKING:
    from collections.abc import Iterator

SEARCHED_FOR = (
    "title", "employeeNumber", "departmentNumber", "secretary", "documentAuthor", "uidNumber", "gidNumber",
    "employeeType", "roomNumber", "carLicense", "businessCategory",
)  # fmt: skip
"""By the servers of the laboratory, each attribute by one of the two at least."""
OTHERS = (
    "description", "displayName", "initials", "preferredLanguage", "destinationIndicator", "l", "st", "street",
    "postalCode", "postOfficeBox", "physicalDeliveryOfficeName", "pager", "mobile", "homePhone", "labeledURI",
    "loginShell", "homeDirectory", "gecos", "shadowMax", "shadowMin", "shadowLastChange", "shadowWarning",
    "shadowInactive", "shadowExpire", "ipHostNumber", "macAddress", "bootFile", "manager", "o", "ou", "host", "drink",
    "info", "userClass", "associatedDomain", "associatedName", "c", "generationQualifier", "houseIdentifier",
)  # fmt: skip
INDEXED = (*SEARCHED_FOR, *OTHERS)
FEW = ("title", "roomNumber", "pager")
"""Of a small case: needed by a plug-in, needed by an entry of the database, and not needed."""
MONTH = timedelta(days=31)
NIS = "include /etc/ldap/schema/nis.schema\n"
SAVED = "/run/saved"


def run(step: str, *, small: bool) -> dict[str, str]:
    """Drop each index of a product, and compare what the server then scans for with what is said of the index."""
    dropped = FEW if small else INDEXED
    with tempfile.TemporaryDirectory() as folder, Host("ldap") as host:
        truth = PRODUCTS[step](Laboratory(Path(folder)), host, dropped)
        configuration, needed = next(truth), dict(truth)
        named = _said(configuration, step, _month_of(step))
        advised = {name for name, command in named.items() if command}
        scanned = {name for name, shapes in needed.items() if shapes}
        refusing = {name for name in advised & scanned if _refuses(host, named[name])}
    lies = [f"{name} can be dropped, and then {', '.join(needed[name])}" for name in advised & scanned - refusing]
    spared = set(dropped) - set(named)
    return {
        "needed": _listed(scanned),
        "with a command to drop it": str(len(advised & set(dropped))),
        "whose command finds that it is needed": _listed(refusing),
        "named without a command": _listed((set(named) - advised) & set(dropped)),
        "not named, and not needed": _listed(spared - scanned),
        "result": "; ".join(lies) or AS_EXPECTED,
    }


def _listed(names: set[str]) -> str:
    return f"{len(names)}: {', '.join(sorted(names))}" if names else "0"


def _said(configuration: str, product: str, log: str) -> dict[str, str]:
    """Return the attributes of the indexes that no search uses, with the command to drop each, or none."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / NAMES[product]).write_text(configuration)
        (Path(folder) / "access").write_text(log)
        report: dict[str, Any] = json.loads(ldapdiag("indexes", Path(folder), "--format", "json").text)
    found = [one for one in report["findings"] if one["check"] == "unused-index"]
    assert found, [one for one in report["verdicts"] if one["check"] == "unused-index"]
    return {one["observed"]["attribute"]: "".join(each["text"] for each in one["remedies"]) for one in found}


def _refuses(host: Host, command: str) -> bool:
    """Return whether a pasted command changes nothing, because it reads on the server that the index is needed."""
    try:
        paste(host, f"LDAP_URI=ldap://127.0.0.1\n{command}")
    except AssertionError as failure:
        return "Keep the index." in str(failure)
    return False


def _ds389(laboratory: Laboratory, host: Host, dropped: tuple[str, ...]) -> Iterator[Any]:
    """Yield the configuration with all the indexes, then each dropped index with the shapes that are scanned for."""
    server = laboratory.ds389(host, settings=INTERNAL | SELF_SEARCHING | {"nsslapd-statlog-level": "1"})
    host.run(["ldapmodify", *manager(server)], stdin=RULES_389)
    host.run(["ldapadd", *manager(server)], stdin=_people())
    server.stop()
    dse = host.run(["cat", DSE])
    for name in INDEXED:
        dse = re.sub(rf"(?im)^dn: cn={name},cn=index,cn=userroot,.*\n(?:.+\n)*\n", "", dse)
    entries = {name: index_entry(name, "nsIndexType: eq\n").rstrip("\n") for name in INDEXED}
    whole = "\n\n".join([dse.rstrip("\n"), *entries.values(), ""])
    host.run(["tee", DSE], stdin=whole)
    names = [word for name in INDEXED for word in ("-t", name)]
    host.run(["ns-slapd", "db2index", "-D", INSTANCE, "-n", "userRoot", *names])
    host.run(f"cp -a {DATABASE_389} {SAVED}")
    yield whole
    usual: set[str] = set()
    for name in ("", *dropped):
        host.run(f"find {DATABASE_389} -mindepth 1 -delete; cp -a {SAVED}/. {DATABASE_389}/; rm -f {LOG_389}")
        host.run(["tee", DSE], stdin=whole.replace(f"{entries[name]}\n\n", "") if name else whole)
        server.start()
        for _ in provoke_389(host, server):
            pass
        server.stop()
        scanned = _scanned_by_389(host.run(["cat", LOG_389]))
        if name:
            yield name, sorted(one for one in scanned - usual if "list of" not in one or f" {name} " in one)
        else:
            usual = scanned
    host.run(["tee", DSE], stdin=whole)
    server.start()


def _people() -> str:
    """Return entries as LDIF that have what the servers search for: an AND ends at a member that no entry matches."""
    return "\n".join(
        f"dn: cn=person{number},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: person{number}\nsn: person\n"
        f"title: t{number}\ndepartmentNumber: 7\nemployeeNumber: {1000 + number}\nemployeeType: unique\n"
        f"roomNumber: 7\ncarLicense: ok\nbusinessCategory: ops\n"
        for number in range(20)
    )


def _scanned_by_389(log: str) -> set[str]:
    """Return the shapes of the searches that are noted as unindexed, and the keys with the length of their lists.

    Searches of the server itself and of clients. A filter that a plug-in has extended may be noted in any case; a key
    whose index is gone has a list of all entries.
    """
    shapes: dict[str, str] = {}
    scanned = set()
    for line in log.splitlines():
        if found := re.search(r"STAT read index: attribute=(\S+) key\((\w+)\)=(.*) --> count (\d+)", line):
            scanned.add("a list of {3} entries for {0} {1}".format(*found.groups()))
        if not (found := re.search(r"(conn=\S+(?: \(Internal\))? op=\S+) (SRCH|RESULT) (.*)", line)):
            continue
        operation, kind, rest = found.groups()
        if kind == "SRCH" and (written := re.search(r'base="(.*?)" .*filter="(.*?)"', rest)):
            shapes[operation] = re.sub(r"=[^()]*\)", "=?)", written[2]) + f" below {written[1]}"
        elif kind == "RESULT" and re.search(r" notes=\S*[AU]", rest) and operation in shapes:
            scanned.add(shapes[operation])
    return scanned


def _slapd(laboratory: Laboratory, host: Host, dropped: tuple[str, ...]) -> Iterator[Any]:
    """Yield the configuration with all the indexes, then each dropped index with the attributes that are scanned."""
    usual: set[str] = set()
    for name in ("", *dropped):
        indexed = ",".join(one for one in INDEXED if one != name)
        server = laboratory.slapd(
            host,
            configuration=f"{NIS}{OVERLAY_MODULES}{RULES_SLAPD}",
            database=f"index objectClass,uid eq\nindex {indexed} eq\n{OVERLAYS_SLAPD}{SET_SLAPD}",
            entries=_people(),
            level="stats,filter",
            by_file=True,
        )
        if not name:
            yield host.run(["cat", SLAPD_FILE])
        for _ in provoke_slapd(host, server):
            pass
        server.stop()
        scanned = set(re.findall(r"\((\w+)\) not indexed", server.log.read_text()))
        server.log.unlink()
        if name:
            yield name, sorted(scanned - usual)
        else:
            usual = scanned


LINES_389 = (
    "fd=64 slot=64 connection from 10.0.0.1 to 10.0.0.2",
    f'op=0 SRCH base="{SUFFIX}" scope=2 filter="(uid=joe)" attrs=ALL',
    "op=0 RESULT err=0 tag=101 nentries=1 wtime=0.000100000 optime=0.000200000 etime=0.000300000",
    "op=1 UNBIND",
    "op=1 fd=64 Disconnect - Cleanly Closed Connection - U1",
)
LINES_SLAPD = (
    "fd=12 ACCEPT from IP=10.0.0.1:50000 (IP=0.0.0.0:389)",
    f'op=0 SRCH base="{SUFFIX}" scope=2 deref=0 filter="(uid=joe)"',
    "op=0 SEARCH RESULT tag=101 err=0 qtime=0.000010 etime=0.000300 nentries=1 text=",
    "op=1 UNBIND",
    "fd=12 closed",
)


def _stamp_389(at: datetime, part: int) -> str:
    return f"[{at:%d/%b/%Y:%H:%M:%S}.{part:09} +0000]"


def _stamp_slapd(at: datetime, part: int) -> str:
    return f"{int(at.timestamp()):08x}.{part:08x} 0x7f0000000001"


def _month_of(product: str) -> str:
    """Return a log with a connection at its begin and one at its end."""
    stamp, lines = MADE[product]
    return "".join(
        f"{stamp(at, part)} conn={number} {text}\n"
        for number, at in enumerate((datetime.now(UTC) - MONTH, datetime.now(UTC)), 1)
        for part, text in enumerate(lines)
    )


PRODUCTS = {"389-ds": _ds389, "openldap": _slapd}
MADE = {"389-ds": (_stamp_389, LINES_389), "openldap": (_stamp_slapd, LINES_SLAPD)}
NAMES = {"389-ds": "dse.ldif", "openldap": "slapd.conf"}
EXPERIMENT = Experiment(
    name="needed-indexes",
    title="Fifty indexes that no search of a month uses, dropped one at a time",
    about=(
        "A 389-ds and a slapd with fifty indexes for equality; no client searches by them, and some are looked up by\n"
        "the servers themselves (plug-ins, overlays, mappings of accounts, sets and groups in access rules, views).\n"
        "Each is dropped alone, with all the others in place, and everything that lets the server search for itself\n"
        "is done once; its own log shows what it scans for then. Expected: the audit of the server before, with a\n"
        "month of log, has no command to drop an index that the server needs, or one that then drops nothing."
    ),
    steps=tuple(PRODUCTS),
    run=run,
    small=1,
)
