"""The order of looks, and what becomes of the answers: parties here are made of words, their order is real."""

from __future__ import annotations

import threading
import time
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.collection_options import Terms
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.sampling import Gathered, look_live
from ldapdiag.sources.progress import SILENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEADER = "State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
SERVES = f"{HEADER}LISTEN 0 128 *:389 *:*\nESTAB 0 0 10.77.1.2:389 10.77.2.2:40000\n"
DIALS = f"{HEADER}ESTAB 0 0 10.77.2.2:40000 10.77.1.2:389\n"


def told(machine: str, namespace: str, address: str) -> str:
    return (
        f"ldapdiag-host 1\nname: x\nclock: 2026-11-20T09:00:00Z\nmachine: {machine}\nnamespace: net:[{namespace}]\n"
        f"address: {address}\n"
    )


class Party:
    """A target that says what a test wants it to, and keeps when it was asked."""

    clock_offset = None

    def __init__(
        self, name: str, *texts: str, peer: str | None = None, fails: bool = False, asked: list[str] | None = None
    ) -> None:
        self.target = f"ssh://{name}"
        self.name = name
        self.texts = texts
        self.peer = peer
        self.fails = fails
        self.asked = asked if asked is not None else []
        self.closed = 0
        self.barrier: threading.Barrier | None = None

    def first(self) -> Iterator[Input | Gap]:
        self.asked.append(f"{self.name} first")
        if self.barrier:
            self.barrier.wait(5)
        for number, text in enumerate(self.texts):
            yield self.piece(f"file-{number}.txt", text)
        if self.fails:
            raise RuntimeError("a bug")

    def look(self) -> Iterator[Input | Gap]:
        self.asked.append(f"{self.name} look")
        yield self.piece("again.txt", self.texts[0])

    def logs(self, tell: Callable[[str], object]) -> Iterator[Input | Gap]:
        self.asked.append(f"{self.name} logs")
        tell(f"access of {self.name}")
        yield self.piece("access", "conn=1")

    def close(self) -> None:
        self.closed += 1

    def piece(self, file: str, text: str, folder: str | None = None) -> Input:
        folder = folder or self.name
        return Input(path=f"{folder}/{file}", folder=folder, label=file, source=partial(BytesIO, text.encode()))


def looked(*parties: Party, apart: float = 0.0, stop: threading.Event | None = None, logs: bool = False) -> Gathered:
    return look_live(parties, Terms(apart=apart, logs=logs), stop=stop or threading.Event(), progress=SILENCE)


def test_all_are_asked_then_the_servers_again_between_two_looks_at_the_others() -> None:
    asked: list[str] = []
    looked(*(Party(name, text, asked=asked) for name, text in (("app1", DIALS), ("ldap", SERVES), ("app2", DIALS))))
    assert sorted(asked[:3]) == ["app1 first", "app2 first", "ldap first"]
    assert sorted(asked[3:5]) == ["app1 look", "app2 look"]
    assert asked[5] == "ldap look"
    assert sorted(asked[6:]) == ["app1 look", "app2 look"]


def test_they_are_asked_side_by_side() -> None:
    parties = [Party(f"app{number}", DIALS) for number in range(8)]
    barrier = threading.Barrier(len(parties))
    for party in parties:
        party.barrier = barrier
    assert len(looked(*parties).pieces) == len(parties)


def test_without_a_server_nobody_is_looked_at_twice() -> None:
    asked: list[str] = []
    looked(Party("app1", DIALS, asked=asked))
    assert asked == ["app1 first"]


def test_logs_are_asked_for_last_and_by_whoever_wants_them() -> None:
    asked: list[str] = []
    parties = [Party(name, text, asked=asked) for name, text in (("app1", DIALS), ("ldap", SERVES))]
    assert not [piece for piece in looked(*parties).pieces if piece.path.endswith("/access")]
    assert not [one for one in asked if "logs" in one]
    asked.clear()
    assert {piece.path for piece in looked(*parties, logs=True).pieces} >= {"app1/access", "ldap/access"}
    assert sorted(asked[-2:]) == ["app1 logs", "ldap logs"]
    assert len([one for one in asked if "logs" in one]) == 2


