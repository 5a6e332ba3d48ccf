"""One load, told by three servers in nine ways: the answers agree, and where they do not, the reason stands here.

The load is that of corpus cases 1, 2 and 3 (loads.py): 389-ds, slapd and OpenDJ got the same requests from the same
addresses. 389-ds's text is also told as JSON: no server here writes that format, so `as_389_json` transcribes the text
record by record, as logs.md 1.4 (the server's accesslog.c) has it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import examples
from conftest import CORPUS
from log.cuts import boundaries, content_of, dialect_of, fed, pieces, whole
from log.reports import Report, client, closes, failed_binds, report_of, results_by_requester, searches_by_shape

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)"
)

DS389 = CORPUS / "1-389ds-unindexed" / "access"
SLAPD = [
    CORPUS / "2-openldap-unindexed" / name for name in ("slapd.stderr.log", "syslog-traditional.log", "syslog-iso.log")
]
OPENDJ = [CORPUS / "3-opendj-unindexed" / name for name in ("access", "access-combined", "ldap-access.audit.json")]
TOOLS = {"127.0.0.1", "127.0.0.41", "local", "unknown"}
"""Administrators' tools, and what is nobody's: other requests on each server."""
ROOTS = re.compile(r"cn=directory manager(?:,.*)?")
"""Each server has its own administrator."""

SHAPES = {"(?employeeNumber>=?)": "(employeeNumber>=?)", "(?notanattr=?)": "(notanattr=?)"}
"""slapd marks assertions that its schema has no rule for."""

DIFFERENCES: dict[str, dict[tuple[str, str], str]] = {
    "slapd": {
        ("127.0.0.20", "(displayName=*?*)"): "all ten abandoned searches had been answered before the ABANDON came",
        ("127.0.0.25", "unknown"): "the results of what was refused without a SRCH line",
        ("127.0.0.25", "(uid=?*)"): "sorting refused (err=18) before the SRCH line was written",
        ("127.0.0.25", "(cn=?*)"): "sorting refused (err=18) before the SRCH line was written",
        ("127.0.0.25", "(objectClass=inetOrgPerson)"): "sorting refused (err=18) before the SRCH line was written",
    },
    "opendj": {
        ("127.0.0.18", "(displayName=?)"): "StartTLS was not set up: four of eight connections failed",
    },
}
"""By server, (client, shape) whose answered searches are not as many as in 389-ds."""

ENTRIES_DIFFER = {
    "(objectClass=*)": "root DSE and cn=monitor are entries of another product; tools read them, too",
    "(telephoneNumber=*)": "pages of 389-ds and of the others end elsewhere",
    "(notanattr=?)": "389-ds says err=0 and nothing, the others err=0 after reading all",
}


def load_only(report: Report) -> Counter[tuple[str, str]]:
    """Return the answered searches of the load by client and shape."""
    counts: Counter[tuple[str, str]] = Counter()
    for (who, _, shape), count in results_by_requester(report).items():
        if who not in TOOLS:
            counts[who, SHAPES.get(shape, shape)] += count
    return counts


def accounts(report: Report) -> set[tuple[str, str]]:
    """Return who is bound as whom."""
    return {(who, ROOTS.sub("root", account)) for who, account, _ in results_by_requester(report) if who not in TOOLS}


@pytest.mark.parametrize("other", [*SLAPD, *OPENDJ], ids=lambda path: path.name)
class TestServersAgree:
    def test_on_searches_by_client_and_shape(self, other: Path) -> None:
        mine, theirs = load_only(report_of(DS389)), load_only(report_of(other))
        differing = {key for key in mine.keys() | theirs.keys() if mine[key] != theirs[key]}
        assert differing == DIFFERENCES["slapd" if other in SLAPD else "opendj"].keys()

    def test_on_failed_binds(self, other: Path) -> None:
        assert failed_binds(report_of(other)) == failed_binds(report_of(DS389))

    def test_on_operations_that_only_the_load_sent(self, other: Path) -> None:
        kinds = ("add", "delete", "modrdn", "compare", "abandon", "extended")
        mine, theirs = report_of(DS389)["operations"], report_of(other)["operations"]
        assert {kind: theirs[kind] for kind in kinds} == {kind: mine[kind] for kind in kinds}

    def test_on_entries_that_were_sent(self, other: Path) -> None:
        """Of the searches whose answer depends on nothing but the data."""
        same = ("(member=?)", "(mail=?*)", "(|(uid=?)(mail=?))", "(objectClass=groupOfNames)", "(cn;lang-fr=?*)")
        mine, theirs = (
            {row["shape"]: row["entries"] for row in report_of(log)["searches"]["shapes"]} for log in (DS389, other)
        )
        assert {shape: theirs[shape] for shape in same} == {shape: mine[shape] for shape in same}
        assert all(mine[shape] for shape in same if shape != "(cn;lang-fr=?*)")

    def test_on_connections_by_client(self, other: Path) -> None:
        """389-ds alone had a persistent search of its own, two more connections; OpenDJ no ldapi."""
        only_389 = {"127.0.0.19": 1, "127.0.0.26": 1, "127.0.0.39": 1}
        mine = Counter(report_of(DS389)["connections"]["by_client"])
        mine.subtract(only_389)
        theirs = Counter(report_of(other)["connections"]["by_client"])
        assert {who: count for who, count in theirs.items() if who not in TOOLS} == {
            who: count for who, count in mine.items() if who not in TOOLS and count
        }

    def test_on_who_left_without_unbind(self, other: Path) -> None:
        """Each server has its own words, and OpenDJ none: a client that says UNBIND is `Client Disconnect`, too.

        127.0.0.20 sends UNBIND and closes while its search runs: slapd meets the end of the connection before it reads
        the UNBIND. 127.0.0.35 speaks TLS to an OpenDJ that was not set up for it.
        """
        unclean = {"connection lost", "TLS negotiation failure", "Protocol Error"}
        clients = {who for code, by_client in closes(report_of(other)).items() if code in unclean for who in by_client}
        if other in SLAPD:
            assert clients - TOOLS == {"127.0.0.20", "127.0.0.21", "127.0.0.22", "127.0.0.23"}
        else:
            assert clients - TOOLS == {"127.0.0.23", "127.0.0.35"}


def told_alike(one: Path, other: Path, *, times: bool) -> None:
    """Assert that two tellings of one run give one answer."""
    mine, theirs = report_of(one), report_of(other)
    assert results_by_requester(theirs) == results_by_requester(mine)
    assert failed_binds(theirs) == failed_binds(mine)
    assert theirs["results"] == mine["results"]
    assert theirs["connections"]["by_client"] == mine["connections"]["by_client"]
    assert theirs["connections"]["by_account"] == mine["connections"]["by_account"]
    assert closes(theirs) == closes(mine)
    for row in mine["connections"]["clients"]:
        assert client(theirs, row["client"])["opened"] == row["opened"]
    if times:
        assert theirs["searches"]["etime_seconds"] == mine["searches"]["etime_seconds"]
        assert theirs["operations"] == mine["operations"]
        assert searches_by_shape(theirs) == searches_by_shape(mine)


class TestTellings:
    def test_slapds_stderr_and_its_two_syslogs_say_the_same(self) -> None:
        for other in SLAPD[1:]:
            told_alike(SLAPD[0], other, times=True)

    def test_opendjs_combined_text_and_its_json_say_the_same(self) -> None:
        told_alike(OPENDJ[1], OPENDJ[2], times=True)

    def test_opendjs_text_says_the_same_and_tells_of_abandoned_requests(self) -> None:
        """A combined record is written with the result, which an abandoned search has not."""
        told_alike(OPENDJ[0], OPENDJ[1], times=False)
        more = searches_by_shape(report_of(OPENDJ[0])) - searches_by_shape(report_of(OPENDJ[1]))
        assert more == {("(displayName=*?*)", "dc=example,dc=com", "sub"): 10}
        assert report_of(OPENDJ[0])["searches"]["etime_seconds"] == report_of(OPENDJ[1])["searches"]["etime_seconds"]


# -- 389-ds as JSON

LINE = re.compile(r"\[(?P<stamp>[^\]]+)\] conn=(?P<conn>\d+) (?:op=(?P<op>-?\d+) )?(?P<text>.*)", re.DOTALL)
OPENING = re.compile(
    r"fd=(?P<fd>\d+) slot=(?P<slot>\d+) (?P<tls>SSL )?connection from (?P<client_ip>\S+) to (?P<server_ip>\S+)"
)
BIND = re.compile(r'BIND dn="(?P<bind_dn>.*)" method=(?P<method>\S+) version=(?P<version>\d)(?: mech=(?P<mech>\S+))?')
SEARCH = re.compile(
    r'SRCH base="(?P<base_dn>.*?)" scope=(?P<scope>\d) filter="(?P<filter>.*)"'
    r" attrs=(?P<attrs>.*?)(?P<psearch> options=persistent)?"
)
CHANGE = re.compile(r'(?P<operation>ADD|MOD|DEL|MODRDN|CMP) dn="(?P<target_dn>.*?)"(?P<rest>.*)')
RESULT = re.compile(
    r"RESULT err=(?P<err>\d+) tag=(?P<tag>\d+) nentries=(?P<nentries>\d+) wtime=(?P<wtime>\S+) optime=(?P<optime>\S+)"
    r' etime=(?P<etime>\S+)(?: notes=(?P<notes>\S+) details="[^"]*")?(?: dn="(?P<bind_dn>.*)")?'
    r"(?: pr_idx=(?P<pr_idx>\S+) pr_cookie=(?P<pr_cookie>\S+))?(?P<msg>.*)"
)
CLOSE = re.compile(r"fd=(?P<fd>\d+) Disconnect - (?P<why>.*)")
ABANDON = re.compile(
    r"ABANDON targetop=(?P<target_op>\S+) msgid=(?P<msgid>\d+)(?: nentries=(?P<nentries>\d+) etime=(?P<etime>\S+))?"
)
EXTENDED = re.compile(r'EXT oid="(?P<oid>[^"]*)"(?: name="(?P<name>[^"]*)")?')
WORDS = {"ADD": "ADD", "MOD": "MODIFY", "DEL": "DELETE", "MODRDN": "MODRDN", "CMP": "COMPARE"}
MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}


def as_389_json(line: str) -> dict[str, Any] | None:
    """Return a record of the text log as the server's JSON log has it (logs.md 1.4); None of any other line."""
    record = LINE.fullmatch(line)
    if record is None:
        return None
    day, month, rest = record["stamp"].split("/")
    year, _, clock = rest.partition(":")
    fields: dict[str, Any] = {
        "local_time": f"{year}-{MONTHS[month]:02}-{day}T{clock}",
        "key": f"1795164318-{record['conn']}",
        "conn_id": int(record["conn"]),
    }
    if record["op"]:
        fields["op_id"] = int(record["op"])
    fields |= _told(record["text"])
    return {name: value for name, value in fields.items() if value is not None}


