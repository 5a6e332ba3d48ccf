"""Events 1644 in every form of export, compared with the list that they were made of."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.log import event_exports
from ldapdiag.evidence.log.envelope import decoded
from ldapdiag.evidence.log.envelopes import EVENTS_CSV
from ldapdiag.evidence.log.operation_kinds import SEARCH
from ldapdiag.sources.logs.access_log import ScannedLogs, read
from log.windows_events import EXPORTS, FORMS, NEW, OLD, as_csv, as_messages, as_viewer, as_xml, event
from log_lines import period

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WRITTEN = ("Event1644Reader", "wevtutil", "PowerShell 5.1")
"""Forms that Windows PowerShell also writes as UTF-16."""
TRUTH = (
    event(0),
    event(
        5, " (objectClass=user) ", visited=1500, used="idx_objectClass:1500:N;", preventing="none", client="Internal"
    ),
    event(10, client="[fe80::1337:db0:abcd:4ca9%6]:54493", milliseconds=12),
    event(15, ' (cn=a"b,c;d\t<&>) ', scope="onelevel", base="OU=x,DC=a,DC=b", used="PDNT_index:56:N; idx_cn:3:N;"),
)


def reading(path: Path, text: str, encoding: str = "utf-8") -> ScannedLogs:
    path.write_bytes(text.encode(encoding))
    return read([str(path)])


def searches(logs: ScannedLogs) -> dict[tuple[bytes, bytes, int], tuple]:
    """Return the counts by shape: results, milliseconds, returned, first and last second, by indexes the visits."""
    (stream,) = logs.streams
    segment = stream.counts.finished()
    assert segment.misread == 0, segment.samples
    return {
        key: (row.requests, row.etime // 10**6, row.entries, row.first // 10**9, row.last // 10**9, dict(row.reported))
        for key, row in segment.shapes.items()
    }


def requesters(logs: ScannedLogs) -> set[tuple[bytes, bytes]]:
    (stream,) = logs.streams
    return {(client, account) for _, _, client, account, _ in stream.counts.finished().attribution}


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Return the counts of the list, of the form that needs no culture; test_the_truth has its numbers."""
    return searches(reading(tmp_path_factory.mktemp("truth") / "events.xml", as_xml(TRUTH)))


def test_the_truth_is_that_of_the_list(truth: dict) -> None:
    first = int(TRUTH[0].time.timestamp())
    use = (b"DNT_index", b"sn")
    assert truth == {
        (b"(&(cn=?)(sn<=?))", b"DC=a,DC=b", 2): (
            2, 1653, 2, first, first + 36_000, {use: [2, 1_653_000_000, 2, 418_738, 209_369, 2974, 42, 188_336]}
        ),
        (b"(objectClass=user)", b"DC=a,DC=b", 2): (
            1, 1641, 1, first + 18_000, first + 18_000,
            {(b"idx_objectClass", b""): [1, 1_641_000_000, 1, 1500, 1500, 1487, 21, 1500]},
        ),
        (b"(cn=?)", b"OU=x,DC=a,DC=b", 1): (
            1, 1641, 1, first + 54_000, first + 54_000,
            {(b"PDNT_index idx_cn", b"sn"): [1, 1_641_000_000, 1, 209_369, 209_369, 1487, 21, 59]},
        ),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("form", "encoding"),
    [*((form, "utf-8") for form in EXPORTS), *((form, "utf-16") for form in WRITTEN), ("semicolons", "utf-8-sig")],
)
def test_every_form_gives_the_truth(form: str, encoding: str, truth: dict, tmp_path: Path) -> None:
    logs = reading(tmp_path / "events", EXPORTS[form](TRUTH), encoding)

    assert searches(logs) == truth
    assert requesters(logs) == {
        (b"10.1.1.1", b"A\\svc"),
        (b"Internal", b"A\\svc"),
        (b"fe80::1337:db0:abcd:4ca9%6", b"A\\svc"),
    }


@pytest.mark.parametrize("form", EXPORTS)
def test_a_search_of_the_whole_forest_has_an_empty_base_in_every_form(form: str, tmp_path: Path) -> None:
    found = searches(reading(tmp_path / "events", EXPORTS[form]([event(number, base="") for number in range(3)])))

    assert {key[1]: row[0] for key, row in found.items()} == {b"": 3}


