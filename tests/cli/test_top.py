"""ldapdiag top: why it does not begin, what `w` writes, what is recorded and replayed."""

from __future__ import annotations

from contextlib import chdir
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from command import INCIDENT, ldapdiag
from histories import minutes
from ldapdiag.cli import top
from ldapdiag.cli.collecting import Binding, Collecting
from ldapdiag.cli.destinations import Output
from ldapdiag.cli.diagnose import Recording
from ldapdiag.cli.judging_options import Detail, Gate, Judging
from ldapdiag.cli.option_groups import Given
from ldapdiag.cli.repeated_diagnosis import RepeatedDiagnosis
from ldapdiag.errors import UsageError
from ldapdiag.live_view.judged import judged
from ldapdiag.sources.gathering import gather
from ldapdiag.sources.history.recorded_runs import read
from ldapdiag.sources.live.socket_watch import TABLES, Tables
from ldapdiag.sources.logs.log_watch import LocalFiles, LogWatch
from live_views import Stage, monitored

if TYPE_CHECKING:
    from pathlib import Path


def test_without_a_terminal_it_names_diagnose() -> None:
    ran = ldapdiag("top", "ldap://127.0.0.1:1")
    assert (ran.code, "ldapdiag diagnose" in "\n".join(ran.complaints)) == (2, True)


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ([str(INCIDENT)], "diagnose reads the others"),
        (["ssh://app1"], "name it, ldap://HOST"),
        (["ldap://127.0.0.1:1", "-"], "name the file of the log"),
    ],
)
def test_what_it_cannot_watch(evidence: list[str], reason: str, monkeypatch) -> None:
    monkeypatch.setattr(top, "_require_terminal", lambda: None)
    ran = ldapdiag("top", *evidence)
    assert (ran.code, reason in "\n".join(ran.complaints)) == (2, True)


def test_without_textual_it_says_how_to_install_it(monkeypatch) -> None:
    monkeypatch.setattr("ldapdiag.extras.find_spec", lambda _: None)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match=r"ldapdiag\[top\]|\[top\]"):
        top._require_terminal()


def test_w_writes_the_last_diagnosis(tmp_path: Path) -> None:
    stage = Stage()
    with chdir(tmp_path):
        assert "no diagnosis" in top._write(stage.model)
        incident = ldapdiag("diagnose", INCIDENT, "--format", "json").report
        for number in range(4):
            stage.report = {**incident}
            stage.holds(monitored(7 + number, "10.77.2.2"))
            stage.pass_seconds(1)
            for readings in (stage.server.readings, stage.server.ghosts):
                readings[-1] = replace(readings[-1], time=minutes(number))
        said = top._write(stage.model)
    (page,) = tmp_path.iterdir()
    assert page.name in said
    assert "ldap://ds1" in page.read_text()  # the charts of the minutes before
    assert "Ghost connections" in page.read_text()
    assert "no longer exist on app1" in page.read_text()


@pytest.fixture
def shown(monkeypatch) -> list[Any]:
    """Return the models that would be on the terminal."""
    models: list[Any] = []
    monkeypatch.setattr(top, "_require_terminal", lambda: None)
    monkeypatch.setattr(top, "_run", lambda model, *_: models.append(model))
    return models


def test_a_replay_of_a_capture_and_a_history(shown: list[Any], tmp_path: Path) -> None:
    history = tmp_path / "history"
    ldapdiag("diagnose", INCIDENT, "--record", history)
    ran = ldapdiag("top", "--replay", INCIDENT, history)
    assert (ran.code, [f"{INCIDENT}" in line for line in ran.complaints]) == (0, [True, False])
    (replay,) = shown
    assert [one.report is None for one in replay.moments] == [False, True]
    assert len({one.at for one in replay.moments}) == 1
    assert replay.report["taken_at"] == replay.now.isoformat().replace("+00:00", "Z")
    (server,) = replay.servers
    assert {row.name: row.ends.ghosts for row in server.clients() if row.ends} == {"10.77.2.2": 268, "10.77.3.2": 0}
    replay.step(1)
    assert (server.current, server.judged.used) == (310, 335)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([], "name captures"),
        (["ldap://ds1"], "no live target"),
        (["nothing"], "nothing in it can be judged"),
        ([f"{number}.tar" for number in range(201)], "at most 200"),
        (["x", "--record", "y"], "a replay collects nothing"),
    ],
)
def test_what_cannot_be_replayed(shown: list[Any], files: list[str], reason: str) -> None:
    ran = ldapdiag("top", "--replay", *files)
    assert (ran.code, shown, reason in "\n".join(ran.complaints)) == (2, [], True)


def test_tables_beside_the_evidence_of_a_diagnosis_give_the_same_ends() -> None:
    """Those of the diagnosis itself, so that nothing else differs."""
    asked = Judging(Output(), Detail(), Gate(), Collecting(Binding(), Given(None, "")), quiet=True)
    options = asked.collecting.options(asked.notices)
    diagnoses = RepeatedDiagnosis([str(INCIDENT)], asked, options, Event(), Recording(None), ())
    report, facts = diagnoses.next(), gather([str(INCIDENT)]).facts
    tables = Tables(facts=tuple(one for one in facts if isinstance(one, TABLES)), gaps=())
    look = diagnoses.sockets(SimpleNamespace(look=lambda: tables))  # type: ignore[arg-type]  of it no more is asked
    clients, names, why = look.clients("ldap", is_only=True)
    assert (clients, names, why) == (judged(report, "ldap").clients, {"ldap"}, "")
    assert clients["10.77.2.2"].ghosts == 268
    assert sum(one.verdict == "ghost" for one in look.sockets(names, "10.77.2.2")) == 268


def test_each_diagnosis_is_recorded(tmp_path: Path) -> None:
    said: list[str] = []
    history = tmp_path / "history"
    asked = Judging(Output(), Detail(), Gate(), Collecting(Binding(), Given(None, "")), quiet=True)
    options = asked.collecting.options(asked.notices)
    diagnoses = RepeatedDiagnosis([str(INCIDENT)], asked, options, Event(), Recording(history), ())
    diagnoses.say = said.append
    reports = [diagnoses.next() for _ in range(2)]
    assert len(read(history).runs) == 1  # evidence of one time is one run
    assert [sum(one["fact"] == "history" for one in report["evidence"]) for report in reports] == [0, 1]
    history.unlink()
    history.mkdir()
    assert diagnoses.next()["findings"]
    assert "cannot record" in said[0]


def test_a_log_that_two_servers_follow_is_counted_once(tmp_path: Path) -> None:
    """ldap:// and ldaps:// of one server are two; the log may have two names."""
    at = f"[{datetime.now(UTC):%d/%b/%Y:%H:%M:%S}.000000000 +0000] conn=1 op=1"
    search = f'{at} SRCH base="dc=x" scope=2 filter="(uid=a)"\n{at} RESULT err=0 tag=101 nentries=0 etime=0.1\n'
    (tmp_path / "access").write_text(search * 9)
    (tmp_path / "link").symlink_to(tmp_path / "access")
    logs = [LogWatch(partial(LocalFiles, [str(tmp_path / name)], ""), Event()) for name in ("access", "link")]
    counted = [sum(one.look().workload.segment.operations) for one in logs]
    asked = Judging(Output(), Detail(), Gate(), Collecting(Binding(), Given(None, "")), quiet=True)
    diagnoses = RepeatedDiagnosis([], asked, asked.collecting.options(asked.notices), Event(), Recording(None), logs)
    assert [sum(one.segment.operations) for one in diagnoses._followed()] == counted[:1]  # type: ignore[attr-defined]  access logs
    assert counted[0]
