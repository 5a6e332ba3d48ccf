"""uneven-load: shares that the generator made uneven are found; roles, standbys and chance are not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from command import ldapdiag
from fleet_logs import LoggedServer

if TYPE_CHECKING:
    from pathlib import Path

POOL = ("10.0.0.1", "10.0.0.2", "10.0.0.3")


def of(report: dict[str, Any], outcome: str) -> list[dict[str, Any]]:
    """Return the verdicts of one outcome."""
    return [one for one in report["verdicts"] if one["outcome"] == outcome]


def judged(folder: Path, *servers: LoggedServer) -> dict[str, Any]:
    for one in servers:
        one.write(folder)
    report: dict[str, Any] = ldapdiag("diagnose", folder, "--check", "uneven-load", "--format", "json").report
    return report


def pool(*connections: int) -> list[LoggedServer]:
    """Return servers with so many connections each, of the same clients."""
    return [LoggedServer(name=f"ds{number}", connections=each) for number, each in enumerate(connections)]


def test_an_even_pool_is_clear(tmp_path: Path) -> None:
    report = judged(tmp_path, *pool(300, 280, 320, 310))
    assert (report["findings"], len(of(report, "clear"))) == ([], 1)


def test_a_server_with_most_of_the_pool(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, *pool(300, 300, 300, 2000))["findings"]
    assert (found["observed"]["server"], found["severity"], found["confidence"]) == ("ds3", "low", "likely")


def test_four_times_the_even_share_is_medium(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, *pool(150, 150, 150, 150, 150, 150, 1500))["findings"]
    assert (found["observed"]["server"], found["severity"]) == ("ds6", "medium")
    assert found["observed"]["times_even"] >= 4


def test_few_clients_of_its_own_may_be_on_purpose(tmp_path: Path) -> None:
    own = LoggedServer(name="ds9", connections=2000, clients=("10.0.0.161", "10.0.0.29"))
    (found,) = judged(tmp_path, *pool(300, 300, 300), own)["findings"]
    assert (found["observed"]["server"], found["severity"], found["confidence"]) == ("ds9", "low", "possible")


def test_a_site_of_its_own_is_not_judged(tmp_path: Path) -> None:
    site = LoggedServer(name="ds9", connections=2000, clients=tuple(f"10.5.0.{number}" for number in range(1, 30)))
    report = judged(tmp_path, *pool(300, 300, 300), site)
    assert report["findings"] == []
    assert [one["subject"] for one in of(report, "not-judged")] == ["ds9"]


def test_servers_of_one_site_each_are_not_judged(tmp_path: Path) -> None:
    servers = [
        LoggedServer(name=f"ds{place}", connections=count, clients=(f"10.{place}.0.1", f"10.{place}.0.2"))
        for place, count in enumerate((200, 300, 300, 2000))
    ]
    report = judged(tmp_path, *servers)
    assert (report["findings"], len(of(report, "not-judged")), of(report, "clear")) == ([], 1, [])


def test_a_standby_without_load_is_worth_knowing_only(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, *pool(300, 300, 300, 2))["findings"]
    assert (found["observed"]["server"], found["severity"]) == ("ds3", "info")


def test_two_servers_are_a_first_one_and_its_standby(tmp_path: Path) -> None:
    report = judged(tmp_path, *pool(900, 100))
    assert (report["findings"], len(of(report, "not-judged"))) == ([], 1)


def test_few_connections_are_chance(tmp_path: Path) -> None:
    report = judged(tmp_path, *pool(40, 40, 40, 250))
    assert report["findings"] == []
    assert len(of(report, "not-judged")) == 1
