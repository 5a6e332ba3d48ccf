"""The drain, live: what the report prints is pasted as it stands, the dead are gone, and nobody living is cut.

Each report is the baseline of the next one: what is cured is gone, what comes back is new, and without the table of the
clients' host nothing is known of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from lab import boxes
from lab.applications import UNANSWERED
from lab.first_action import BOX_SECONDS, DEAD, TARGETS, Incident, leak, start_pool
from lab.host import wait_for
from lab.terminal import paste

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from lab.applications import Application
    from lab.desk import Said
    from lab.host import End

GHOSTS = "ghost-connections|10.77.2.2|10.77.1.2:389"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(Incident):
    """The incident, with its reports in a folder, where each is the baseline of the next."""

    start: Callable[..., Application]

    def since(self, since: Said, *, without: Collection[str] = ()) -> Said:
        """Diagnose by all targets but some, with an earlier report as the baseline; fail on what is new or worse."""
        targets = [one for one in TARGETS if one not in without]
        options = ["--baseline", str(self._saved(since)), "--fail-on-new"]
        return self.desk.diagnose(*targets, *self.bind, "--apart", "1", *options)

    def _saved(self, said: Said) -> Path:
        file = self.folder / "before.json"
        file.write_text(json.dumps(said.report))
        return file

    def leak_again(self) -> set[End]:
        """Let app1 leave dead connections once more, and return them."""
        again = leak(self.topology, self.start)
        return again.truth().ends(UNANSWERED)

    def is_over(self, before: Said) -> Said:
        """Assert that the next diagnosis finds nobody dead, and the applications nobody cut; return it."""
        said = self.since(before)
        assert said.outcomes("ghost-connections") == {"clear"}
        (idle,) = said.found("idle-timeout")  # the box still forgets sooner than any idle timeout that is safe
        assert (idle["severity"], idle["observed"]["current_seconds"]) == ("medium", 300)
        assert idle["observed"]["box_upper_seconds"] < idle["observed"]["current_seconds"]
        assert said.alarms == set()
        assert self.is_nobody_cut()
        assert said.code == 0
        assert (idle["change"], idle["before"]["severity"]) == ("better", "high")
        assert GHOSTS in former(said, "gone")
        return said

    def is_not_seen_without_its_client(self, before: Said) -> None:
        """Assert that nothing is called gone of which no table of the clients' host shows that it is."""
        said = self.since(before, without={"ssh://app1"})
        assert GHOSTS not in former(said, "gone")
        assert GHOSTS in former(said, "not_seen")

    def is_new(self, since: Said) -> None:
        """Assert that dead connections which came back are new, and that this alone fails the gate."""
        dead = self.leak_again()
        said = self.since(since)
        assert said.ghost_ends == dead
        (ghosts,) = said.found("ghost-connections")
        assert (ghosts["id"], ghosts["change"], ghosts["before"]) == (GHOSTS, "new", None)
        assert said.code == 1
        again = self.since(said)
        assert {one["change"] for one in again.found("ghost-connections")} == {"same"}


def former(said: Said, what: str) -> set[str]:
    """Return the ids of what the baseline has and this report has not: `gone` or `not_seen`."""
    return {one["id"] for one in said.report["baseline"][what]}


@pytest.fixture
def incident(laboratory, topology, desk, start, tmp_path):
    def happened(family: str) -> Loop:
        server = laboratory.server(family, topology.ldap)
        boxes.silent_drop(topology.fw, BOX_SECONDS)
        pool, leaking = start_pool(topology, start), leak(topology, start)
        return Loop(
            topology=topology, desk=desk, server=server, leaking=leaking, pool=pool, start=start, folder=tmp_path
        )

    return happened


def test_on_389ds_the_printed_commands_close_the_dead_and_nobody_else(incident) -> None:
    """Also after an idle timeout was set, which reaches none of them: the first step is the same."""
    case = incident("389-ds")
    before = case.diagnose()
    assert before.code == 1
    assert before.ghost_ends == case.dead
    (limit,) = settings(before, "limit: ")
    paste(case.topology.ldap, limit["text"])
    assert f"nsslapd-idletimeout: {advised(before)}" in paste(case.topology.ldap, limit["verify"])
    assert case.dead <= case.server.held()

    first, held, descriptors = case.printed(), case.server.held(), case.descriptors
    assert first.title == f"drain: close the {DEAD} dead connections from 10.77.2.2 now"
    assert case.carry_out(first).count("10.77.2.2") == DEAD
    assert held - case.server.held() == case.dead
    wait_for(lambda: case.descriptors == descriptors - DEAD, "the server does not free their descriptors")
    after = case.is_over(before)
    case.is_not_seen_without_its_client(before)
    case.is_new(after)


def test_on_openldap_the_idle_timeout_alone_drains(incident) -> None:
    """The first step says 300 seconds, which no test can wait for (`make experiments ONLY=first-action` does).

    So it is pasted as printed, and the server asked whether it took it; then the same text with a second less than the
    dead have rested, which shows whom an idle timeout closes; then, for the next diagnosis, as printed again.
    """
    case = incident("openldap")
    before = case.diagnose()
    assert before.code == 1
    assert before.ghost_ends == case.dead
    (remedy,) = settings(before, "drain: ")

    seconds, first = advised(before), case.printed()
    case.carry_out(first)
    assert f"olcIdleTimeout: {seconds}" in paste(case.topology.ldap, remedy["verify"])
    shortened = first.commands.replace(f"olcIdleTimeout: {seconds}", f"olcIdleTimeout: {BOX_SECONDS}")
    paste(case.topology.ldap, shortened)
    wait_for(lambda: not case.dead & case.server.held(), "the idle timeout does not close the dead")
    case.carry_out(first)
    after = case.is_over(before)
    case.is_not_seen_without_its_client(before)
    case.is_new(after)


def settings(said: Said, step: str) -> list[dict[str, Any]]:
    """Return the remedies of a step against idle connections, in the order in which they are printed."""
    (idle,) = said.found("idle-timeout")
    assert idle["severity"] == "high"
    return [remedy for remedy in idle["remedies"] if remedy["title"].startswith(step)]


def advised(said: Said) -> int:
    """Return the idle timeout that the report recommends, in seconds."""
    (idle,) = said.found("idle-timeout")
    return idle["observed"]["recommended_seconds"]
