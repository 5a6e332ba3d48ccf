"""A client searches a slapd with two databases all the while, and the printed remedies are pasted meanwhile.

What a remedy must not do is measured against what it would look like: a server that is stopped by a build stands still
for as long as the build takes.
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import examples
from command import ldapdiag
from facts import slapd_of
from lab.directory_servers import SUFFIX
from lab.host import Host, wait_for
from lab.searching_client import LOST, Lane, searching
from lab.terminal import paste
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.indexes.candidates import Change, IndexPlace
from ldapdiag.servers.openldap.index_remedies import STOP_AND_START, add_indexes, build_indexes, drop_indexes
from reading import facts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.directory_servers import Server

SCHEMA = standard()
COUNT, FEW = 6000, 4000
SLOW = f"(|(displayName=p0000007 *){''.join(f'(displayName=*zzzzz{number}*)' for number in range(20))})"
"""Without an index each entry is compared with twenty values."""
ENOUGH = 100
"""Slow searches."""
UNAVAILABLE = 52
"""The result code of a slapd that is shutting down."""
OTHER = "o=Müller"
"""A suffix that the monitor shows in base64."""
CONFIG = ["slapcat", "-n0", "-F", "/etc/ldap/slapd.d"]
SHARE = 0.35
"""Of a build: pauses are shorter, and a blocked server's is as long."""
LINES = "index objectClass,uid eq\n"
CHANGES = [Change("displayName", "sub"), Change("displayName", "eq")]
LANES = {
    "people": Lane(SUFFIX, "sub", "(uid=p7)"),
    "wanted": Lane(SUFFIX, "sub", "(displayName=p0000007 *)"),
    "others": Lane(OTHER, "sub", "(uid=p8)"),
    "root": Lane("", "base", "(objectClass=*)"),
}


def people(count: int, place: str) -> str:
    """Return entries with long values: their substring indexes have a hundred keys for each."""
    draw = examples.choices(count)

    def text(number: int) -> str:
        return f"p{number:07} " + "".join(draw.choices("abcdefghijklmnop", k=90))

    return "\n".join(
        f"dn: uid=p{number},{place}\nobjectClass: inetOrgPerson\nuid: p{number}\ncn: c\nsn: s\n"
        f"displayName: {text(number)}\n"
        for number in range(count)
    )


def start(laboratory, host: Host, *, count: int = COUNT, **options: object) -> Server:
    """Start a slapd with both databases."""
    root = f"dn: {OTHER}\nobjectClass: organization\no: Müller\n\n"
    further = {OTHER: (f"rootdn cn=admin,{SUFFIX}\nmaxsize 500000000\n{LINES}", root + people(count, OTHER))}
    database = f"maxsize 500000000\n{LINES}"
    return laboratory.slapd(
        host, **({"database": database, "entries": people(count, SUFFIX), "further": further} | options)
    )


@pytest.fixture
def host() -> Iterator[Host]:
    with Host("ldap") as running:
        yield running


def configuration(server: Server, count: int | None = None) -> IndexConfiguration:
    """Return its configuration, with the number of entries of each database."""
    (read,) = [one for one in facts_of(server.host.run(CONFIG)) if isinstance(one, IndexConfiguration)]
    return replace(read, backends=tuple(replace(one, entries=count) for one in read.backends))


def remedies(server: Server, act=add_indexes, changes=CHANGES, count: int | None = None):
    """Return the remedy of each database."""
    read = configuration(server, count)
    return [act(IndexPlace(slapd_of("ldap"), one, read, SCHEMA), changes) for one in read.backends]


def lines(server: Server) -> list[set[str]]:
    """Return the index lines of each database."""
    return [{one.written for one in each.definitions} for each in configuration(server).backends]


