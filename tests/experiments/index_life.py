"""The life of an index on two real servers, audited with the same log all through: what is true, and what is said."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from command import ldapdiag
from experiments.notebook import AS_EXPECTED, Experiment
from lab.host import Host
from lab.index_life import NAME, VALUES, life_of_389, lives_of_slapd
from lab.laboratory import Laboratory

if TYPE_CHECKING:
    from lab.index_life import Moment

PRODUCTS = {"389-ds": (life_of_389, "dse.ldif"), "openldap": (lives_of_slapd, "config.ldif")}
LOGS = ("before", "across", "after")
ON_SCANS = frozenset({"missing-index", "index-not-built", "scan-limit-exceeded", "unindexable-filter"})
WRONG = "wrong-answers-possible"
SCANNED = frozenset({"missing", "dropped"})
"""The index is not there."""
NOT_USED = frozenset({"added", "building"})
"""It is there, and not used before its build ends or the server starts again."""
NOT_YET = frozenset({"unused", "building", "pending"})
SHOWS = frozenset({"whole errors log", "probe"})
"""Whether the answers are wrong."""


def run(step: str, *, small: bool) -> dict[str, str]:
    """Audit every state of a product with one kind of access log."""
    del small
    product, _, log = step.partition(", log from ")
    cells: list[str] = []
    lies: list[str] = []
    for moment in _life(product):
        said: dict[str, list[str]] = {}
        for beside in moment.beside:
            accused, state, silent = _audit(product, moment, log, beside)
            said.setdefault(_said(accused, state, silent=silent), []).append(beside)
            if lie := _lie(moment, beside, accused, state, silent=silent):
                lies.append(f"{moment.state}, {beside}: {lie}")
        told = "; ".join(f"{one} ({', '.join(by)})" for one, by in said.items())
        cells.append(f"**{moment.state}** ({moment.found} of {len(VALUES)} found): {told}")
    return {"states": " · ".join(cells), "result": "; ".join(lies) or AS_EXPECTED}


@cache
def _life(product: str) -> tuple[Moment, ...]:
    life, _ = PRODUCTS[product]
    with tempfile.TemporaryDirectory() as folder, Host("ldap") as host:
        host.run("echo 127.0.0.1 ldap >> /etc/hosts")
        return tuple(life(Laboratory(Path(folder)), host))


def _audit(product: str, moment: Moment, log: str, beside: str) -> tuple[set[str], str | None, bool]:
    """Return the checks on scans that accuse the index, the state of its answers, and whether neither is judged."""
    with tempfile.TemporaryDirectory() as folder:
        further = moment.beside[beside]
        for name, text in ((PRODUCTS[product][1], moment.configuration), ("access", moment.logs[log]), further):
            if name:
                (Path(folder) / name).write_text(text)
        report: dict[str, Any] = json.loads(ldapdiag("indexes", Path(folder), "--format", "json").text)
    own = [one for one in report["findings"] if NAME.lower() in str(one["observed"].get("attribute")).lower()]
    states = [one["observed"]["state"] for one in own if one["check"] == WRONG]
    judged = [one for one in report["verdicts"] if one["check"] == WRONG]
    silent = not states and not any(one["outcome"] == "not-judged" for one in judged)
    return {one["check"] for one in own} & ON_SCANS, next(iter(states), None), silent


def _said(accused: set[str], state: str | None, *, silent: bool) -> str:
    answers = f"answers {state}" if state else "answers right" if silent else "answers not judged"
    return ", ".join([*sorted(accused), answers])


def _lie(moment: Moment, beside: str, accused: set[str], state: str | None, *, silent: bool) -> str:
    """Return what is said and not true, or true and not said; empty: nothing."""
    if moment.state in SCANNED:
        return "" if accused == {"missing-index"} and state is None else "the index is missing"
    if accused - {"index-not-built"} or (accused and moment.state not in NOT_USED):
        return f"accuses {', '.join(sorted(accused))}"
    if moment.state in NOT_USED:
        return "" if state in NOT_YET or (state is None and not silent) else "it is not built, and not used yet"
    if moment.is_right:
        return "" if state is None else "its answers are right"
    if silent or state in NOT_YET:
        return "its answers are wrong"
    return "" if state is not None or beside not in SHOWS else f"the {beside} shows that its answers are wrong"


EXPERIMENT = Experiment(
    name="index-life",
    title="The life of an index, audited with the same log all through",
    about=(
        "An index of 20,000 entries on a 389-ds and a slapd: missing, added, being built, built, killed meanwhile,\n"
        "restarted, dropped, and added before a restart; audited from files in each state, with the access log from\n"
        "before the index, with the one across its life and with the one since the state began; beside it nothing, a\n"
        "probe, and on 389-ds the errors log, whole, cut after its begin, and with a gap. Expected: right answers are\n"
        "never called wrong and wrong ones never right; a whole errors log and a probe show the wrong ones; only an\n"
        "index that is not there is called missing."
    ),
    steps=tuple(f"{product}, log from {log}" for product in PRODUCTS for log in LOGS),
    run=run,
    small=1,
)