def test_the_looks_at_a_server_are_apart() -> None:
    started = time.monotonic()
    looked(Party("ldap", SERVES), apart=0.4)
    assert time.monotonic() - started >= 0.4


def test_a_crash_in_one_costs_the_others_nothing() -> None:
    broken, fine = Party("app1", DIALS, fails=True), Party("ldap", SERVES)
    gathered = looked(broken, fine)
    assert [gap.target for gap in gathered.gaps] == ["ssh://app1"]
    assert "bug" in gathered.gaps[0].reason
    assert {piece.folder for piece in gathered.pieces} == {"app1", "ldap"}
    assert (broken.closed, fine.closed) == (1, 1)


def test_what_fails_in_both_looks_is_told_once() -> None:
    class Failing(Party):
        def look(self) -> Iterator[Input | Gap]:
            yield Gap(target=self.target, reason="`ss` failed")

        def first(self) -> Iterator[Input | Gap]:
            yield from super().first()
            yield from self.look()

    assert [gap.reason for gap in looked(Failing("ldap", SERVES)).gaps] == ["`ss` failed"]


def test_what_answers_over_ldap_belongs_to_the_host_with_that_address() -> None:
    directory = Party("ds1.example.com", "dn: cn=monitor\n", peer="10.77.1.2")
    gathered = looked(directory, Party("ldap", SERVES, told("m", "1", "10.77.1.2")))
    assert {piece.folder for piece in gathered.pieces} == {"ldap"}


def test_a_directory_on_an_unknown_host_is_a_host_of_its_own() -> None:
    directory = Party("ds1.example.com", "dn: cn=monitor\n", peer="10.77.9.9")
    gathered = looked(directory, Party("ldap", SERVES, told("m", "1", "10.77.1.2")))
    assert {piece.folder for piece in gathered.pieces} == {"ldap", "ds1.example.com"}


def test_what_answers_on_a_loopback_address_is_of_this_host_alone() -> None:
    """Every host has 127.0.0.1; a tunnel ends there, too."""
    directory, other = Party("localhost", "dn: cn=monitor\n", peer="127.0.0.1"), told("m", "1", "127.0.0.1")
    assert {piece.folder for piece in looked(directory, Party("app1", DIALS, other)).pieces} == {"localhost", "app1"}
    here = Party("vm", SERVES, other)
    here.target = "local:"
    assert {piece.folder for piece in looked(directory, here).pieces} == {"vm"}


class Container(Party):
    """A host on which a network namespace was found."""

    def first(self) -> Iterator[Input | Gap]:
        yield from super().first()
        yield self.piece("host.txt", told("m", "2", "172.30.0.2"), folder=f"{self.name}-web")
        yield self.piece("sockets.txt", DIALS, folder=f"{self.name}-web")


def test_a_namespace_that_two_targets_reach_counts_once_and_for_the_one_named() -> None:
    host = Container("app1", DIALS, told("m", "1", "10.77.2.2"))
    named = Party("web", DIALS, told("m", "2", "172.30.0.2"))
    folders = {piece.folder for piece in looked(host, named).pieces}
    assert folders == {"app1", "web"}
    assert {piece.folder for piece in looked(host).pieces} == {"app1", "app1-web"}


def test_a_namespace_with_the_address_of_a_host_that_was_named_is_of_another_network() -> None:
    """Two laboratories on one machine use the same addresses."""
    host = Container("app1", DIALS, told("m", "1", "10.77.2.2"))
    stranger = Party("web", DIALS, told("other", "9", "172.30.0.2"))
    assert {piece.folder for piece in looked(host, stranger).pieces} == {"app1", "web"}


def test_ctrl_c_ends_the_looking_and_keeps_what_was_said() -> None:
    stop, asked = threading.Event(), []  # type: ignore[var-annotated]
    threading.Timer(0.3, stop.set).start()
    started = time.monotonic()
    ldap = Party("ldap", SERVES, asked=asked)
    gathered = looked(ldap, apart=30, stop=stop)
    assert time.monotonic() - started < 10
    assert asked == ["ldap first"]
    assert len(gathered.pieces) == 1
    assert gathered.gaps[-1].reason == "was interrupted"
    assert ldap.closed == 1
