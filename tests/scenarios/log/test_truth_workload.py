"""The load of the corpus cases 1, 2 and 3, counted from the servers' logs and from what the load scripts wrote down.

What a client sent (loads.py) is the truth here; where a server did otherwise with it, the difference stands below with
its reason, and nothing else may differ.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import CORPUS
from log.loads import PEOPLE, PERSISTENT, SHAPES, TREE, XYZ, Load
from log.reports import closes, failed_binds, report_of, results_by_requester, searches_by_shape

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)"
)

TOOLS = ("127.0.0.1", "127.0.0.41", "local")
"""Where the makers of the captures asked as administrators, and idle.py, which only binds: no part of the two loads."""

ESCAPED = {"cn=jörg\\, müller,ou=services,dc=example,dc=com": "cn=jörg\\2c müller,ou=services,dc=example,dc=com"}
"""RFC 4514, 2.4, has two forms for a comma; 389-ds and slapd log the other one than the client sent."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A server that was given the load, with all in which it differs from what it was given."""

    folder: str
    logs: tuple[str, ...]
    root: str
    shapes: dict[str, str] = field(default_factory=dict)
    """Shapes that it logs otherwise."""
    accounts: dict[str, str] = field(default_factory=dict)
    answered: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """By how much its answers differ: client, account, shape."""
    asked: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """By how much its requests differ: shape, base, scope."""
    opened: dict[str, int] = field(default_factory=dict)
    """Connections that failed before the script counted them."""
    slack: float = 1.01
    """The most that a search may have taken in the server, in times at the client."""

    @property
    def load(self) -> Load:
        return Load(CORPUS / self.folder / "groundtruth", self.root)

    @property
    def paths(self) -> list[Path]:
        return [CORPUS / self.folder / log for log in self.logs]


ROOT_389 = "cn=Directory Manager"
ROOT_SLAPD = f"{ROOT_389},{TREE}"
ROOT_OPENDJ = f"{ROOT_389},cn=Root DNs,cn=config"

CASES = [
    Case(folder="1-389ds-unindexed", logs=("access",), root=ROOT_389, accounts=ESCAPED),
    Case(
        folder="2-openldap-unindexed",
        logs=("slapd.stderr.log", "syslog-traditional.log", "syslog-iso.log"),
        root=ROOT_SLAPD,
        slack=1.25,
        accounts=ESCAPED,
        # slapd marks an assertion that its schema cannot evaluate, and never evaluates it
        shapes={"(employeeNumber>=?)": "(?employeeNumber>=?)", "(notanattr=?)": "(?notanattr=?)"},
        answered={
            # no ABANDON came in time: every search had been answered
            ("127.0.0.20", XYZ, "(displayName=*?*)"): 10,
            # sssvlv refuses sorting without ordering rule (err=18) before the SRCH line is written: only results are
            # there, and their connection shows who asked
            ("127.0.0.25", ROOT_SLAPD.lower(), "(uid=?*)"): -1,
            ("127.0.0.25", ROOT_SLAPD.lower(), "(cn=?*)"): -2,
            ("127.0.0.25", ROOT_SLAPD.lower(), "(objectClass=inetOrgPerson)"): -4,
            # holder.py sends EXTERNAL without the credentials slapd waits for: "SASL bind in progress", no SRCH line
            ("local", ROOT_SLAPD.lower(), "(uid=?)"): -2,
            ("127.0.0.25", "cn=directory manager,dc=example,dc=com", "unknown"): 7,
        },
        asked={
            ("(uid=?*)", PEOPLE, "sub"): -1,
            ("(cn=?*)", PEOPLE, "sub"): -2,
            ("(objectClass=inetOrgPerson)", PEOPLE, "one"): -4,
            ("(uid=?)", TREE, "sub"): -2,
        },
    ),
    Case(
        folder="3-opendj-unindexed",
        logs=("access", "access-combined", "ldap-access.audit.json"),
        root=ROOT_OPENDJ,
        # debugsearchindex, by whoever captured it: two of its filters have a shape of the load
        asked={
            ("(|(cn=*?*)(givenName=*?*)(displayName=*?*))", TREE, "sub"): 1,
            ("(displayName=*?*)", TREE, "sub"): 1,
        },
        # StartTLS was not set up: the script's connections failed at once, and so did one of holder.py
        opened={"127.0.0.18": 4, "127.0.0.35": 1},
    ),
]
LOGS = [pytest.param(case, path, id=f"{case.folder}/{path.name}") for case in CASES for path in case.paths]
SHARED = {("(objectClass=*)", "", "base"), ("(objectClass=*)", "cn=monitor", "base")}
"""Searches of the load that tools send, too."""
ONE_LINE = {"access-combined", "ldap-access.audit.json"}
"""OpenDJ writes a request here with its result: an abandoned search, which has none, is not there at all."""


