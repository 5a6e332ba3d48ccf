"""The order of snapshots, and the handling of the answers; the collectors are fakes."""

from __future__ import annotations

import threading
import time
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from ldapdiag.evidence.bundle import Gap
from ldapdiag.sources.collection_options import CollectionOptions
from ldapdiag.sources.files.input import Input
from ldapdiag.sources.live.sampling import LiveEvidence, collect_live
from ldapdiag.sources.progress import NO_PROGRESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEADER = "State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
SERVES = f"{HEADER}LISTEN 0 128 *:389 *:*\nESTAB 0 0 10.77.1.2:389 10.77.2.2:40000\n"
DIALS = f"{HEADER}ESTAB 0 0 10.77.2.2:40000 10.77.1.2:389\n"


def description(machine: str, namespace: str, address: str) -> str:
    return (
        f"ldapdiag-host 1\nname: x\nclock: 2026-11-20T09:00:00Z\nmachine: {machine}\nnamespace: net:[{namespace}]\n"
        f"address: {address}\n"
    )


class FakeCollector:
    """A collector with given answers, which records its calls."""

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

    def collect(self) -> Iterator[Input | Gap]:
        self.asked.append(f"{self.name} collect")
        if self.barrier:
            self.barrier.wait(5)
        for number, text in enumerate(self.texts):
            yield self.piece(f"file-{number}.txt", text)
        if self.fails:
            raise RuntimeError("a bug")

    def snapshot(self) -> Iterator[Input | Gap]:
        self.asked.append(f"{self.name} snapshot")
        yield self.piece("again.txt", self.texts[0])

    def access_logs(self, show_file: Callable[[str], object]) -> Iterator[Input | Gap]:
        self.asked.append(f"{self.name} logs")
        show_file(f"access of {self.name}")
        yield self.piece("access", "conn=1")

    def close(self) -> None:
        self.closed += 1

    def piece(self, file: str, text: str, folder: str | None = None) -> Input:
        folder = folder or self.name
        return Input(path=f"{folder}/{file}", folder=folder, label=file, source=partial(BytesIO, text.encode()))


def sampled(
    *collectors: FakeCollector, apart: float = 0.0, stop: threading.Event | None = None, logs: bool = False
) -> LiveEvidence:
    return collect_live(
        collectors,
        CollectionOptions(sample_interval_seconds=apart, logs=logs),
        stop=stop or threading.Event(),
        progress=NO_PROGRESS,
    )


def test_all_are_collected_then_the_servers_are_sampled_between_two_snapshots_of_the_others() -> None:
    asked: list[str] = []
    sampled(
        *(FakeCollector(name, text, asked=asked) for name, text in (("app1", DIALS), ("ldap", SERVES), ("app2", DIALS)))
    )
    assert sorted(asked[:3]) == ["app1 collect", "app2 collect", "ldap collect"]
    assert sorted(asked[3:5]) == ["app1 snapshot", "app2 snapshot"]
    assert asked[5] == "ldap snapshot"
    assert sorted(asked[6:]) == ["app1 snapshot", "app2 snapshot"]


def test_targets_are_collected_in_parallel() -> None:
    collectors = [FakeCollector(f"app{number}", DIALS) for number in range(8)]
    barrier = threading.Barrier(len(collectors))
    for collector in collectors:
        collector.barrier = barrier
    assert len(sampled(*collectors).pieces) == len(collectors)


def test_without_a_server_no_target_is_sampled_twice() -> None:
    asked: list[str] = []
    sampled(FakeCollector("app1", DIALS, asked=asked))
    assert asked == ["app1 collect"]


def test_logs_are_collected_last_and_only_on_request() -> None:
    asked: list[str] = []
    collectors = [FakeCollector(name, text, asked=asked) for name, text in (("app1", DIALS), ("ldap", SERVES))]
    assert not [piece for piece in sampled(*collectors).pieces if piece.path.endswith("/access")]
    assert not [one for one in asked if "logs" in one]
    asked.clear()
    assert {piece.path for piece in sampled(*collectors, logs=True).pieces} >= {"app1/access", "ldap/access"}
    assert sorted(asked[-2:]) == ["app1 logs", "ldap logs"]
    assert len([one for one in asked if "logs" in one]) == 2


def test_the_snapshots_of_a_server_are_an_interval_apart() -> None:
    started = time.monotonic()
    sampled(FakeCollector("ldap", SERVES), apart=0.4)
    assert time.monotonic() - started >= 0.4