def _told(text: str) -> dict[str, Any]:  # noqa: C901, PLR0911, PLR0912  a kind of record each
    if found := OPENING.fullmatch(text):
        return {"operation": "CONNECTION", **found.groupdict(), "fd": int(found["fd"]), "tls": bool(found["tls"])}
    if found := BIND.fullmatch(text):
        return {"operation": "BIND", **found.groupdict()}
    if found := SEARCH.fullmatch(text):
        return {
            "operation": "SEARCH",
            **found.groupdict(),
            "scope": int(found["scope"]),
            "attrs": found["attrs"].strip('"').split(),
            "psearch": bool(found["psearch"]),
        }
    if found := RESULT.fullmatch(text):
        fields = {**found.groupdict(), **{name: int(found[name]) for name in ("err", "tag", "nentries")}}
        fields["notes"] = [{"note": one} for one in found["notes"].split(",")] if found["notes"] else None
        for name in ("pr_idx", "pr_cookie"):
            fields[name] = int(found[name]) if found[name] else None
        if found["tag"] == "97" and found["err"] == "0":
            fields["msg"] = "SASL bind in progress"  # sic: result.c:2441
        return {"operation": "RESULT", "client_ip": "Internal", **fields}
    if found := CLOSE.fullmatch(text):
        error, _, reason = found["why"].partition(" - ")
        fields = {"close_error": error, "close_reason": reason} if reason else {"close_reason": error}
        return {"operation": "DISCONNECT", "fd": int(found["fd"]), **fields}
    if found := CHANGE.fullmatch(text):
        return {"operation": WORDS[found["operation"]], "target_dn": found["target_dn"]}
    if found := ABANDON.fullmatch(text):
        return {"operation": "ABANDON", **found.groupdict()}
    if found := EXTENDED.fullmatch(text):
        return {"operation": "EXTENDED_OP", "oid": found["oid"], "oid_name": found["name"]}
    if text == "UNBIND":
        return {"operation": "UNBIND"}
    if text.startswith("AUTOBIND dn="):
        return {"operation": "AUTOBIND", "bind_dn": text[13:-1]}
    if text.startswith("TLS"):
        version, size, cipher = text.split(" ", 2)
        bits = int(size.removesuffix("-bit"))
        return {"operation": "TLS_INFO", "tls_version": version, "keysize": bits, "cipher": cipher}
    if text.startswith("SORT "):
        return {"operation": "SORT", "sort_attrs": text}
    if text.startswith("VLV "):
        return {"operation": "VLV", "vlv_response": {"response_result": int(text.rpartition("(")[2].rstrip(")"))}}
    return {"operation": text.split(maxsplit=1)[0]}


