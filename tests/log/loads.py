"""What the load of the corpus cases 1, 2 and 3 sent: the words of its scripts, and what they wrote down at the client.

`../shared/lab/scripts/workload.py` records each operation of ldap3 in ops.jsonl and counts the raw ones in
ground_truth.json; `holder.py` opens a known set of connections and tells it in held-connections.json. No server's log
and no analyser has a part in any of this: only the shapes below are ours, written by hand beside the script's filters.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SHAPES = {
    "A1-quickr-or": "(|(cn=*?*)(givenName=*?*)(displayName=*?*))",
    "A2-and-displayname-eq": "(&(objectClass=inetOrgPerson)(displayName=?))",
    "A3-displayname-eq": "(displayName=?)",
    "A4-displayname-initial": "(displayName=?*)",
    "B1-uid-eq": "(uid=?)",
    "B2-mail-sub": "(mail=?*)",
    "B3-and-indexed-unindexed": "(&(uid=?)(employeeNumber=?))",
    "B4-and-unindexed-first": "(&(employeeNumber=?)(uid=?))",
    "B5-base-unindexed": "(displayName=*?*)",
    "B6-member-eq": "(member=?)",
    "C1-pres-unindexed": "(displayName=*)",
    "C2-pres-indexed-big": "(telephoneNumber=*)",
    "C3-not-eq": "(!(uid=?))",
    "C4-and-not": "(&(objectClass=person)(!(displayName=*)))",
    "C5-ge-employeenumber": "(employeeNumber>=?)",
    "C6-ge-modifytimestamp": "(modifyTimestamp>=?)",
    "C7-subtype": "(cn;lang-fr=?*)",
    "C8-extensible": "(cn:2.5.13.5:=?)",
    "C9-short-initial": "(cn=?*)",
    "C10-short-any": "(cn=*?*)",
    "C11-uid-sub": "(uid=*?)",
    "C12-oc-person": "(objectClass=person)",
    "C13-oc-group": "(objectClass=groupOfNames)",
    "C14-unknown-attr": "(notanattr=?)",
    "C15-onelevel-small": "(description=*?*)",
    "C16-approx": "(cn~=?)",
    "C17-or-indexed": "(|(uid=?)(mail=?))",
    "C18-oc-star": "(objectClass=*)",
    "C19-escaped": "(displayName=?)",
    "C20-utf8": "(displayName=*?*)",
    "C21-quote": "(displayName=?)",
    "P1-paged-big-indexed": "(telephoneNumber=*)",
    "P2-paged-unindexed": "(displayName=*)",
    "D1-lookthrough": "(displayName=*?*)",
    "D2-timelimit": "(description=*?*)",
    "E1-rootdse": "(objectClass=*)",
    "E2-monitor": "(objectClass=*)",
    "E3-config": "(cn=*?*)",
    "E4-root-full": "(displayName=*?*?*)",
    "E5-nosuch": "(cn=?)",
    "G1-anon": "(uid=?)",
    "G2-ldaps": "(displayName=?)",
    "G2-starttls": "(displayName=?)",
    "G3-ipv6": "(displayName=?)",
}
"""The filters of workload.py without their values, by its tags."""

SCOPES = {"BASE": "base", "LEVEL": "one", "SUBTREE": "sub"}

ANONYMOUS = "anonymous"
XYZ = "uid=application_xyz,ou=services,dc=example,dc=com"
TREE = "dc=example,dc=com"
PEOPLE = f"ou=people,{TREE}"

ABANDONED = "abandoned search (displayName=*abandon*)"
UNCLEAN = "close() without unbind after bind+search"
PIPELINED = "pipelined triple: 1 unindexed (displayName=*pipe*) + 2 indexed"

HELD_SEARCHES = {"127.0.0.31": 3, "127.0.0.33": 0, "127.0.0.35": 0, "127.0.0.38": 0, "127.0.0.39": 0}
"""Searches (uid=user00001) on each connection that holder.py keeps; one on the others, as far as they say nothing."""
SILENT = "connected, never sent anything"
PERSISTENT = "persistent search"

Who = tuple[str, str]
"""Client and account."""
What = tuple[str, str, str]
"""Shape, class of the base, scope."""


@dataclass(frozen=True)
class Search:
    """Some searches that the load sent."""

    who: Who
    what: What
    count: int
    answered: bool = True
    """Neither abandoned nor persistent."""


@dataclass(frozen=True)
class Load:
    """The load of one case."""

    folder: Path
    """groundtruth of the case."""
    root: str
    """The administrator's name, as the server writes it."""

    def _json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text())

    @cached_property
    def ops(self) -> list[dict[str, Any]]:
        """What workload.py did through ldap3, one by one: tag, client, account, filter, result code, entries, ms."""
        return [json.loads(line) for line in (self.folder / "ops.jsonl").read_text().splitlines()]

    @cached_property
    def totals(self) -> dict[str, Any]:
        """What it counted of the rest."""
        return self._json("ground_truth.json")

    @cached_property
    def held(self) -> list[dict[str, Any]]:
        """The connections of holder.py."""
        return self._json("held-connections.json")["connections"]

    @property
    def raw(self) -> dict[str, int]:
        """Counts of what it sent without ldap3, by what it calls it."""
        return self.totals["raw"]

    def raw_begins(self, name: str) -> int:
        """Return the count of all that begins so."""
        return sum(count for key, count in self.raw.items() if key.startswith(name))

    def account(self, bind: str | None) -> str:
        """Return the account of a bind DN in the scripts."""
        if bind is None:
            return ANONYMOUS
        return self.root if bind.startswith(("cn=Directory Manager", "root autobind")) else bind

    @staticmethod
    def what(op: dict[str, Any], renamed: dict[str, str] | None = None) -> What:
        """Return shape, base and scope of a search of ldap3; some shapes are `renamed`."""
        shape, base = SHAPES[op["tag"]], op["base"]
        if op["scope"] == "BASE" and base.endswith(PEOPLE):
            base = f"uid=?,{PEOPLE}"
        return (renamed or {}).get(shape, shape), base, SCOPES[op["scope"]]

    @cached_property
    def searches(self) -> list[Search]:
        """All searches of the load."""
        return [*self._of_ldap3(), *self._raw(), *self._of_holder()]

    def _of_ldap3(self) -> list[Search]:
        counts = Counter(
            ((op["src"], self.account(op["bind"])), self.what(op)) for op in self.ops if op["op"] == "SRCH"
        )
        return [Search(who, what, count) for (who, what), count in counts.items()]

    def _raw(self) -> list[Search]:
        display_name, uid = ("(displayName=*?*)", TREE, "sub"), ("(uid=?)", TREE, "sub")
        sorting, pipes = ("127.0.0.25", self.root), ("127.0.0.24", XYZ)
        sorts = self.raw_begins("server-side sort")
        return [
            Search(("127.0.0.20", XYZ), display_name, self.raw[ABANDONED], answered=False),
            Search(("127.0.0.21", XYZ), uid, self.raw[UNCLEAN]),
            Search(pipes, display_name, self.raw[PIPELINED]),
            Search(pipes, uid, 2 * self.raw[PIPELINED]),
            Search(sorting, ("(uid=?*)", PEOPLE, "sub"), 1),
            Search(sorting, ("(cn=?*)", PEOPLE, "sub"), sorts - 1),
            Search(sorting, ("(objectClass=inetOrgPerson)", PEOPLE, "one"), self.raw_begins("VLV")),
            Search(
                ("127.0.0.26", self.root),
                ("(objectClass=inetOrgPerson)", PEOPLE, "sub"),
                self.raw_begins(PERSISTENT),
                answered=False,
            ),
        ]

    def _of_holder(self) -> list[Search]:
        counts: Counter[Who] = Counter()
        for one in self.held:
            if one["note"] != SILENT:
                client = "local" if one["src"] == "ldapi" else one["src"]
                counts[client, self.account(one["bind"])] += HELD_SEARCHES.get(one["src"], 1)
        persistent = [one for one in self.held if one["note"].startswith(PERSISTENT)]
        return [
            *(Search(who, ("(uid=?)", TREE, "sub"), count) for who, count in counts.items() if count),
            *(
                Search((one["src"], self.root), ("(objectClass=*)", TREE, "sub"), 1, answered=False)
                for one in persistent
            ),
        ]

    def answered(self, renamed: dict[str, str]) -> Counter[tuple[str, str, str]]:
        """Return the answered searches by client, account (lower case) and shape; some shapes are `renamed`."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for one in self.searches:
            if one.answered:
                client, account = one.who
                counts[client, account.lower(), renamed.get(one.what[0], one.what[0])] += one.count
        return counts

    def asked(self, renamed: dict[str, str]) -> Counter[What]:
        """Return all searches by shape, base and scope; some shapes are `renamed`."""
        counts: Counter[What] = Counter()
        for one in self.searches:
            shape, base, scope = one.what
            counts[renamed.get(shape, shape), base, scope] += one.count
        return counts

    @property
    def opened(self) -> Counter[str]:
        """Connections that were opened, by source: workload.py's and holder.py's."""
        counts: Counter[str] = Counter()
        for source, count in self.totals["connections_by_source"].items():
            counts[source.split()[0]] += count
        counts.update("local" if one["src"] == "ldapi" else one["src"] for one in self.held)
        return counts