def test_a_crash_in_one_costs_the_others_nothing() -> None:
    broken, fine = FakeCollector("app1", DIALS, fails=True), FakeCollector("ldap", SERVES)
    gathered = sampled(broken, fine)
    assert [gap.target for gap in gathered.gaps] == ["ssh://app1"]
    assert "bug" in gathered.gaps[0].reason
    assert {piece.folder for piece in gathered.pieces} == {"app1", "ldap"}
    assert (broken.closed, fine.closed) == (1, 1)


def test_a_failure_in_both_snapshots_is_one_gap() -> None:
    class Failing(FakeCollector):
        def snapshot(self) -> Iterator[Input | Gap]:
            yield Gap(target=self.target, reason="`ss` failed")

        def collect(self) -> Iterator[Input | Gap]:
            yield from super().collect()
            yield from self.snapshot()

    assert [gap.reason for gap in sampled(Failing("ldap", SERVES)).gaps] == ["`ss` failed"]


def test_what_answers_over_ldap_belongs_to_the_host_with_that_address() -> None:
    directory = FakeCollector("ds1.example.com", "dn: cn=monitor\n", peer="10.77.1.2")
    gathered = sampled(directory, FakeCollector("ldap", SERVES, description("m", "1", "10.77.1.2")))
    assert {piece.folder for piece in gathered.pieces} == {"ldap"}


def test_a_directory_on_an_unknown_host_is_a_host_of_its_own() -> None:
    directory = FakeCollector("ds1.example.com", "dn: cn=monitor\n", peer="10.77.9.9")
    gathered = sampled(directory, FakeCollector("ldap", SERVES, description("m", "1", "10.77.1.2")))
    assert {piece.folder for piece in gathered.pieces} == {"ldap", "ds1.example.com"}


def test_what_answers_on_a_loopback_address_is_of_this_host_alone() -> None:
    """Every host has 127.0.0.1; a tunnel ends there, too."""
    directory, other = (
        FakeCollector("localhost", "dn: cn=monitor\n", peer="127.0.0.1"),
        description("m", "1", "127.0.0.1"),
    )
    assert {piece.folder for piece in sampled(directory, FakeCollector("app1", DIALS, other)).pieces} == {
        "localhost",
        "app1",
    }
    here = FakeCollector("vm", SERVES, other)
    here.target = "local:"
    assert {piece.folder for piece in sampled(directory, here).pieces} == {"vm"}


class Container(FakeCollector):
    """A host on which a network namespace was found."""

    def collect(self) -> Iterator[Input | Gap]:
        yield from super().collect()
        yield self.piece("host.txt", description("m", "2", "172.30.0.2"), folder=f"{self.name}-web")
        yield self.piece("sockets.txt", DIALS, folder=f"{self.name}-web")


def test_a_namespace_that_two_targets_reach_counts_once_and_for_the_one_named() -> None:
    host = Container("app1", DIALS, description("m", "1", "10.77.2.2"))
    named = FakeCollector("web", DIALS, description("m", "2", "172.30.0.2"))
    folders = {piece.folder for piece in sampled(host, named).pieces}
    assert folders == {"app1", "web"}
    assert {piece.folder for piece in sampled(host).pieces} == {"app1", "app1-web"}


def test_a_namespace_with_the_address_of_a_host_that_was_named_is_of_another_network() -> None:
    """Two laboratories on one machine use the same addresses."""
    host = Container("app1", DIALS, description("m", "1", "10.77.2.2"))
    stranger = FakeCollector("web", DIALS, description("other", "9", "172.30.0.2"))
    assert {piece.folder for piece in sampled(host, stranger).pieces} == {"app1", "web"}


def test_ctrl_c_ends_the_sampling_and_keeps_what_was_collected() -> None:
    stop, asked = threading.Event(), []  # type: ignore[var-annotated]
    threading.Timer(0.3, stop.set).start()
    started = time.monotonic()
    ldap = FakeCollector("ldap", SERVES, asked=asked)
    gathered = sampled(ldap, apart=30, stop=stop)
    assert time.monotonic() - started < 10
    assert asked == ["ldap collect"]
    assert len(gathered.pieces) == 1
    assert gathered.gaps[-1].reason == "was interrupted"
    assert ldap.closed == 1


def test_an_answer_through_a_proxy_lies_in_a_folder_of_its_own() -> None:
    listens = SERVES.replace("*:389 *:*", '*:389 *:* users:(("haproxy",pid=7,fd=4))')
    host = FakeCollector("lb", listens, description("m", "1", "10.77.1.2"))
    directory = FakeCollector("vip", "dn: cn=monitor\n", peer="10.77.1.2")
    folders = {piece.folder for piece in sampled(host, directory).pieces}
    assert folders == {"lb", "behind-lb"}
