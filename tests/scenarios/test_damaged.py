"""The central incident as it arrives by mail: line ends, byte orders, cuts and bad bytes change no verdict."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

import examples
from incidents import (
    APP1,
    APP2,
    GHOSTS,
    INCIDENTS,
    clear,
    diagnosed,
    facts_in,
    finding,
    findings,
    ghost_ports,
    judged,
    not_judged,
)
from ldapdiag.diagnosis import Diagnosis
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.finding import Confidence, Finding, Severity

CASE = INCIDENTS / GHOSTS
TABLES = ("netstat-an.txt", "netstat-tano.txt", "ss-tan.txt", "ss-tanope.txt", "ss-tiepmnaO.txt")
GARBAGE = b"\xff\xfe\xc3( \x1b[31mnot a socket\x1b[0m \xf0\x28\x8c\x28\n"

Damage = Callable[[bytes], bytes]


def crlf(content: bytes) -> bytes:
    return content.replace(b"\n", b"\r\n")


def bom(content: bytes) -> bytes:
    return codecs.BOM_UTF8 + content


def bom_crlf(content: bytes) -> bytes:
    return codecs.BOM_UTF8 + crlf(content)


def utf16(content: bytes) -> bytes:
    return codecs.BOM_UTF16_LE + crlf(content).decode().encode("utf-16-le")


def utf16_big(content: bytes) -> bytes:
    return codecs.BOM_UTF16_BE + content.decode().encode("utf-16-be")


def no_last_newline(content: bytes) -> bytes:
    return content.rstrip(b"\n")


HARMLESS: tuple[Damage, ...] = (crlf, bom, bom_crlf, utf16, utf16_big, no_last_newline)


def bad_bytes(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join([*lines[:-1], GARBAGE, lines[-1]])


def cut(content: bytes) -> bytes:
    """Cut the last line in the middle of its first address."""
    lines = content.rstrip(b"\n").split(b"\n")
    lines[-1] = lines[-1][: lines[-1].index(b"10.77.") + 5]
    return b"\n".join(lines)


@pytest.fixture
def sent(tmp_path: Path) -> Callable[..., list[Path]]:
    """Return a function that writes one table of a host, damaged, into a folder of its own."""

    def send(host: str, name: str, damage: Damage) -> list[Path]:
        path = tmp_path / host / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(damage((CASE / host / name).read_bytes()))
        return [path]

    return send


def not_understood(diagnosis: Diagnosis) -> int:
    return sum(fact.origin.not_understood for fact in diagnosis.bundle.facts)


def verdicts(diagnosis: Diagnosis) -> list[tuple[str, str | None, str, object]]:
    return [
        (one.check, one.verdict.subject, type(one.verdict).__name__, getattr(one.verdict, "observed", None))
        for one in diagnosis.judged
    ]


@pytest.mark.parametrize(("name", "damage"), examples.some([*product(TABLES, HARMLESS)], 5))
def test_another_spelling_of_the_text_gives_the_same_verdicts(
    sent: Callable[..., list[Path]], name: str, damage: Damage
) -> None:
    original = diagnosed(*(CASE / host / name for host in ("ldap", "app1", "app2")))
    told = diagnosed(*(path for host in ("ldap", "app1", "app2") for path in sent(host, name, damage)))
    assert verdicts(told) == verdicts(original)
    assert not_understood(told) == not_understood(original) == 0


@pytest.mark.parametrize("name", TABLES)
def test_bad_bytes_are_counted_and_change_no_verdict(sent: Callable[..., list[Path]], name: str) -> None:
    original = diagnosed(*(CASE / host / name for host in ("ldap", "app1", "app2")))
    told = diagnosed(*(path for host in ("ldap", "app1", "app2") for path in sent(host, name, bad_bytes)))
    assert verdicts(told) == verdicts(original)
    assert not_understood(told) == 3
    assert "1 line of the client's table could not be read" in finding(told, "ghost-connections").detail


@pytest.mark.parametrize("name", TABLES[1:])
def test_a_cut_table_of_the_server_loses_the_last_row_and_nothing_else(
    sent: Callable[..., list[Path]], name: str
) -> None:
    told = diagnosed(*sent("ldap", name, cut), CASE / "app1" / name, CASE / "app2" / name, *fw())
    (whole,) = (fact for fact in facts_in(CASE / "ldap" / name) if isinstance(fact, SocketTable))
    lost = whole.remote_port[-1]
    found = finding(told, "ghost-connections")
    assert found.observed["ghost_client_ports"] == [port for port in ghost_ports(GHOSTS) if port != lost]
    assert (found.severity, found.confidence) == (Severity.CRITICAL, Confidence.CERTAIN)
    assert not_understood(told) == 1


@pytest.mark.parametrize("name", ["netstat-tano.txt", "ss-tan.txt"])
def test_a_cut_table_of_the_client_makes_no_ghost_that_the_firewall_still_carries(
    sent: Callable[..., list[Path]], name: str
) -> None:
    told = diagnosed(CASE / "ldap" / name, *sent("app1", name, cut), CASE / "app2" / name, *fw())
    found = finding(told, "ghost-connections")
    assert found.observed["ghost_client_ports"] == ghost_ports(GHOSTS)
    assert found.observed["unproven"] == 1
    assert not_understood(told) == 1


@pytest.mark.parametrize("name", ["netstat-tano.txt", "ss-tan.txt"])
def test_as_many_unread_lines_as_absent_rows_make_no_ghost(sent: Callable[..., list[Path]], name: str) -> None:
    told = diagnosed(CASE / "ldap" / name, CASE / "app1" / name, *sent("app2", name, cut))
    missing = not_judged(told, "ghost-connections", APP2)
    assert "1 of 40 connections is absent at the client" in missing.reason
    assert "could not be read" in missing.reason


def test_the_cut_netstat_with_crlf_of_the_corpus_is_read_whole() -> None:
    """It is the beginning of the server's table: fewer connections, each of them where it was."""
    told = diagnosed(INCIDENTS / "7-traps-crlf" / "netstat-an.crlf.txt", CASE / "app1", CASE / "app2", *fw())
    found = finding(told, "ghost-connections")
    dead = found.observed["ghost_client_ports"]
    assert set(dead) < set(ghost_ports(GHOSTS))
    assert len(dead) == found.observed["server_count"] - found.observed["matched"] > 0
    assert not_understood(told) <= 1