@pytest.mark.parametrize(
    ("culture", "form"),
    [*((culture, as_csv) for culture in FORMS), ("de-DE", as_messages), ("ko-KR", as_viewer), ("en-GB", as_viewer)],
)
def test_every_culture_gives_the_truth(culture: str, form: object, truth: dict, tmp_path: Path) -> None:
    grouped = {"grouped": True} if form is as_csv else {}

    assert searches(reading(tmp_path / "events.csv", form(TRUTH, culture=culture, **grouped))) == truth


def test_columns_are_found_by_their_names(truth: dict, tmp_path: Path) -> None:
    other = [
        {"SearchScope": "ScopeOfSearch", "SearchTimeMS": "SearchTime", "ClientIP": "Client"}.get(one, one)
        for one in OLD
    ]
    mixed = [*reversed(OLD)]

    assert searches(reading(tmp_path / "one.csv", as_csv(TRUTH, header=other))) == truth
    assert searches(reading(tmp_path / "two.csv", as_csv(TRUTH, mixed))) == truth


@pytest.mark.parametrize("columns", [OLD, NEW])
def test_a_file_cut_at_both_ends_has_the_rows_between(columns: list[str], tmp_path: Path) -> None:
    text = as_csv([event(number) for number in range(9)], columns)
    head = text.index("(cn=x)")

    (stream,) = reading(tmp_path / "cut.csv", text[head : text.rindex("subtree") - 50]).streams

    segment = stream.counts.finished()
    assert (segment.misread, sum(row.requests for row in segment.shapes.values())) == (2, 7)


@pytest.mark.parametrize("form", ["wevtutil", "wevtutil, a line each", "Event Viewer, XML", "Winlogbeat", "NXLog"])
@pytest.mark.parametrize("end", ["1644", "DC1", "1487", "svc"])
def test_the_event_in_which_a_file_ends_is_counted(form: str, end: str, tmp_path: Path) -> None:
    text = EXPORTS[form]([event(number) for number in range(3)])

    (stream,) = reading(tmp_path / "cut", text[: text.rindex(end) - 3]).streams

    segment = stream.counts.finished()
    assert (segment.misread, sum(row.requests for row in segment.shapes.values())) == (1, 2)


@pytest.mark.parametrize("form", ["Event1644Reader", "wevtutil", "NXLog", "PowerShell 5.1"])
def test_old_events_have_neither_time_nor_indexes(form: str, tmp_path: Path) -> None:
    old = event(is_old=True)
    (stream,) = reading(tmp_path / "old", EXPORTS[form]([old, old])).streams

    (row,) = stream.counts.finished().shapes.values()
    assert (row.requests, row.entries, row.etime) == (2, 2, 0)
    assert dict(row.reported) == {(b"", b""): [2, 0, 2, 418_738, 209_369, 0, 0, 0]}


def test_other_events_are_passed_over(tmp_path: Path) -> None:
    others = as_xml([event()] * 5, number=1138)

    (stream,) = reading(tmp_path / "events.xml", others + as_xml([event()]) + others).streams

    segment = stream.counts.finished()
    assert (segment.misread, segment.operations[SEARCH]) == (0, 1)
    assert not reading(tmp_path / "others.xml", others).streams


def test_truncated_and_forged_events_are_not_understood(tmp_path: Path) -> None:
    whole = as_xml([event()])
    broken = ["<Event><System><EventID>1644</EventID></System></Event>", whole.replace("subtree", "up"), whole[:200]]

    (stream,) = reading(tmp_path / "events.xml", "x" * 10_000 + whole[-200:] + whole * 5 + "".join(broken)).streams

    segment = stream.counts.finished()
    assert (segment.misread, segment.operations[SEARCH]) == (4, 5)


