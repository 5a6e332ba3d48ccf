"""Exported events 1644 of domain controllers: visits, indexes and askers in the reports, and what is not logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from command import ldapdiag
from forest import schema_ldif
from log.windows_events import EXPORTS, Event, as_csv, as_viewer, as_xml, event

if TYPE_CHECKING:
    from pathlib import Path

LONG = "not in this log, however often it was sent"


def walking(number: int) -> Event:
    """Return a search that walks the table, above every default threshold."""
    return event(
        number, " (employeeNumber=7) ", visited=20_000, used="DNT_index:9000:N;", preventing="employeeNumber",
        milliseconds=1600,
    )  # fmt: skip


QUICK = event(3, " (objectClass=user) ", visited=1, used="idx_objectClass:1:N;", preventing="none", milliseconds=0)


def test_a_log_shows_visits_pages_indexes_and_who_asks(tmp_path: Path) -> None:
    (tmp_path / "events").write_text(EXPORTS["Winlogbeat"]([walking(number) for number in range(50)]))

    text = ldapdiag("log", tmp_path / "events").text

    assert "visited 1,000,000 entries to return 50 by DNT_index (no index for employeenumber)" in text
    assert "74,350 pages, 1,050 from disk" in text
    assert "A\\svc (10.1.1.1)" in text
    (shape,) = ldapdiag("log", tmp_path / "events", "--format", "json").report["searches"]["shapes"]
    assert (shape["visited"], shape["entries"], shape["pages"]) == (1_000_000, 50, 74_350)
    assert shape["used_indexes"][0]["preventing"] == ["employeenumber"]


@pytest.mark.parametrize(
    ("form", "wanted"), [("html", "DNT_index"), ("markdown", "DNT\\_index"), ("csv", "1000000,74350")]
)
def test_pages_and_tables_have_them_too(form: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "events.xml").write_text(as_xml([walking(number) for number in range(50)]))

    text = ldapdiag("log", tmp_path / "events.xml", "--format", form).text

    assert wanted in text
    assert form == "csv" or LONG in text


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([walking(1), walking(2)], "above the default thresholds. If those applied (which no log shows"),
        ([walking(1), event(2, visited=500, milliseconds=200)], "below the defaults (which no log shows"),
        ([walking(1), QUICK], "about every search was logged"),
        ([event(1, is_old=True), event(2, visited=999, is_old=True)], "below the defaults"),
    ],
)
@pytest.mark.parametrize("command", ["log", "diagnose", "indexes"])
def test_every_report_says_which_searches_are_logged(command: str, events: list, said: str, tmp_path: Path) -> None:
    (tmp_path / "events.xml").write_text(as_xml(events * 20))

    text = " ".join(ldapdiag(command, tmp_path / "events.xml").text.split())

    assert said in text
    assert (LONG in text) is (said != "about every search was logged")


@pytest.mark.parametrize(("of", "label"), [(100, "unknown"), (4, "clear")])
def test_no_all_clear_where_searches_were_not_judged(of: int, label: str, tmp_path: Path) -> None:
    odd = [event(n, " (a\u202eb=7) ", visited=20_000, preventing="none", milliseconds=9) for n in range(of)]
    plain = [event(n, " (cn=x) ", visited=1, used="idx_cn:1:N;", milliseconds=9) for n in range(100 - of)]
    (tmp_path / "events.xml").write_text(as_xml([*odd, *plain]))
    (tmp_path / "schema.ldf").write_text(schema_ldif())

    found = ldapdiag("indexes", tmp_path, "--format", "json").report
    text = " ".join(ldapdiag("indexes", tmp_path).text.split())

    assert f"{label} Nothing wrong found" in text
    assert f"{of} of 100 searches" in text
    assert found["indexes"][0]["unjudged"]["searches"] == of


@pytest.mark.parametrize("command", ["log", "diagnose", "indexes"])
def test_the_registry_beside_the_events_of_one_server_says_which_are_logged(command: str, tmp_path: Path) -> None:
    (tmp_path / "events.xml").write_text(as_xml([walking(number) for number in range(40)]))
    (tmp_path / "registry.txt").write_text(
        "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\NTDS\\Parameters\n"
        "    Expensive Search Results Threshold    REG_DWORD    0x1\n"
    )

    text = " ".join(ldapdiag(command, tmp_path).text.split())

    assert "(Expensive Search Results Threshold of 1)" in text
    assert LONG not in text


def test_the_registry_beside_the_events_of_several_servers_is_of_none(tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_text(as_xml([walking(number) for number in range(40)]))
    (tmp_path / "two.xml").write_text(as_xml([event(number, server="DC2") for number in range(40)]))
    (tmp_path / "registry.txt").write_text(
        "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\NTDS\\Parameters\n"
        "    Expensive Search Results Threshold    REG_DWORD    0x1\n"
    )

    text = " ".join(ldapdiag("log", tmp_path).text.split())

    assert "registry.txt not used: this report adds up several servers" in text.replace("Registry", "registry")
    assert "(Expensive Search Results Threshold of 1)" not in text


def test_thresholds_that_the_log_contradicts_are_not_those_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "events.xml").write_text(as_xml([walking(0), *[QUICK] * 40]))
    (tmp_path / "registry.txt").write_text(
        "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Services\\NTDS\\Parameters\n"
        "    Expensive Search Results Threshold    REG_DWORD    0x2710\n"
    )

    text = " ".join(ldapdiag("diagnose", tmp_path).text.split())

    assert "searches below the thresholds in" in text
    assert LONG not in text


def test_each_controller_is_judged_by_its_own_events(tmp_path: Path) -> None:
    quick = {"visited": 40, "returned": 40, "used": "idx_cn:40:N;", "preventing": "none", "milliseconds": 2}
    events = [
        walking(number) if number % 2 else event(number, " (cn=x) ", server="DC2", **quick)  # type: ignore[arg-type]
        for number in range(400)
    ]
    (tmp_path / "both.csv").write_text(as_csv(events))

    found = ldapdiag("diagnose", tmp_path / "both.csv", "--format", "json").report

    assert [server["name"] for server in found["servers"]] == ["DC1", "DC2"]
    assert {one["server"] for one in found["findings"]} == {"DC1"}


@pytest.mark.parametrize("of_first", [40, 2000])
@pytest.mark.parametrize("order", [1, -1])
def test_events_of_one_controller_after_those_of_another_are_of_two_servers(
    of_first: int, order: int, tmp_path: Path
) -> None:
    first, other = ([event(number, server=one) for number in range(of_first)][::order] for one in ("DC1", "DC2"))
    (tmp_path / "both.csv").write_text(as_csv([*first, *other[:40]]))

    found = ldapdiag("diagnose", tmp_path / "both.csv", "--format", "json").report

    assert {server["name"] for server in found["servers"]} == {"DC1", "DC2"}


def test_an_export_that_names_no_controller_is_of_none_of_those_beside_it(tmp_path: Path) -> None:
    for place, (name, write) in enumerate((("a.xml", as_xml), ("viewer.csv", as_viewer), ("b.xml", as_xml))):
        events = [event(number + 100 * place, server=f"DC{place}", client=f"10.1.1.{place}:1") for number in range(50)]
        (tmp_path / name).write_text(write(events))

    found = ldapdiag("diagnose", tmp_path, "--format", "json").report

    names = {server["name"] for server in found["servers"]}
    assert names - {"DC0", "DC2"} == {tmp_path.name}
    assert {one["server"] for one in found["findings"]} == names
    streams = ldapdiag("log", tmp_path, "--format", "json").report["streams"]
    assert [len(stream["files"]) for stream in streams] == [1, 1, 1]


def test_exports_of_two_hosts_that_name_no_controller_are_both_read_however_alike(tmp_path: Path) -> None:
    for host, attribute in (("dc1", "title"), ("dc2", "company")):
        (tmp_path / host).mkdir()
        events = [event(number, f" ({attribute}=x) ") for number in range(50)]
        (tmp_path / host / "viewer.csv").write_text(as_viewer(events))

    found = ldapdiag("log", tmp_path, "--format", "json").report

    assert (len(found["streams"]), found["operations"]["search"]) == (2, 100)


def exports_of(*files: tuple[str, list[Event]], folder: Path) -> dict:
    """Return the report on exports of these events, written in these forms."""
    for number, (form, events) in enumerate(files):
        (folder / f"export-{number}").write_text(EXPORTS[form](events))
    return ldapdiag("log", folder, "--format", "json").report


def polled(many: int, server: str = "DC1") -> list[Event]:
    """Return searches of one client, an hour after each other, with costs that differ."""
    return [event(one - many, server=server, visited=20_000 + one % 97, milliseconds=one % 89) for one in range(many)]


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("many", "part"), [(40, 30), (900, 700)])
def test_a_larger_file_with_fewer_events_does_not_replace_a_whole_export(
    many: int, part: int, order: int, tmp_path: Path
) -> None:
    events = polled(many)

    found = exports_of(
        ("Event1644Reader", events[::order]), ("wevtutil", events[:part]), ("wevtutil", polled(many, "DC2")),
        folder=tmp_path,
    )  # fmt: skip

    assert found["searches"]["total"] == 2 * many
    assert [len(stream["copies_left_out"]) for stream in found["streams"]].count(1) == 1


def test_events_in_two_overlapping_exports_of_a_controller_are_said_to_count_twice(tmp_path: Path) -> None:
    events = polled(60)

    found = exports_of(("wevtutil", events[:40]), ("Event1644Reader", events[20:][::-1]), folder=tmp_path)

    assert found["searches"]["total"] == 80
    assert "an export of the same server: events in both count twice" in str(found)


def test_events_without_times_are_not_called_fast(tmp_path: Path) -> None:
    (tmp_path / "old.xml").write_text(as_xml([event(number, is_old=True) for number in range(50)]))

    (verdict,) = [
        one
        for one in ldapdiag("diagnose", tmp_path / "old.xml", "--format", "json").report["verdicts"]
        if one["check"] == "costly-search"
    ]

    assert verdict["outcome"] == "not-judged"
    assert "do not have the times" in verdict["reason"]


@pytest.mark.parametrize("of_first", [2, 4000])
def test_a_stream_with_the_events_of_several_controllers_says_that_they_are_read_as_one(of_first: int) -> None:
    events = [event(number, server="DC1") for number in range(of_first)]
    text = as_csv([*events, *(event(number, server="DC2") for number in range(9))])

    found = ldapdiag("log", "-", "--format", "json", stdin=text.encode()).report

    (said,) = found["unreliable"]
    assert "DC1" in said
    assert "DC2" in said
    assert "a stream is not read more than once" in said
