"""The first action of the printed report on real servers: what the idle timeout does alone, then what is printed first.

OpenDJ takes part where LDAPDIAG_OPENDJ names an unpacked one (lab/opendj.py).
"""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.notebook import AS_EXPECTED, Experiment
from lab import boxes, opendj
from lab.applications import Application
from lab.desk import Desk
from lab.directory_servers import SUFFIX, Server, account, accounts
from lab.first_action import BOX_SECONDS, DEAD, Incident, leak, start_pool
from lab.host import wait_for
from lab.laboratory import Laboratory
from lab.terminal import PASSWORD, paste
from lab.topology import Topology

if TYPE_CHECKING:
    from lab.host import Host

ADDRESS = "10.77.1.2"
PRODUCTS = ("389-ds", "openldap", "opendj")
LONGEST = 480
"""Seconds after which an idle timeout of 300 s has closed whatever it reaches: slapd needs 452."""
SOON = 20


def run(step: str, *, small: bool) -> dict[str, str]:
    """Try one product; all of them run at once, because they mostly wait."""
    return _tried(step, LONGEST if not small else SOON) if small else _all()[step]


@cache
def _all() -> dict[str, dict[str, str]]:
    with ThreadPoolExecutor(len(PRODUCTS)) as pool:
        return dict(zip(PRODUCTS, pool.map(_tried_at_length, PRODUCTS), strict=True))


def _tried_at_length(product: str) -> dict[str, str]:
    """Try one product; what fails is its row, and the others go on."""
    try:
        return _tried(product, LONGEST)
    except AssertionError as error:
        return _row(result=f"failed: {' '.join(str(error).split())[:300]}")


def _tried(product: str, seconds: int) -> dict[str, str]:
    """Set the recommended idle timeout, wait, then carry out what is printed first; return what was counted."""
    if product == "opendj" and not os.environ.get("LDAPDIAG_OPENDJ"):
        return _row(result="not tried: LDAPDIAG_OPENDJ names no unpacked OpenDJ")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        incident = _incident(product, folder, stack)
        load = f"{os.getloadavg()[0]:.1f}"
        dead, before = incident.dead, incident.descriptors
        (idle,) = incident.diagnose().found("idle-timeout")
        setting = next(one for one in idle["remedies"] if "idle" in one["title"] and "keepalive" not in one["title"])
        first = incident.printed()
        began = time.monotonic()
        paste(incident.topology.ldap, f"export HOME={folder}\n{setting['text']}")
        left = _left(incident, dead, began + seconds)
        alone = f"{len(left)} of {len(dead)} left after {time.monotonic() - began:.0f} s"
        if left:
            first = incident.printed()
            incident.carry_out(first)
            wait_for(lambda: incident.descriptors <= before - DEAD, "the descriptors are not freed")
        after, cut = incident.descriptors, "none" if incident.is_nobody_cut() else "LIVE ONES CUT"
        is_first = first.commands == setting["text"]
        expected = (not left) is is_first is (product == "openldap") and cut == "none" and before - after == DEAD
        return _row(
            timeout=f"{idle['observed']['recommended_seconds']} s: {alone}",
            first=f"{first.title} (at {first.host})",
            sockets=f"{before} -> {after}",
            cut=cut,
            load=load,
            result=AS_EXPECTED if expected else "NOT AS EXPECTED",
        )


def _row(**cells: str) -> dict[str, str]:
    names = {
        "timeout": "idle timeout alone",
        "first": "printed first",
        "sockets": "sockets of the server, before and after",
        "cut": "live connections cut",
        "load": "load",
        "result": "result",
    }
    return {name: cells.get(key, "") for key, name in names.items()}


def _left(incident: Incident, dead: set[tuple[str, int]], until: float) -> set[tuple[str, int]]:
    """Wait until none of the dead is left, or until a time; return those that are."""
    while (left := dead & incident.server.held()) and time.monotonic() < until:
        time.sleep(1)
    return left


def _incident(product: str, folder: Path, stack: ExitStack) -> Incident:
    """Make the incident, with a server of a product."""
    own = folder / "laboratory"
    own.mkdir()
    laboratory = Laboratory(own)
    topology = stack.enter_context(Topology())
    for host in topology.hosts.values():
        laboratory.keys.serve(host)
    password = folder / "password"
    password.touch(mode=0o600)
    password.write_text(PASSWORD)
    desk = Desk(topology.desk, laboratory.keys.configuration(topology), password)
    server = _opendj(topology.ldap, folder, stack) if product == "opendj" else laboratory.server(product, topology.ldap)
    boxes.silent_drop(topology.fw, BOX_SECONDS)

    def start(host: Host, mode: str, *, name: str = "xyz", **settings: object) -> Application:
        return Application(host, mode, address=ADDRESS, name=account(f"application_{name}"), **settings).ready()

    pool, leaking = start_pool(topology, start), leak(topology, start)
    return Incident(topology=topology, desk=desk, server=server, leaking=leaking, pool=pool, folder=folder)


def _opendj(host: Host, folder: Path, stack: ExitStack) -> Server:
    """Start an OpenDJ with the accounts of the applications."""
    tools = folder / "tools"
    tools.mkdir()
    stack.enter_context(opendj.running(host, folder, tools, SUFFIX))
    host.run(f"cp {tools}/* /run/bin/")
    add = ["ldapadd", "-x", "-H", "ldap://ldap", "-D", opendj.MANAGER, "-w", PASSWORD]
    host.run(add, stdin=accounts())
    return Server(
        host=host, argv=["java"], administrator=opendj.MANAGER, ldapi="", log=folder / "opendj.log",
        pid_file=str(folder / "opendj" / "logs" / "server.pid"), unit="opendj.service",
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="first-action",
    title="The first action of a report, carried out",
    about=(
        "24 connections that a real firewall dropped, beside 11 live ones, all bound with ordinary accounts. First\n"
        "the recommended idle timeout alone, for 480 s; then what `ldapdiag diagnose` prints first by default, pasted\n"
        "on the host that it names. Expected: the timeout alone, on slapd what is printed first, closes all there and\n"
        "none on 389-ds and OpenDJ; in the end every dead connection is gone, each socket of the server is freed,\n"
        "and no live connection is cut."
    ),
    steps=PRODUCTS,
    run=run,
    small=1,
)