def missed(server: Server, count: int = COUNT) -> int:
    """Return how many of some people a search by displayName does not find; of all of the database."""
    numbers = [*range(0, count, count // 20), count - 1]
    return sum(
        "dn:" not in server.search(place, f"(displayName=p{number:07} *)", "1.1")
        for number in numbers
        for place in (SUFFIX, OTHER)
    )


def test_online_builds_of_two_databases_stop_no_search(laboratory, host) -> None:
    server = start(laboratory, host)
    seconds = []
    with searching(server, LANES) as client:
        for remedy in remedies(server):
            began = time.monotonic()
            shown = paste(host, remedy.text)
            seconds.append(time.monotonic() - began)
            assert not server.is_building()
            assert "do not restart it" in shown
            assert shown.count("right: (displayName") == 4
    print(seconds, client.longest_pauses())  # noqa: T201  the figures, with -s
    assert max(client.longest_pauses().values()) < SHARE * min(seconds)
    assert not client.failures
    assert missed(server) == 0
    server.restart()
    assert missed(server) == 0
    with searching(server, LANES) as client:
        for remedy in remedies(server, drop_indexes, CHANGES[:1]):
            paste(host, remedy.text)
    assert not client.failures
    assert missed(server) == 0


def test_the_few_lines_build_both_databases_beside_writes_and_stop_no_search(laboratory, host) -> None:
    """Pasted as they are printed, one database after the other; each entry that was written meanwhile is found."""
    server = start(laboratory, host)
    found = remedies(server)
    seconds, written, ended = [], [], threading.Event()

    def write() -> None:
        while not ended.is_set():
            number = len(written)
            name = f"dn: uid=p{COUNT - 1 - number % 50},{SUFFIX}\nchangetype: modify\nreplace: displayName"
            server.modify(f"{name}\ndisplayName: written {number:07} {'x' * 60}\n")
            written.append(number)

    writing = threading.Thread(target=write)
    with searching(server, LANES) as client:
        writing.start()
        for remedy in found:
            began = time.monotonic()
            shown = paste(host, remedy.brief)
            seconds.append(time.monotonic() - began)
            assert not server.is_building()
            assert "cn=Tasklist,cn=Threads,cn=Monitor" in shown.rpartition("modifying entry")[2]
            assert shown.count("modifying entry") == 1
        ended.set()
        writing.join()
    print(seconds, len(written), client.longest_pauses())  # noqa: T201  the figures, with -s
    assert len(written) > 50
    assert max(client.longest_pauses().values()) < SHARE * min(seconds)
    assert not client.failures
    server.restart()
    for number in written[-50:]:
        assert "dn:" in server.search(SUFFIX, f"(displayName=written {number:07} *)", "1.1"), number
    numbers = range(0, COUNT - 60, 97)
    assert all("dn:" in server.search(SUFFIX, f"(displayName=p{number:07} *)", "1.1") for number in numbers)
    assert all("dn:" in server.search(OTHER, f"(displayName=p{number:07} *)", "1.1") for number in numbers)


def test_the_few_lines_change_nothing_while_an_index_is_built(laboratory, host) -> None:
    server = start(laboratory, host)
    first, second = remedies(server)
    change, _, _ = first.brief.partition("echo 'waiting for")
    paste(host, f"{change})")
    assert server.is_building()
    before = lines(server)
    shown = paste(host, f"{second.brief} || true")
    assert "Nothing is changed: an index is being built" in shown
    assert lines(server) == before
    wait_for(lambda: not server.is_building(), "the build does not end", seconds=120)


def test_without_a_monitor_database_slapd_is_stopped_for_at_most_the_announced_time(laboratory, host) -> None:
    server = start(laboratory, host, monitor=False, user="openldap")
    before = lines(server)
    announced = []
    with searching(server, LANES) as client:
        for remedy in remedies(server, count=COUNT):
            announced.append(int(re.search(r"answered for [\d,]+ to ([\d,]+) s", remedy.risk)[1].replace(",", "")))
            paste(host, remedy.text)
    assert max(client.longest_pauses().values()) <= min(announced)
    assert client.lost
    assert {one.err for one in client.failures} <= {LOST, UNAVAILABLE}
    assert missed(server) == 0
    owners = host.run("find /etc/ldap/slapd.d /var/lib/ldap* -printf '%u\\n' | sort -u").split()
    assert owners == ["openldap"]
    for remedy in remedies(server, drop_indexes):
        paste(host, remedy.text)
    assert lines(server) == before


def test_what_cannot_be_seen_is_not_begun(laboratory, host) -> None:
    """An excerpt of the configuration does not show that there is no monitor database."""
    server = start(laboratory, host, monitor=False, count=50)
    before, read = lines(server), replace(configuration(server), monitored=None)
    with pytest.raises(AssertionError, match=r"builds cannot be seen\r\nFAILED: .*\r\nState: nothing is changed"):
        paste(host, add_indexes(IndexPlace(slapd_of("ldap"), read.backends[0], read, SCHEMA), CHANGES).text)
    assert lines(server) == before


@pytest.mark.parametrize("monitor", [True, False])
def test_the_script_for_both_databases(laboratory, host, tmp_path, monitor) -> None:
    server = start(laboratory, host, monitor=monitor, count=FEW)
    lanes = LANES | {"slow": Lane(SUFFIX, "sub", SLOW), "slow, too": Lane(OTHER, "sub", SLOW)}
    with searching(server, lanes):
        wait_for(lambda: server.log.read_text().count(SLOW) > ENOUGH, "too few searches", seconds=60)
    place = tmp_path / "ldap"
    place.mkdir()
    (place / "access.log").write_text(server.log.read_text())
    (place / "configuration.ldif").write_text(host.run(CONFIG))
    host.run(["tee", "/run/script"], stdin=ldapdiag("indexes", place, "--script").text)
    with searching(server, lanes) as client:
        began = time.monotonic()
        shown = paste(host, "LDAP_URI=ldapi:/// sh /run/script")
        seconds = time.monotonic() - began
    assert "Done. Every index is built. Kinds of searches without a wrong answer: " in shown
    assert all(any("displayName" in line for line in one) for one in lines(server))
    longest = max(client.longest_pauses().values())
    assert longest < (SHARE / 2 * seconds if monitor else STOP_AND_START[1])
    assert {one.err for one in client.failures} <= (set() if monitor else {LOST, UNAVAILABLE})


def test_a_restart_during_the_build_is_noticed_and_repaired(laboratory, host) -> None:
    server = start(laboratory, host)
    remedy, _ = remedies(server)
    time.sleep(1)  # the monitor shows the start of slapd in whole seconds
    failures = []

    def run() -> None:
        with pytest.raises(AssertionError) as failed:
            paste(host, remedy.text)
        failures.append(str(failed.value))

    pasting = threading.Thread(target=run)
    pasting.start()
    wait_for(server.is_building, "no build begins")
    server.restart()
    pasting.join()
    assert "State: the index is incomplete and in use" in failures[0]
    assert missed(server) > 0
    paste(host, remedies(server, build_indexes, ["displayName"])[0].text)
    assert missed(server) == 0


@pytest.mark.parametrize("monitor", [True, False])
def test_a_database_without_room_ends_in_an_error_that_names_it(laboratory, host, monitor) -> None:
    """It has room for the entries, and not for the index: the indexer ends early, without a message."""
    room = f"{LINES}maxsize 9000000"
    server = start(laboratory, host, database=room, count=FEW, monitor=monitor)
    before, remedy = lines(server), remedies(server)[0]
    with pytest.raises(AssertionError) as failed:
        paste(host, remedy.text)
    if monitor:
        assert "so the build may have ended early" in str(failed.value)
        assert missed(server, FEW) > 0
        paste(host, remedy.undo)
    else:
        assert "the former index lines are restored" in str(failed.value)
    assert lines(server) == before
    assert missed(server, FEW) == 0
