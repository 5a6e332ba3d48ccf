"""Filters drawn anew, asked of real servers: what they look up and scan is what the simulation says."""

from __future__ import annotations

import os

from experiments.drawn_examples import pytest
from experiments.notebook import Experiment

SERVERS = {
    "OpenLDAP": "live/test_candidates_openldap.py",
    "389-ds": "live/test_candidates_ds389.py",
    **({"OpenDJ": "live/servers/test_opendj_indexes.py"} if "LDAPDIAG_OPENDJ" in os.environ else {}),
}
TIMES = 20


def run(step: str, *, small: bool) -> dict[str, str]:
    """Ask one server the filters of one seed, as CI does with the same ones each time."""
    return pytest(SERVERS[step.partition(", ")[0]], "ci")


EXPERIMENT = Experiment(
    name="drawn-filters",
    title="Filters drawn for real servers",
    about=(
        "Some hundred filters of each seed, drawn by tests/lab/odd_slapd.py and odd_directory.py, are asked of a\n"
        "server of the laboratory that logs how it answers; OpenDJ takes part where LDAPDIAG_OPENDJ names one.\n"
        "Expected: the simulation of its indexes says the same of each."
    ),
    steps=tuple(f"{server}, {number} of {TIMES}" for number in range(1, TIMES + 1) for server in SERVERS),
    run=run,
    small=1,
)
