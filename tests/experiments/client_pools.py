"""Half an hour of requests by real clients with the printed settings, behind a firewall: none may be lost."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.notebook import AS_EXPECTED, Experiment
from lab.client_trial import KINDS, make_site, outcomes, start_all
from lab.laboratory import Laboratory
from lab.topology import Topology

if TYPE_CHECKING:
    from lab.real_clients import Outcome

SECONDS = 1800
LONGEST_PAUSE = 12.0
PATIENCE = 10.0
"""Seconds: a machine that does other work may delay an answer by some; a dead connection never answers."""
FEW = (0, 0.3, 3.5, 5.5, 6.3)
"""Below, between and above the timeouts; tests/live has all of SHORT, on the other server."""
SEED = 18


def run(step: str, *, small: bool) -> dict[str, str]:
    """Let every client make requests on one server, and return how many each lost."""
    pauses = FEW if small else drawn_pauses()
    with tempfile.TemporaryDirectory() as folder, Topology() as topology:
        make_site(Laboratory(Path(folder)), topology, step)
        found = outcomes(start_all(topology.app1, pauses, cured=True, patience=PATIENCE), pauses)
    lost = {kind: outcome.lost for kind, outcome in found.items() if outcome.lost}
    row = {kind: _cell(found[kind]) for kind in KINDS}
    return row | {"result": f"lost: {lost}" if lost else AS_EXPECTED}


def _cell(outcome: Outcome) -> str:
    return f"{outcome.requests} requests, {len(outcome.lost)} lost, slowest answer {outcome.slowest:.1f} s"


def drawn_pauses() -> tuple[float, ...]:
    """Return pauses that last as long as the experiment, half of them shorter than a second."""
    draw = random.Random(SEED)  # noqa: S311  the same pauses each time
    pauses: list[float] = []
    while sum(pauses) < SECONDS:
        pauses.append(round(draw.uniform(0, 1) if draw.random() < 0.5 else draw.uniform(1, LONGEST_PAUSE), 2))
    return tuple(pauses)


EXPERIMENT = Experiment(
    name="client-pools",
    title="Half an hour of requests by clients with the printed settings, all timeouts divided by 60",
    about=(
        "nslcd, JNDI's pool, python-ldap and ldap3, each with the settings that ldapdiag prints for it, make requests\n"
        "after pauses of up to 12 s on a 389-ds and a slapd with an idle timeout of 5 s, through a firewall that\n"
        "forgets connections after 6 s of silence and drops what still comes of them.\n"
        "Expected: every request is answered within 10 s. Of clients with their defaults many are not (tests/live)."
    ),
    steps=("389-ds", "openldap"),
    run=run,
    small=1,
)