def scripted(case: Case) -> Counter[tuple[str, str, str]]:
    """Return the answered searches by client, account and shape that a log must tell."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for (who, account, shape), count in case.load.answered(case.shapes).items():
        counts[who, case.accounts.get(account, account), shape] += count
    counts.update(case.answered)
    return +counts


def from_the_load(counts: Counter[tuple[str, str, str]]) -> Counter[tuple[str, str, str]]:
    """Return what is not the work of tools; over ldapi, only the search of holder.py is."""
    return Counter(
        {
            key: count
            for key, count in counts.items()
            if key[0] not in TOOLS or (key[0] == "local" and key[2] == "(uid=?)")
        }
    )


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_every_search_is_told_with_its_client_account_and_shape(case: Case, log: Path) -> None:
    assert from_the_load(results_by_requester(report_of(log))) == scripted(case)


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_every_search_is_told_with_its_base_and_scope(case: Case, log: Path) -> None:
    counts = case.load.asked(case.shapes)
    counts.update(case.asked)
    if log.name in ONE_LINE:
        counts["(displayName=*?*)", TREE, "sub"] -= 10
    searches = searches_by_shape(report_of(log))
    assert {what: searches[what] for what in counts if what not in SHARED} == {
        what: count for what, count in counts.items() if what not in SHARED
    }
    assert all(searches[what] >= counts[what] for what in SHARED)


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_result_codes_and_entries_are_what_the_client_received(case: Case, log: Path) -> None:
    """Of searches that only ldap3 sent: the script wrote down every code and how many entries came."""
    elsewhere = {one.what for one in (*case.load._raw(), *case.load._of_holder())} | SHARED | case.asked.keys()
    errors: dict[tuple[str, str, str], Counter[str]] = {}
    entries: Counter[tuple[str, str, str]] = Counter()
    for op in case.load.ops:
        if op["op"] == "SRCH" and (what := case.load.what(op, case.shapes)) not in elsewhere:
            entries[what] += op["n"]
            errors.setdefault(what, Counter()).update([str(op["rc"])] if op["rc"] else [])
    rows = {(row["shape"], row["base"], row["scope"]): row for row in report_of(log)["searches"]["shapes"]}

    assert len(entries) > 20
    assert {what: Counter(rows[what]["errors"]) for what in errors} == errors
    assert {what: rows[what]["entries"] for what in entries} == entries


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_searches_took_about_as_long_in_the_server_as_at_the_client(case: Case, log: Path) -> None:
    """Of those that take long: the way there and back is little. slapd's etime includes what comes after the answer."""
    at_client: Counter[tuple[str, str, str]] = Counter()
    for op in case.load.ops:
        if op["op"] == "SRCH":
            at_client[case.load.what(op, case.shapes)] += op["ms"]
    rows = {(row["shape"], row["base"], row["scope"]): row for row in report_of(log)["searches"]["shapes"]}
    slow = [
        ("(&(objectClass=inetOrgPerson)(displayName=?))", PEOPLE, "sub"),
        ("(modifyTimestamp>=?)", TREE, "sub"),
        ("(uid=*?)", PEOPLE, "sub"),
    ]

    for what in slow:
        assert 0.9 < rows[what]["etime_seconds"] * 1000 / at_client[what] < case.slack