def fw() -> list[Path]:
    return [CASE / "fw" / "conntrack-L.txt"]


class TestStranded:
    """5a with rows of the living taken out of the server's table: the client holds what the server no longer has."""

    @staticmethod
    def told(tmp_path: Path, lost: int) -> Diagnosis:
        text = (CASE / "ldap" / "ss-tiepmnaO.txt").read_text().splitlines(keepends=True)
        living = [line for line in text if "10.77.3.2]:" in line and line.startswith("ESTAB")]
        (tmp_path / "ldap").mkdir()
        table = tmp_path / "ldap" / "ss-tiepmnaO.txt"
        table.write_text("".join(line for line in text if line not in living[:lost]))
        times = [CASE / "app2" / "captured-at.txt", tmp_path / "ldap" / "captured-at.txt"]
        times[1].write_bytes((CASE / "ldap" / "captured-at.txt").read_bytes())
        return diagnosed(table, CASE / "app1" / "ss-tan.txt", CASE / "app2" / "ss-tiepmnaO.txt", *times)

    @pytest.mark.parametrize("lost", [12, 19, 20, 25, 39])
    def test_what_the_server_lost_is_stranded_at_the_client_or_said_to_be_unproven(
        self, tmp_path: Path, lost: int
    ) -> None:
        diagnosis = self.told(tmp_path, lost)
        found = finding(diagnosis, "stranded-connections")
        assert found.subject == APP2
        assert lost / 2 < found.observed["stranded"] <= lost  # the rest was used since the server's table was taken
        assert found.observed["stranded"] + found.observed["unproven"] == lost
        assert len(found.observed["stranded_client_ports"]) == found.observed["stranded"]
        assert found.observed["client_count"] == 40
        assert found.observed["server_count"] == found.observed["matched"] == 40 - lost
        assert found.confidence is Confidence.LIKELY

    def test_half_of_the_clients_connections_are_a_high_price(self, tmp_path: Path) -> None:
        found = finding(self.told(tmp_path, 39), "stranded-connections")
        assert found.severity is Severity.HIGH
        assert found.observed["stranded"] >= found.observed["client_count"] / 2

    def test_with_none_lost_nothing_is_stranded(self, tmp_path: Path) -> None:
        diagnosis = self.told(tmp_path, 0)
        assert findings(diagnosis, "stranded-connections") == {}
        assert "40" in clear(diagnosis, "stranded-connections", APP2).reason

    def test_all_lost_is_still_seen_from_the_client(self, tmp_path: Path) -> None:
        diagnosis = self.told(tmp_path, 40)
        observed = finding(diagnosis, "stranded-connections").observed
        assert observed["stranded"] + observed["unproven"] == 40
        assert observed["stranded"] > 20
        verdict = judged(diagnosis, "ghost-connections")[APP1]
        assert isinstance(verdict, Finding)
        assert verdict.observed["ghosts"] == 268
