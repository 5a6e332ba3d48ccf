"""The closed loop with kinds of search that nobody chose (lab/drawn_kinds.py), and with two that want the opposite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lab.drawn_directory import DrawnDirectory
from lab.drawn_incident import SERVERS, DrawnIncident, drawn_incident
from lab.drawn_kinds import DrawnKind, drawn_kinds
from lab.host import Host

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SEED, PEOPLE, KINDS, TIMES = 20270107, 5_500, 25, 3


def went_round(family: str, folder: Path, laboratory, directory: DrawnDirectory, kinds: Mapping) -> DrawnIncident:
    with Host("ldap") as host:
        host.run("echo 127.0.0.1 ldap >> /etc/hosts")
        server = SERVERS[family](directory, laboratory, host)
        return drawn_incident(server, family, folder, directory, kinds, TIMES)


@pytest.mark.parametrize("family", SERVERS)
def test_the_server_confirms_what_is_said_of_drawn_searches(laboratory, tmp_path, family) -> None:
    """With the log from before the plan nothing is asked for again; no client notices the script.

    What a new log asks for depends on times, which a busy machine makes: see tests/experiments/drawn_incident.py.
    """
    directory = DrawnDirectory(SEED, PEOPLE)
    made = went_round(family, tmp_path, laboratory, directory, drawn_kinds(directory, KINDS))
    assert made.changed == []
    assert made.unreported == []
    assert [one for one in made.asked_again if one.startswith("old log")] == []
    assert made.loop.client.failures == []


def test_what_one_search_gains_is_not_taken_from_another(laboratory, tmp_path) -> None:
    """With an index on createTimestamp, slapd takes 0.06 s less for the first kind, and 0.4 s more for the second.

    How much slower each kind is in truth, the experiment shows: here other work shares the machine.
    """
    directory = DrawnDirectory(SEED, 15_000)
    kinds = {
        "before a day": DrawnKind("(createTimestamp<={early})", directory),
        "on a day": DrawnKind("(&(createTimestamp>={day})(createTimestamp<={later}))", directory),
    } | dict(list(drawn_kinds(directory, KINDS).items())[:10])
    made = went_round("openldap", tmp_path, laboratory, directory, kinds)
    assert "createtimestamp" not in {name for _, name in made.loop.first.report.plan}
    assert made.changed == []