CONFIGURED = re.compile(
    rb' MOD dn="[^"]*cn=config"| MODIFY REQ [^\n]{0,80}dn="[^"]*cn=config"| MODIFY conn[^\n]{0,80}dn="[^"]*cn=config"'
    rb'|"operation":"MODIFY"[^\n]{0,90}"dn":"[^"]*cn=config"'
)
"""A request that changed the server's configuration: the makers of the captures did, between the loads."""


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_operations_by_kind_are_those_of_the_script(case: Case, log: Path) -> None:
    writes = case.load.totals["writes"]
    config = len(CONFIGURED.findall(log.read_bytes()))
    operations = report_of(log)["operations"]

    assert operations["add"] == writes["ADD rc=0"] + sum(
        count for name, count in writes.items() if name.startswith("ADD-dup")
    )
    assert operations["delete"] == writes["DEL rc=0"]
    assert operations["modrdn"] == writes["MODRDN rc=0"]
    assert operations["modify"] == writes["MOD rc=0"] + writes["MOD-denied rc=50"] + config
    assert operations["compare"] == 1
    assert operations["abandon"] == 10
    assert operations["extended"] == writes["EXT whoami"] + 5  # StartTLS: four of workload.py, one of holder.py


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_failed_binds_are_told_with_dn_and_client(case: Case, log: Path) -> None:
    failed = Counter(
        (op["src"], op["bind"].lower(), op["rc"]) for op in case.load.ops if op["op"] == "BIND" and op["rc"]
    )
    failed.update(
        (one["src"], one["bind"].lower(), 49) for one in case.load.held if one["note"].startswith("bind failed")
    )

    assert failed_binds(report_of(log)) == failed


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_connections_by_client_are_those_that_the_scripts_opened(case: Case, log: Path) -> None:
    opened = case.load.opened
    opened.update(case.opened)
    report = report_of(log)["connections"]

    assert {who: count for who, count in report["by_client"].items() if who not in TOOLS} == {
        who: count for who, count in opened.items() if who not in TOOLS
    }
    assert report["by_client"]["127.0.0.41"] >= case.load._json("idle.json")["opened"]
    assert report["opened"] == sum(report["by_client"].values())


@pytest.mark.parametrize(("case", "log"), LOGS)
def test_every_connection_was_closed_and_the_peak_is_what_was_held(case: Case, log: Path) -> None:
    """holder.py kept its connections while one more asked for cn=monitor; nothing before or after was as many."""
    report = report_of(log)["connections"]

    assert report["closed"] == report["opened"]
    assert (report["open_before"], report["open_at_end"]) == (0, 0)
    assert report["peak"] == len(case.load.held) + 1
    assert [one["server_processes"] for one in report_of(log)["streams"]] == [1]


class TestCloses389:
    """Why connections ended: what the script did to each, by the client it did it from."""

    LOG = CORPUS / "1-389ds-unindexed" / "access"

    def test_every_close_has_its_cause(self) -> None:
        raw = CASES[0].load.raw
        report = closes(report_of(self.LOG))
        assert report["B1"] == {
            "127.0.0.21": raw["close() without unbind after bind+search"] + raw["connect and close() at once"],
            "127.0.0.23": raw["HTTP garbage to the LDAP port"],
            "127.0.0.41": 2,  # by hand, before idle.py
        }
        assert report["reset"] == {"127.0.0.22": raw["RST after bind"]}
        assert report["B2"] == {"127.0.0.23": raw["BER length 2 GB"] + raw["TLS ClientHello to plain port"]}
        assert report["Encountered end of file."] == {"127.0.0.23": raw["plain LDAP bind to LDAPS port"]}
        assert report["T1"] == {"127.0.0.41": CASES[0].load._json("idle.json")["opened"]}
        assert set(report) == {"B1", "B2", "T1", "U1", "reset", "Encountered end of file."}
        assert sum(report["U1"].values()) == 173 - 22 - 2 - 12 - 5 - 2

    def test_who_was_closed_uncleanly_said_no_unbind(self) -> None:
        clean = closes(report_of(self.LOG))["U1"]
        assert not clean.keys() & {"127.0.0.21", "127.0.0.22", "127.0.0.23", "127.0.0.41"}

    def test_those_who_never_asked_anything_are_told(self) -> None:
        rows = {row["client"]: row["closed_without_operation"] for row in report_of(self.LOG)["connections"]["clients"]}
        assert rows["127.0.0.21"] == {"B1": CASES[0].load.raw["connect and close() at once"]}
        assert rows["127.0.0.34"] == {}  # holder.py says UNBIND at the end


