"""What errors logs prove of the builds of an index, where lines are missing: the truth is that of a drawn history."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import facts
from incidents import diagnosed_facts, facts_in
from indexes_389 import DATABASES, LIST, index
from ldapdiag.analysis.indexes.build_history import BuildHistory
from ldapdiag.analysis.indexes.build_states import INCOMPLETE, BuildState
from ldapdiag.analysis.indexes.logged_time import Restarts, logged_time
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.logged_period import LoggedPeriod
from ldapdiag.evidence.server_log import ServerLog
from ldapdiag.evidence.server_log_formats.logged_periods import MOST, NEW_FILE, LoggedPeriods
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = datetime(2026, 11, 22, 2, tzinfo=UTC)
BANNER = "\t389-Directory/2.3.1 B2025.016.1616\n"
START, STOP = "main - 389-Directory/2.3.1 B2025.016.1616 starting up", "main - slapd stopped."
BUILT = ("bdb_db2index - userRoot: Indexing attribute: title", "bdb_db2index - userRoot: Finished indexing.")
HALF_AN_HOUR = timedelta(minutes=30)


@dataclass(frozen=True)
class History:
    """What happened to one server, an event every half an hour after its first start: the truth."""

    events: tuple[str, ...]
    """restart, build, quiet."""
    added: int
    """The index was added between the event of this number and the one before."""

    @property
    def at(self) -> datetime:
        return BEGIN + HALF_AN_HOUR * self.added + timedelta(minutes=15)

    @property
    def is_built(self) -> bool:
        return "build" in self.events[self.added :]

    @property
    def last_start(self) -> datetime:
        restarts = [place for place, one in enumerate(self.events) if one == "restart"]
        return BEGIN + HALF_AN_HOUR * (restarts[-1] + 1) if restarts else BEGIN

    def lines(self) -> list[tuple[datetime, str]]:
        """Return the whole errors log."""
        lines = [(BEGIN, START)]
        for place, one in enumerate(self.events):
            texts = {"restart": (STOP, START), "build": BUILT, "quiet": ("a - line",)}[one]
            lines += [(BEGIN + HALF_AN_HOUR * (place + 1), text) for text in texts]
        return lines


KINDS = st.sampled_from(("restart", "restart", "build", "quiet"))
EVENTS = st.lists(KINDS, max_size=8).map(lambda one: (*one, "quiet"))
HISTORIES = EVENTS.flatmap(
    lambda events: st.builds(History, events=st.just(events), added=st.integers(0, len(events) - 1))
)


def text(lines: list[tuple[datetime, str]]) -> str:
    return BANNER + "".join(f"[{at:%d/%b/%Y:%H:%M:%S} +0000] - INFO - {one}\n" for at, one in lines)


def state_of(history: History, logs: list[str], *more: Any) -> BuildState:
    """Return the state of the index, by its entry and these errors logs."""
    database = f"dn: cn=userRoot,{DATABASES}\ncn: userRoot\nnsslapd-suffix: dc=example,dc=com\n"
    times = f"createTimestamp: {history.at:%Y%m%d%H%M%SZ}"
    entry = index("nsIndexType: eq", times, attribute="title")
    texts = [f"{database}createTimestamp: 20200101000000Z\n\n{LIST}{entry}", *logs]
    read = [
        replace(fact, origin=facts.origin("ldap", f"{place}.txt"))
        for place, one in enumerate(texts)
        for fact in facts_of(one)
    ]
    (found,) = diagnosed_facts([*read, *more]).facts.every(BuildHistory)
    (one,) = found.indexes
    return one.state


@given(HISTORIES)
def test_a_whole_log_shows_the_truth(history: History) -> None:
    state = state_of(history, [text(history.lines())])
    restarted = "restart" in history.events[history.added :]
    unbuilt = BuildState.NEVER_BUILT if restarted else BuildState.UNUSED
    assert state is (BuildState.BUILT if history.is_built else unbuilt)


@given(HISTORIES, st.data())
def test_a_file_that_is_not_named_accuses_no_index_that_was_built(history: History, data: st.DataObject) -> None:
    lines = history.lines()
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(lines) - 1)] * 2)))
    files = [text(part) for part in (lines[:first], lines[last:]) if part]
    one_document = data.draw(st.booleans())
    logs = ["".join(files)] if one_document and files else files
    state = state_of(history, logs)
    event(state)
    if history.is_built:
        assert state not in INCOMPLETE | {BuildState.UNUSED}


def test_a_build_that_was_running_when_the_log_was_rotated_is_not_called_interrupted() -> None:
    """Its last line is the first one of the next file."""
    history = History(events=("build", "restart"), added=0)
    lines = history.lines()
    cut = next(at for at, (_, line) in enumerate(lines) if "Finished indexing" in line)

    assert state_of(history, [text(lines[:cut]), text(lines[cut:])]) is BuildState.UNKNOWN


@given(HISTORIES, st.data())
def test_a_time_in_which_the_server_could_not_log_is_a_gap_where_a_restart_in_it_is_known(
    history: History, data: st.DataObject
) -> None:
    """The last start is known of cn=monitor; a gap within which it was, or that begins within a process, is proved."""
    lines = history.lines()
    last = history.last_start
    begin = data.draw(st.integers(0, len(history.events)), label="the gap begins after this event")
    gap = BEGIN + HALF_AN_HOUR * begin + timedelta(minutes=1), last + timedelta(minutes=1)
    kept = [(at, one) for at, one in lines if not gap[0] <= at <= gap[1]]
    seen = f"dn: cn=monitor\nversion: 389-Directory/2.3.1 B2025.016.1616\nstarttime: {last:%Y%m%d%H%M%SZ}\n"
    now = BEGIN + HALF_AN_HOUR * 20
    monitor = facts_of(f"{seen}currenttime: {now:%Y%m%d%H%M%SZ}\ncurrentconnections: 1\n\n")
    own = [replace(fact, origin=facts.origin("ldap", "monitor.txt")) for fact in monitor]
    state = state_of(history, [text(kept)], *own)
    event(state)
    if history.is_built:
        assert state not in INCOMPLETE


def periods(*minutes: tuple[int, int], lacks: str = "") -> tuple[LoggedPeriod, ...]:
    return tuple(
        LoggedPeriod(
            begin=BEGIN + timedelta(minutes=first), end=BEGIN + timedelta(minutes=last), lacks=lacks if place else ""
        )
        for place, (first, last) in enumerate(minutes)
    )


def log(*of: LoggedPeriod, starts: tuple[int, ...] = ()) -> ServerLog:
    times = tuple(BEGIN + timedelta(minutes=one) for one in starts)
    return ServerLog(origin=facts.origin(), identity=facts.DS389, periods=of, start_times=times)


def restarts(number: int) -> Restarts:
    """Return those of an access log from the 25th minute to the 55th."""
    return Restarts(BEGIN + timedelta(minutes=25), BEGIN + timedelta(minutes=55), number)


def test_restarts_that_only_the_access_log_shows_prove_a_gap() -> None:
    quiet = periods((0, 20), (40, 41), (60, 80))
    known = logged_time([log(*quiet, starts=(0, 40))], restarts=[restarts(1)])
    assert known.covers(BEGIN, None)
    lacking = logged_time([log(*quiet, starts=(0, 40))], restarts=[restarts(2)])
    assert not lacking.covers(BEGIN, None)
    gap = lacking.gap_after(BEGIN)
    assert gap is not None
    assert "the access log shows a restart" in gap.why
    before_its_first_line = logged_time([log(*quiet, starts=(25, 40))], restarts=[restarts(2)])
    assert not before_its_first_line.covers(BEGIN, None)


def test_a_copy_of_a_log_closes_the_gap_of_another() -> None:
    cut = log(*periods((0, 20), (60, 80), lacks=NEW_FILE))
    assert not logged_time([cut]).covers(BEGIN, None)
    assert logged_time([cut, log(*periods((20, 60)))]).covers(BEGIN, None)


def test_of_very_many_periods_those_that_are_close_are_one() -> None:
    read = LoggedPeriods()
    for place in range(3 * MOST):
        if place == MOST:
            read.file()
        read.line(BEGIN + timedelta(minutes=2 * place))
    assert len(read.periods) <= MOST
    assert (read.periods[0].begin, read.periods[-1].end) == (BEGIN, BEGIN + timedelta(minutes=2 * (3 * MOST - 1)))
    assert [one.lacks for one in read.periods if one.lacks] == [NEW_FILE]


@pytest.mark.parametrize(("minute", "covered"), [(20, True), (39, True), (41, True), (21, False), (30, False)])
def test_a_task_that_the_logs_have_no_line_near_proves_a_gap(minute: int, *, covered: bool) -> None:
    logs = [log(*periods((0, 20), (40, 41), (60, 80)), starts=(0,))]
    known = logged_time(logs, tasks=[BEGIN + timedelta(minutes=minute)])
    assert known.covers(BEGIN, None) is covered


@pytest.mark.parametrize(("result", "state"), [(0, BuildState.UNKNOWN), (53, BuildState.NEVER_BUILT)])
def test_a_build_task_in_the_access_log_proves_a_gap(tmp_path: Path, result: int, state: BuildState) -> None:
    """The server did not log for a time; its access log has the task that built the index then, if it was accepted."""
    history = History(events=("quiet", "restart", "quiet"), added=1)
    (tmp_path / "access").write_text(
        "\t389-Directory/2.3.1 B2025.016.1616\n\tldap:389 (/etc/dirsrv/slapd-ldap)\n\n"
        "[22/Nov/2026:02:50:00.1 +0000] conn=1 fd=64 slot=64 connection from 10.0.0.1 to 10.0.0.9\n"
        '[22/Nov/2026:02:50:00.1 +0000] conn=1 op=1 ADD dn="cn=t-1,cn=index,cn=tasks,cn=config"\n'
        f"[22/Nov/2026:02:50:00.1 +0000] conn=1 op=1 RESULT err={result} tag=105 nentries=0 etime=0.000100000\n"
    )
    found = (one for one in facts_in(tmp_path / "access") if isinstance(one, AccessLog))
    logs = [replace(one, origin=facts.origin("ldap", "access")) for one in found]
    assert state_of(history, [text(history.lines())], *logs) is state