@pytest.mark.parametrize("form", ["Event1644Reader", "Get-WinEvent | Export-Csv", "wevtutil", "NXLog", "PowerShell 7"])
def test_each_controller_in_a_file_is_a_server(form: str, tmp_path: Path) -> None:
    """But in CSV and text of the Event Viewer, which has no name of the computer."""
    events = [event(number, server=f"DC{number % 2}.x.test", milliseconds=100 + number) for number in range(40)]

    streams = reading(tmp_path / "events", EXPORTS[form](events)).streams

    assert {stream.counted().stream.server for stream in streams} == {"DC0.x.test", "DC1.x.test"}
    sums = sorted(sum(row.etime for row in stream.counts.finished().shapes.values()) // 10**6 for stream in streams)
    assert sums == [sum(range(100, 140, 2)), sum(range(101, 140, 2))]


def test_controllers_with_clocks_and_cultures_of_their_own_in_one_folder(tmp_path: Path) -> None:
    one = [event(number, server="DC1") for number in range(0, 60, 12)]
    two = [event(number, server="DC2") for number in range(5, 65, 12)]
    (tmp_path / "one.csv").write_text(as_csv(one, culture="en-US"))
    (tmp_path / "two.csv").write_text(as_csv(two, culture="en-GB", delimiter=";", grouped=True))
    (tmp_path / "three.xml").write_text(as_xml([event(number, server="DC3") for number in (2, 14)]))

    logs = read([str(tmp_path)])

    found = {stream.stream.instance: stream.counts.finished() for stream in logs.streams}
    assert {name: (one.operations[SEARCH], one.first_time, one.last_time) for name, one in found.items()} == {
        name.encode(): (len(own), *(int(each.time.timestamp()) * 10**9 for each in (own[0], own[-1])))
        for name, own in (("DC1", one), ("DC2", two), ("DC3", [event(2), event(14)]))
    }


def test_dates_that_contradict_each_other_are_refused_with_the_next_step(tmp_path: Path) -> None:
    head, row = as_csv([event(1)], culture="en-GB").splitlines()
    other = as_csv([event(2)], culture="en-US").splitlines()[1]

    refused = reading(tmp_path / "both.csv", f"{head}\n{row}\n{other}\n")

    assert not refused.streams
    assert "dates of two cultures" in refused.not_logs[0].reason


@pytest.mark.parametrize(
    ("culture", "first"), [("en-US", "month"), ("en-GB", "day"), ("es-MX", "day"), ("nl-NL", "day")]
)
def test_dates_that_nothing_decides_are_read_as_mostly_written_and_that_is_said(
    culture: str, first: str, tmp_path: Path
) -> None:
    fifth = event(-15 * 24)

    (stream,) = reading(tmp_path / "one.csv", as_csv([fifth, fifth], culture=culture)).streams

    assert stream.counts.finished().first_time == int(fifth.time.timestamp()) * 10**9
    assert f"read with the {first} first" in " ".join(stream.notes)


@pytest.mark.parametrize("form", ["Event1644Reader", "wevtutil", "NXLog"])
def test_a_period_of_events_that_are_written_newest_first(form: str, tmp_path: Path) -> None:
    (tmp_path / "events").write_text(EXPORTS[form]([event(number) for number in range(200, 0, -1)]))
    since, until = (int(event(number).time.timestamp()) * 10**9 for number in (121, 130))

    (stream,) = read([str(tmp_path / "events")], period=period(since, until)).streams

    assert stream.counts.finished().operations[SEARCH] == 10


@pytest.mark.parametrize("form", [as_csv, as_xml])
def test_controllers_with_the_same_events_are_no_copies(form: Callable[..., str], tmp_path: Path) -> None:
    for name in ("DC1", "DC2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "events").write_text(form([event(number, server=name) for number in range(30)]))

    assert len(read([str(tmp_path)]).streams) == 2


CSV_OF_MANY = as_csv([event(number, f' (cn="{number},\n;") ') for number in range(12)]).encode()


@given(st.lists(st.integers(0, len(CSV_OF_MANY)), max_size=5))
def test_a_table_is_decoded_wherever_its_data_are_divided(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(CSV_OF_MANY)]
    decoder = EVENTS_CSV.decoder()
    parts = [decoder.feed(CSV_OF_MANY[begin:end]) for begin, end in itertools.pairwise(places)]

    assert b"".join([*parts, decoder.finish()]) == decoded(EVENTS_CSV, CSV_OF_MANY)


def test_a_missing_quotation_mark_does_not_keep_the_rest_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_exports, "ENOUGH_TO_BEGIN", 1 << 10)
    monkeypatch.setattr(event_exports, "MOST_OF_ROW", 1 << 14)
    head, *rows = as_csv([event(number) for number in range(9)]).encode().splitlines(keepends=True)
    decoder = EVENTS_CSV.decoder()
    decoder.feed(head + b'"DC1","11/20/2026 8:54:04 AM","10.1\n')
    most = 0
    for _ in range(30):
        decoder.feed(b"".join(rows))
        most = max(most, len(decoder._rest))  # type: ignore[attr-defined]

    assert len(b"".join(rows)) < most <= event_exports.MOST_OF_ROW + len(b"".join(rows))
    assert decoder.feed(b"".join(rows) * 30).count(b'"event 1644"') > 30