class TestNotes389:
    """Searches without an index, by what the server says: the log's notes, and the errors log as a second witness."""

    FOLDER = CORPUS / "1-389ds-unindexed"

    def test_as_many_as_the_errors_log_has_notices(self) -> None:
        """Each fully unindexed search is a NOTICE line; the ten abandoned ones have no RESULT that could tell it."""
        notices = (self.FOLDER / "errors").read_bytes().count(b"ldbm_back_search - Unindexed search")
        noted = report_of(self.FOLDER / "access")["searches"]["noted"]
        assert noted["A"] + noted["P,A"] + CASES[0].load.raw["abandoned search (displayName=*abandon*)"] == notices

    @pytest.mark.parametrize(
        ("tags", "count"),
        [
            (("A1-quickr-or",), 150),
            (("A2-and-displayname-eq",), 40),
            (("A4-displayname-initial",), 20),
            (("C4-and-not",), 15),
            (("C5-ge-employeenumber",), 20),
            (("C6-ge-modifytimestamp",), 10),
            (("C8-extensible",), 5),
            (("C11-uid-sub",), 10),
            (("E4-root-full",), 5),
        ],
    )
    def test_what_was_designed_to_have_no_index_has_none(self, tags: tuple[str, ...], count: int) -> None:
        shapes = {SHAPES[tag] for tag in tags}
        rows = [row for row in report_of(self.FOLDER / "access")["searches"]["shapes"] if row["shape"] in shapes]
        assert sum(row["unindexed"] for row in rows) == count

    @pytest.mark.parametrize(
        "tag", ["B1-uid-eq", "B2-mail-sub", "B6-member-eq", "C7-subtype", "C13-oc-group", "C17-or-indexed"]
    )
    def test_what_has_an_index_has_no_note(self, tag: str) -> None:
        rows = [row for row in report_of(self.FOLDER / "access")["searches"]["shapes"] if row["shape"] == SHAPES[tag]]
        assert rows
        assert not any(row["notes"] for row in rows)

    def test_later_pages_are_no_searches_of_their_own(self) -> None:
        pages = Counter(op["tag"] for op in CASES[0].load.ops if op["tag"].startswith("P"))
        searches = report_of(self.FOLDER / "access")["searches"]
        assert set(pages.values()) == {8}  # two searches of four pages, each
        assert searches["total"] - searches["logical"] == sum(pages.values()) - 4


def test_persistent_searches_are_asked_and_never_answered() -> None:
    """Two of them in case 1: their connections say UNBIND while they wait."""
    load = CASES[0].load
    waiting = [one for one in load.searches if not one.answered and one.who[1] == ROOT_389]
    rows = report_of(CASES[0].paths[0])["searches"]["shapes"]
    open_ended = {
        (row["shape"], row["base"]): row["count"] - row["answered"] for row in rows if row["count"] > row["answered"]
    }

    assert load.raw_begins(PERSISTENT) == 1
    assert open_ended == {
        **{(one.what[0], one.what[1]): one.count for one in waiting},
        ("(displayName=*?*)", TREE): 10,  # the abandoned ones
    }