@pytest.fixture(scope="module")
def as_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log of case 1 as JSON, an object a line."""
    folder = tmp_path_factory.mktemp("json")
    header = {
        "header": {
            "version": "389-Directory/2.3.1 B2025.016.1616",
            "instance": "localhost:13636 (/srv/corp389/etc/dirsrv/slapd-corp1)",
        }
    }
    records = [as_389_json(line) for line in DS389.read_text().splitlines()]
    objects = [header, *(record for record in records if record is not None)]
    (folder / "access").write_text("".join(json.dumps(one) + "\n" for one in objects))
    return folder / "access"


class TestJsonOf389:
    def test_nothing_of_the_text_is_left_out(self, as_json: Path) -> None:
        kinds = Counter(json.loads(line).get("operation") for line in as_json.read_text().splitlines())
        assert set(kinds) >= {
            "CONNECTION",
            "BIND",
            "SEARCH",
            "RESULT",
            "MODIFY",
            "ABANDON",
            "SORT",
            "VLV",
            "DISCONNECT",
        }
        header = 3  # lines of the text; one object here
        assert sum(kinds.values()) == DS389.read_bytes().count(b"\n") - header + 1

    def test_it_says_what_the_text_says(self, as_json: Path) -> None:
        mine, theirs = report_of(DS389), report_of(as_json)
        (stream,) = theirs["streams"]
        assert stream["dialect"] == "389-json"
        assert theirs["lines_not_understood"] == 0
        same = [name for name in mine if name not in {"streams", "lines", "versions", "files_not_logs"}]
        assert {name: theirs[name] for name in same} == {name: mine[name] for name in same}

    def test_text_and_json_of_one_run_in_one_folder_are_one_stream(self, as_json: Path, tmp_path: Path) -> None:
        (tmp_path / "access").write_bytes(DS389.read_bytes())
        (tmp_path / "access.json").write_bytes(as_json.read_bytes())
        report = report_of(tmp_path)
        assert len(report["streams"]) == 1
        assert report["operations"] == report_of(DS389)["operations"]

    def test_pretty_objects_say_the_same(self, as_json: Path, tmp_path: Path) -> None:
        pretty = tmp_path / "access"
        objects = [json.loads(line) for line in as_json.read_text().splitlines()]
        pretty.write_text("".join(json.dumps(one, indent=2) + "\n" for one in objects))
        mine, theirs = report_of(as_json), report_of(pretty)
        assert theirs["lines"] > 5 * mine["lines"]
        same = [name for name in mine if name not in {"streams", "lines", "files_not_logs"}]
        assert {name: theirs[name] for name in same} == {name: mine[name] for name in same}

    @pytest.mark.parametrize("indent", [None, 2])
    @pytest.mark.parametrize("seed", examples.rounds(4))
    def test_read_in_any_pieces_it_is_the_whole(
        self, as_json: Path, tmp_path: Path, indent: int | None, seed: int
    ) -> None:
        log = tmp_path / "access"
        objects = [json.loads(line) for line in as_json.read_text().splitlines()[:2000]]
        log.write_text("".join(json.dumps(one, indent=indent) + "\n" for one in objects))
        choose = examples.choices(seed)
        places = [choose.randrange(1 << 30) for _ in range(choose.choice([1, 7, 40]))]

        assert len(boundaries(log)) > 1900
        assert content_of(fed(dialect_of(log), pieces(log, places))) == whole(log)
