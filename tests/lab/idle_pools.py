"""A pool that is idle altogether, behind a firewall that may have dropped all of it; and its healthy twins.

What became of the pool is asked of the application, after everything was captured: each connection sends a request.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab import boxes, by_hand
from lab.applications import OPEN
from lab.host import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lab.desk import Desk
    from lab.topology import Topology

COUNT = 20
CHECK = "severed-connections"
TARGETS = ("ssh://ldap", "ssh://app1", "ssh://fw")
DIRECTION = "10.77.2.2 -> 10.77.1.2:389"
FLUSH = "conntrack -F"
LOOSE = (
    "table inet loose { chain forward { type filter hook forward priority 0; ct state new,established accept; }; }\n"
)
STATELESS = "table inet stateless { chain forward { type filter hook forward priority 0; tcp dport 390 drop; }; }\n"
VERDICT_MAP = """
table inet fw4 {
  chain forward {
    type filter hook forward priority filter; policy drop;
    ct state vmap { established : accept, related : accept, invalid : drop }
    tcp flags & (fin | syn | rst | ack) == syn tcp dport { 22, 389, 636 } accept comment "drop accept"
    reject with icmpx admin-prohibited
  }
}
"""


def _strict(topology: Topology, seconds: int = 3600) -> None:
    boxes.silent_drop(topology.fw, seconds)


def _rules(text: str, *, loose: int) -> Callable[[Topology], None]:
    def put_up(topology: Topology) -> None:
        topology.fw.run(["nft", "-f", "-"], stdin=text)
        topology.fw.sysctl(net__netfilter__nf_conntrack_tcp_loose=loose)

    return put_up


def _behind_nat(topology: Topology) -> None:
    boxes.snat(topology.fw, ports="kept")
    _strict(topology)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A firewall, what happens to it after the pool is open, and the outcome that is right of a run and a capture."""

    box: Callable[[Topology], None]
    then: str = ""
    """A command on the firewall."""
    rest: float = 4
    """Seconds for which the pool is idle afterwards."""
    count: int = COUNT
    used: int = 0
    """Further connections of the same host that are used all the time, and were opened before."""
    lives: bool
    """The pool answers when it is used again."""
    live: frozenset[str]
    """The outcomes that are right."""
    files: frozenset[str] | None = None
    """The same of files by hand, where they show less."""


FOUND, CLEAR, EITHER = frozenset({"certain"}), frozenset({"clear"}), frozenset({"clear", "not-judged"})
OPEN_QUESTION = frozenset({"not-judged"})

CASES = {
    "flushed, strict": Case(box=_strict, then=FLUSH, lives=False, live=FOUND),
    "expired": Case(box=lambda topology: _strict(topology, 2), lives=False, live=FOUND),
    "one connection": Case(box=_strict, then=FLUSH, count=1, lives=False, live=FOUND),
    "flushed, verdict map, loose": Case(box=_rules(VERDICT_MAP, loose=1), then=FLUSH, lives=False, live=FOUND),
    "flushed, NAT": Case(box=_behind_nat, then=FLUSH, lives=False, live=FOUND | OPEN_QUESTION),
    "partly used": Case(
        box=_strict, then="conntrack -D -p tcp -s 10.77.2.2 --dport 389", used=3, lives=False, live=FOUND
    ),
    "alive": Case(box=_strict, lives=True, live=CLEAR),
    "flushed, loose": Case(box=_rules(LOOSE, loose=1), then=FLUSH, lives=True, live=CLEAR),
    "stateless": Case(box=_rules(STATELESS, loose=1), lives=True, live=CLEAR),
    "no rules": Case(box=lambda _: None, lives=True, live=CLEAR),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a case showed: outcomes, the application's own account, and the reports by way of capture."""

    live: str
    files: str
    lives: bool
    reports: dict[str, dict[str, Any]]

    def wrong(self, case: Case) -> str:
        """Return what is not as expected; empty if all is."""
        expected = {"live": case.live, "files": case.files or case.live}
        wrong = [
            f"{way}: {got}" for way, got in (("live", self.live), ("files", self.files)) if got not in expected[way]
        ]
        return "; ".join([*wrong, *(["the pool itself"] if self.lives != case.lives else [])])


def tried(case: Case, topology: Topology, desk: Desk, start: Callable[..., Any], folder: Path) -> Result:
    """Set a case up, diagnose it live and from files by hand, and use the pool."""
    case.box(topology)
    pool = start(topology.app1, "held", count=case.count, patience=2)
    if case.used:
        start(topology.app1, "pool", name="foo", count=case.used, every=0.3)
    time.sleep(1)
    if case.then and not case.used:
        topology.fw.run(case.then)
    elif case.then:
        for _, port in pool.truth().ends(OPEN):
            topology.fw.run(f"{case.then} --sport {port}")
    time.sleep(case.rest)
    if case.box is CASES["expired"].box:
        wait_for(
            lambda: "ESTABLISHED" not in topology.fw.attempt("conntrack -L -p tcp --dport 389").stdout, "not expired"
        )
    for host, heading in (
        (topology.fw, by_hand.FIREWALL), (topology.app1, by_hand.CLIENT), (topology.ldap, by_hand.SERVER),
    ):  # fmt: skip
        by_hand.capture(host, heading, folder)
    said = desk.diagnose(*TARGETS, "--apart", "0.3")
    files = read(folder)
    pool.order("use")
    lives = pool.truth().fates == {OPEN: case.count}
    return Result(
        live=outcome(said.report, case), files=outcome(files, case), lives=lives,
        reports={"live": said.report, "files": files},
    )  # fmt: skip


def read(folder: Path, *options: str) -> dict[str, Any]:
    """Return the report on files, by a run on this machine itself."""
    command = [sys.executable, "-m", "ldapdiag", "diagnose", str(folder), "--format", "json", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


def outcome(report: dict[str, Any], case: Case) -> str:
    """Return the confidence of a finding on exactly the pool, or else the worst outcome."""
    found = [one for one in report["findings"] if one["check"] == CHECK]
    if found:
        count = sum(one["observed"]["severed"] for one in found)
        return found[0]["confidence"] if count == case.count else f"{count} severed"
    outcomes = {one["outcome"] for one in report["verdicts"] if one["check"] == CHECK}
    return "not-judged" if "not-judged" in outcomes else "clear" if outcomes == {"clear"} else f"{sorted(outcomes)}"
