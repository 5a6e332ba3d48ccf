"""A hundred kinds of search on a directory, both drawn from a seed, before and after the printed plan."""

from __future__ import annotations

import tempfile
from pathlib import Path

from experiments.notebook import AS_EXPECTED, Experiment
from lab.drawn_directory import DrawnDirectory
from lab.drawn_incident import LONG, SERVERS, DrawnIncident, drawn_incident
from lab.drawn_kinds import drawn_kinds
from lab.host import Host
from lab.laboratory import Laboratory
from lab.predicted_times import Prediction, predictions

SEEDS = (20270611,)
PEOPLE, KINDS, TIMES = 20_000, 100, 15
SMALL_PEOPLE, SMALL_KINDS, SMALL_TIMES = 6_000, 20, 5
RIGHT, BOUNDED = 0.9, 0.95
"""The shares of predictions within a factor of two, and within their interval."""


def run(step: str, *, small: bool) -> dict[str, str]:
    """Close the loop on one server with one seed, and say what the server contradicts."""
    family, _, seed = step.partition(", seed ")
    people, kinds, times = (SMALL_PEOPLE, SMALL_KINDS, SMALL_TIMES) if small else (PEOPLE, KINDS, TIMES)
    with tempfile.TemporaryDirectory() as folder, Host("ldap") as host:
        host.run("echo 127.0.0.1 ldap >> /etc/hosts")
        directory = DrawnDirectory(int(seed), people)
        server = SERVERS[family](directory, Laboratory(Path(folder)), host)
        made = drawn_incident(server, family, Path(folder), directory, drawn_kinds(directory, kinds), times)
    plan = made.loop.first.report.plan
    rows = predictions(made.kinds, made.loop.first, made.loop.second)
    long = [one for one in rows if one.after >= LONG]
    right = [one for one in long if one.is_right]
    bounded = [one for one in long if one.least <= one.after <= one.most]
    wrong = {
        "scan, not reported": made.unreported,
        "planned, not quicker": made.not_quicker,
        "another answer": made.changed,
        "asked again": made.asked_again,
        "refused meanwhile": [str(one) for one in made.loop.client.failures],
    }
    if not small and (len(right) < RIGHT * len(long) or len(bounded) < BOUNDED * len(long)):
        wrong["predictions"] = [f"{one.kinds} ({one.after / one.expected:.2f})" for one in long if one not in right]
    said = "; ".join(f"{what}: {', '.join(several)}" for what, several in wrong.items() if several)
    return {
        "plan": ", ".join(f"{name} {'+'.join(sorted(types))}" for (_, name), types in plan.items()),
        "seconds of searches": f"{_total(made, 0):.1f} before, {_total(made, 1):.1f} after",
        f"predictions of {LONG * 1e3:.0f} ms or more": f"{len(right)} of {len(long)} within a factor of 2, "
        f"{len(bounded)} within their interval",
        "planned kinds: before, predicted, after (ms)": " · ".join(map(_times, _ordered(rows, made))),
        "twice as slow": ", ".join(_slower(made, name) for name in made.slower) or "none",
        "result": said or AS_EXPECTED,
    }


def _ordered(rows: list[Prediction], made: DrawnIncident) -> list[tuple[Prediction, str]]:
    ordered = sorted(rows, key=lambda one: -one.after)
    return [(one, made.kinds[one.kinds.split()[0]].filter) for one in ordered]


def _times(row: tuple[Prediction, str]) -> str:
    one, text = row
    return f"{one.kinds} `{text}` {one.before * 1e3:.1f}, {one.expected * 1e3:.2f}, {one.after * 1e3:.2f}"


def _slower(made: DrawnIncident, name: str) -> str:
    before, after = made.seconds(name)
    return f"{name} `{made.kinds[name].filter}` {before * 1e3:.1f}, {after * 1e3:.1f} ms"


def _total(made: DrawnIncident, which: int) -> float:
    records = (made.loop.first, made.loop.second)[which].records
    return sum(one.etime for several in records.values() for one in several)


EXPERIMENT = Experiment(
    name="drawn-incident",
    title="A hundred kinds of search drawn from a seed, before and after the printed script",
    about=(
        "A directory of 28,000 entries (tests/lab/drawn_directory.py) and a hundred kinds of search\n"
        "(tests/lab/drawn_kinds.py) are drawn from a seed that nothing was tuned to: which attributes people have,\n"
        "how their values spread, what slapd indexes, which attribute a filter names, base, scope, account, pages\n"
        "and sort keys. Each kind is searched for five persons three times, before and after the script that\n"
        "`indexes --script` prints.\n"
        "Expected: each scan is reported, each planned kind is quicker, none finds anything else, no later audit\n"
        "asks for an index or calls one of the plan unused, with the new log and with the old one; of the kinds that\n"
        "take 2 ms or more afterwards, 90 % take within a factor of two of what was predicted, 95 % within the\n"
        "printed interval."
    ),
    steps=tuple(f"{family}, seed {seed}" for seed in SEEDS for family in SERVERS),
    run=run,
)
