"""What the text shows: colours as the option says, then the environment; findings from a severity on."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from command import INCIDENT, Ran, diagnose, ldapdiag
from histories import run, server
from ldapdiag.sources.history.recording import Bounds, record

ACCESS_LOG = Path(__file__).parents[1] / "captures" / "access-logs" / "389-pools.head500.access"
ESCAPE = re.compile(rb"\x1b\[[0-9;]*m")
SEVERITIES = ("critical", "high", "medium", "low", "info")


@cache
def everything() -> Ran:
    """Return the report on the incident as it is printed without options."""
    return diagnose(INCIDENT)


@cache
def found_severities() -> list[str]:
    """Return the severities of the findings of its JSON."""
    return [one["severity"] for one in diagnose(INCIDENT, "--format", "json").report["findings"]]


def shown(report: str) -> list[str]:
    """Return the severities of the findings of a report, in order."""
    return [word for line in report.splitlines() if (word := line.partition(" ")[0].lower()) in SEVERITIES]


def hidden(report: str) -> int:
    """Return how many findings the report says it hides."""
    lines = [line for line in report.splitlines() if line.startswith("hidden ")]
    return sum(int(line.split()[1]) for line in lines)


class TestSeverity:
    @pytest.mark.parametrize("least", SEVERITIES)
    @pytest.mark.parametrize("more", [(), ("-v",)])
    def test_every_finding_is_shown_or_counted_as_hidden(self, least: str, more: tuple[str, ...]) -> None:
        found = found_severities()
        report = diagnose(INCIDENT, "--severity", least, *more).text
        wanted = [one for one in found if SEVERITIES.index(one) <= SEVERITIES.index(least)]
        assert sorted(shown(report)) == sorted(wanted)
        assert hidden(report) == len(found) - len(wanted)

    @pytest.mark.parametrize("least", SEVERITIES)
    def test_changes_neither_the_totals_nor_the_exit_code(self, least: str) -> None:
        some = diagnose(INCIDENT, "--severity", least)
        assert some.code == everything().code == 1
        total = re.compile(r"\d+ findings? · .*")
        assert total.findall(some.text)[-1:] == total.findall(everything().text)[-1:]

    def test_leaves_the_json_as_it_is(self) -> None:
        reports = [diagnose(INCIDENT, "--format", "json", "--severity", least).report for least in ("critical", "info")]
        assert reports[0]["findings"] == reports[1]["findings"]

    def test_of_an_audit_hides_what_is_beside_the_plan(self) -> None:
        audit = ldapdiag("indexes", INCIDENT, "--severity", "critical")
        assert audit.code == ldapdiag("indexes", INCIDENT).code
        assert hidden(audit.text) == len(shown(ldapdiag("indexes", INCIDENT).text))


class TestColor:
    @pytest.mark.parametrize("command", ["diagnose", "indexes", "log", "history"])
    def test_is_as_the_option_says_else_as_the_environment(self, command: str, tmp_path: Path) -> None:
        record(tmp_path / "history", run(1, server(1, "ds1")), Bounds())
        arguments = {"log": ACCESS_LOG, "history": tmp_path / "history"}.get(command, INCIDENT)

        def coloured(*options: str, **environment: str) -> bool:
            return ESCAPE.search(ldapdiag(command, arguments, *options, environment=environment).out) is not None

        assert not coloured()
        assert coloured("--color", "always", NO_COLOR="1", TERM="dumb")
        assert coloured(FORCE_COLOR="1")
        assert not coloured("--color", "never", FORCE_COLOR="1")
        assert not coloured("--color", "auto")

    def test_goes_to_a_file_only_when_asked(self, tmp_path: Path) -> None:
        diagnose(INCIDENT, "--output", tmp_path / "a.txt", environment={"FORCE_COLOR": "1"})
        diagnose(INCIDENT, "--output", tmp_path / "b.txt", "--color", "always")
        plain, coloured = (ESCAPE.findall((tmp_path / name).read_bytes()) for name in ("a.txt", "b.txt"))
        assert (len(plain), len(coloured) > 10) == (0, True)

    def test_changes_nothing_but_colours(self) -> None:
        assert ESCAPE.sub(b"", diagnose(INCIDENT, "--color", "always").out) == diagnose(INCIDENT).out

    def test_is_never_in_json(self) -> None:
        assert json.loads(diagnose(INCIDENT, "--format", "json", "--color", "always").out)["findings"]
