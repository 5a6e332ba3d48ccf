"""The founding story on real servers: which searches are slow, on which attribute, from whom, is one table."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from command import Ran, ldapdiag
from conftest import CORPUS
from lab.directory_servers import SUFFIX, account
from lab.laboratory import need

if TYPE_CHECKING:
    from pathlib import Path

    from lab.directory_servers import Server
    from lab.host import Host

PEOPLE, SLOW, FAST = 2000, 6, 25
APP1, APP2, LDAP = "10.77.2.2", "10.77.3.2", "10.77.1.2"
ACCESS = "/var/log/dirsrv/slapd-live/access"


def people() -> str:
    """Return so many people, to be added, that a scan of them all takes longer than a look into an index."""
    return "\n".join(
        f"dn: uid=user{number:05},ou=services,{SUFFIX}\nchangetype: add\nobjectClass: inetOrgPerson\n"
        f"uid: user{number:05}\n"
        f"cn: Joe {number}\nsn: Smith\ndisplayName: Smith, Joe {number}\ndescription: {'x' * 500}\n"
        for number in range(PEOPLE)
    )


def search(host: Host, name: str, filter_: str) -> None:
    """Bind as an application, search, and unbind."""
    bind = ["-x", "-H", f"ldap://{LDAP}", "-D", account(name), "-w", "password"]
    host.attempt(["ldapsearch", *bind, "-LLL", "-b", SUFFIX, filter_, "1.1"])


def work(topology: Any, server: Server) -> None:
    """Let one application search an attribute without an index while another one does what servers are made for."""
    need("ldapsearch")
    server.modify(people())
    for number in range(SLOW):
        search(topology.app1, "application_xyz", f"(displayName=*joe {number}77*)")
    for number in range(FAST):
        search(topology.app2, "application_foo", f"(uid=user{number:05})")


def told(log: Path) -> tuple[Ran, dict[str, Any]]:
    """Return the text and the JSON of a log."""
    return ldapdiag("log", log), ldapdiag("log", log, "--format", "json").report


def rows(ran: Ran) -> list[str]:
    """Return the table of searches, two lines each."""
    lines = ran.text.splitlines()
    heading = next(number for number, line in enumerate(lines) if line.split()[:1] == ["share"])
    return [line for line in lines[heading + 1 :] if line.startswith("    ")]


class TestThe389:
    def test_the_first_row_is_the_slow_search_its_attribute_and_who_asks(self, laboratory, topology, tmp_path) -> None:
        work(topology, laboratory.ds389(topology.ldap))
        log = tmp_path / "access"
        log.write_text(topology.ldap.run(["cat", ACCESS]))
        ran, report = told(log)

        first, who, *_ = rows(ran)
        assert "  U  (displayName=*?*)" in first  # two thousand entries: the tree alone is a list short enough
        assert who.strip() == f"sub {SUFFIX} · uid=application_xyz ({APP1})"

        shape = report["searches"]["shapes"][0]
        assert (shape["shape"], shape["clients"], shape["accounts"]) == (
            "(displayName=*?*)", [APP1], [account("application_xyz")],
        )  # fmt: skip
        assert (shape["count"], shape["unindexed"], shape["notes"]) == (SLOW, SLOW, {"U": SLOW})
        quick = next(one for one in report["searches"]["shapes"] if one["shape"] == "(uid=?)")
        assert (quick["count"], quick["clients"], quick["unindexed"]) == (FAST, [APP2], 0)
        assert report["connections"]["by_client"] == {APP1: SLOW, APP2: FAST, "local": 1}
        assert report["connections"]["closed_by_code"] == {"U1": SLOW + FAST + 1}
        assert report["lines_not_understood"] == 0


class TestSlapd:
    def test_its_stderr_and_the_same_lines_in_syslog_say_the_same(self, laboratory, topology, tmp_path) -> None:
        server = laboratory.slapd(topology.ldap)
        work(topology, server)
        server.stop()
        stderr = tmp_path / "stderr" / "slapd.log"
        stderr.parent.mkdir()
        stderr.write_bytes(server.log.read_bytes())
        syslog = tmp_path / "syslog" / "slapd.log"
        syslog.parent.mkdir()
        syslog.write_text("".join(as_syslog(line) for line in stderr.read_text().splitlines()))

        ran, report = told(stderr)
        first, who, *_ = rows(ran)
        assert "(displayName=*?*)" in first
        assert who.strip() == f"sub {SUFFIX} · uid=application_xyz ({APP1})"
        shape = report["searches"]["shapes"][0]
        assert (shape["shape"], shape["clients"], shape["count"]) == ("(displayName=*?*)", [APP1], SLOW)
        assert report["connections"]["by_client"] == {APP1: SLOW, APP2: FAST, "local": 1}
        assert report["connections"]["open_at_end"] == 0

        _, same = told(syslog)
        assert same["streams"][0]["dialect"] == "openldap-syslog"
        for name in ("operations", "results", "failed_binds", "lines_not_understood"):
            assert same[name] == report[name]
        for name in ("opened", "closed", "by_client", "by_account", "closed_by_code", "peak"):
            assert same["connections"][name] == report["connections"][name]
        assert [one["count"] for one in same["searches"]["shapes"]] == [
            one["count"] for one in report["searches"]["shapes"]
        ]
        assert same["searches"]["etime_seconds"] == report["searches"]["etime_seconds"]


def as_syslog(line: str) -> str:
    """Return a line of slapd's stderr as rsyslog's traditional format writes it; without the threads' addresses."""
    found = re.fullmatch(r"([0-9a-f]{8})\.[0-9a-f]{1,8} 0x[0-9a-f]+ (.*)", line)
    if found is None:
        return ""
    when = datetime.fromtimestamp(int(found[1], 16), UTC)
    return f"{when:%b} {when.day:2} {when:%H:%M:%S} ldap slapd[77]: {found[2]}\n"


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)")
class TestHalfAMinute:
    """Case 1 of the corpus, with the etime of one displayName search of application_shizzle set to thirty seconds."""

    @pytest.fixture
    def log(self, tmp_path) -> Path:
        lines = (CORPUS / "1-389ds-unindexed" / "access").read_text().splitlines(keepends=True)
        asked = next(number for number, line in enumerate(lines) if 'filter="(displayName=*zzz*)"' in line)
        which = " ".join(lines[asked].split()[2:4])  # conn=15 op=5
        answered = next(number for number in range(asked, len(lines)) if f" {which} RESULT " in lines[number])
        assert " etime=0.0" in lines[answered]
        lines[answered] = re.sub(r"(optime|etime)=\S+", r"\1=30.000000000", lines[answered])
        log = tmp_path / "access"
        log.write_text("".join(lines))
        return log

    def test_it_is_the_first_row(self, log) -> None:
        ran, report = told(log)
        first, where, *more = rows(ran)
        assert "30 s" in first
        assert "(displayName=*?*)" in first
        assert where.strip().startswith(f"sub ou=people,{SUFFIX}")
        assert "uid=application_shizzle (127.0.0.14)" in (where + more[0])  # it may stand on the next line

        shape = report["searches"]["shapes"][0]
        assert (shape["shape"], shape["base"]) == ("(displayName=*?*)", f"ou=people,{SUFFIX}")
        assert shape["clients"][0] == "127.0.0.14"
        assert shape["accounts"][0] == account("application_shizzle")
        assert shape["worst"]["etime_seconds"] == 30.0
        assert shape["worst"]["filter"] == "(displayName=*zzz*)"
