"""Connections that have died, or stand still, each way in which they do, and the healthy twin of each.

Whether they are dead is asked of their application after everything was captured: it sends a request on each.
"""

from __future__ import annotations

import html
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from lab import boxes, by_hand, idle_pools
from lab.applications import OPEN, Application
from lab.desk import Said
from lab.directory_servers import PASSWORD, SUFFIX, account
from lab.host import Host, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack
    from pathlib import Path

    from lab.desk import Desk
    from lab.laboratory import Laboratory
    from lab.topology import Topology

COUNT, USED, LIVE = 20, 6, 3
STANDS = 2.5
"""Seconds; a socket that is in CLOSE-WAIT for 2 s is not just closing."""
CARRIED = 10.5
"""Seconds; what arrived through a forwarding program within 10 s came from a client."""
OLD = 11
"""Seconds; an age excludes a connection that was opened between two tables from 10 s on."""
FOREVER = 600
"""Seconds, of which none passes: a client that waits for its answer longer than the case."""
FORMATS = {"text": "txt", "json": "json", "html": "html", "markdown": "md"}
TUNNEL = 1389
SEVERED, GHOSTS, HELD = "severed-connections", "ghost-connections", "proxy-held-connections"
WAITING, FULL = "close-wait-backlog", "descriptor-headroom"
TITLES = {
    SEVERED: "no longer exists? at", GHOSTS: "no longer exists? on", HELD: "whose client is gone",
    WAITING: r"keeps \d+ connections?.* open", FULL: "run out of descriptors",
}  # fmt: skip
"""What only the title of such a finding contains."""
NUMBERS = {SEVERED: "severed", GHOSTS: "ghosts", HELD: "connections", WAITING: "connections"}
STATES = "conntrack -L -p tcp --dport 389 -o save 2>/dev/null"
DROP = "table inet outage { chain leave { type filter hook output priority 0; tcp dport 389 drop; }; }"
REPLICATION = f"""syncrepl rid=1 provider=ldap://10.77.1.2 type=refreshAndPersist retry="5 +" searchbase="{SUFFIX}"
  bindmethod=simple binddn="cn=admin,{SUFFIX}" credentials={PASSWORD}
"""
PROXY = f"""include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_ldap
pidfile /run/slapd/slapd.pid
database ldap
suffix {SUFFIX}
uri ldap://10.77.1.2
conn-pool-max 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What the maker of a case made."""

    works: Callable[[], bool]
    """Use the connections: do they work?"""
    count: int = COUNT
    hosts: tuple[str, ...] = ("ldap", "app1", "fw")
    firewalls: tuple[str, ...] = ("fw",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A network without a server, and where to diagnose it."""

    topology: Topology
    laboratory: Laboratory
    desk: Desk
    folder: Path
    kept: ExitStack
    """What has to be ended with the network."""

    def start(self, name: str, mode: str, *, address: str = "10.77.1.2", **settings: object) -> Application:
        """Start an application on a host, and wait until it is ready."""
        host = self.topology.hosts[name]
        return Application(host, mode, address=address, name=account("application_xyz"), **settings).ready()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is made, and what is right to report of it."""

    make: Callable[[Site], Made]
    check: str
    works: bool = False
    outcomes: frozenset[str] = field(default=frozenset({"certain", "likely"}))
    files: frozenset[str] | None = None
    """The same of files by hand, where they show less."""


def answers(application: Application, count: int = COUNT) -> bool:
    """Return whether a request is answered on each of its connections."""
    application.order("use")
    return application.truth().fates == {OPEN: count}


def retransmitting(host: Host) -> int:
    """Return how many connections of a client have unanswered segments."""
    shown = host.run(["ss", "-Htno", "state", "established", "dport", "=", ":389"])
    return sum("timer:(on," in line and not line.endswith(",0)") for line in shown.splitlines())


# Idle altogether


def idle_pool(site: Site, *, box: Callable[[Topology], None], then: str = "", address: str = "10.77.1.2") -> Made:
    """Let a pool be idle behind a firewall, to which something happens."""
    if ":" in address:
        site.topology.add_ipv6()
    box(site.topology)
    site.laboratory.slapd(site.topology.ldap)
    pool = site.start("app1", "held", count=COUNT, patience=2, address=address)
    time.sleep(1)
    if then:
        site.topology.fw.run(then)
    time.sleep(4)
    return Made(works=partial(answers, pool))


def two_routers(site: Site, *, drops: str = "") -> Made:
    """Put app1 behind app2, a firewall as well: both track its connections, and one of them drops what it tracks."""
    topology = site.topology
    topology.move_behind("app1", "app2")
    for host in (topology.fw, topology.app2):
        boxes.silent_drop(host, 3600)
    site.laboratory.slapd(topology.ldap)
    pool = site.start("app1", "held", count=COUNT, patience=2)
    time.sleep(1)
    if drops:
        topology.hosts[drops].run(idle_pools.FLUSH)
    time.sleep(4)
    return Made(works=partial(answers, pool), hosts=("ldap", "app1", "fw", "app2"), firewalls=("fw", "app2"))


def consumer(site: Site, *, then: str = "") -> Made:
    """Let a slapd on app1 replicate from the server and wait for changes: one connection, idle."""
    topology = site.topology
    boxes.silent_drop(topology.fw, 3600)
    provider = site.laboratory.slapd(
        topology.ldap, configuration="moduleload syncprov\n", database="index entryUUID,entryCSN eq\noverlay syncprov"
    )
    replica = site.laboratory.slapd(topology.app1, database=REPLICATION)
    changed = f"dn: {account('application_foo')}\nchangetype: modify\nreplace: description\ndescription: %s\n"

    def arrives(text: str, seconds: float) -> bool:
        provider.modify(changed % text)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if f"description: {text}" in replica.search(account("application_foo"), "description"):
                return True
            time.sleep(0.2)
        return False

    assert arrives("first", 60), "the consumer does not replicate"
    time.sleep(1)
    if then:
        topology.fw.run(then)
    time.sleep(4)
    return Made(works=lambda: arrives("second", 8), count=1)


def ldap_proxy(site: Site, *, then: str = "") -> Made:
    """Let a slapd with back-ldap on app1 pass a search on; its connection is idle then, until the next."""
    topology = site.topology
    boxes.silent_drop(topology.fw, 3600)
    server = site.laboratory.slapd(topology.ldap)
    topology.app1.run("mkdir -p /run/slapd; cat > /run/slapd/proxy.conf", stdin=PROXY)
    topology.app1.start(["slapd", "-d", "0", "-f", "/run/slapd/proxy.conf", "-h", "ldap://127.0.0.1:389/"])
    wait_for(lambda: any(row[0] == "LISTEN" for row in topology.app1.sockets()), "slapd does not listen")
    search = ["timeout", "8", "ldapsearch", "-x", "-H", "ldap://127.0.0.1", "-b", SUFFIX, "-s", "base", "1.1"]

    def passes() -> bool:
        return topology.app1.attempt(search).returncode == 0

    assert passes(), "back-ldap does not pass a search on"
    assert len(server.held()) == 1
    time.sleep(1)
    if then:
        topology.fw.run(then)
    time.sleep(4)
    return Made(works=passes, count=1)


# Failover


def fail_over(topology: Topology, *, synchronised: bool = False) -> Host:
    """Move all addresses to a second firewall, which gets the first one's entries or not; return the first."""
    second, states = Host("fw", uptime_seconds=86_400), topology.fw.run(STATES)
    boxes.silent_drop(second, 3600)
    if synchronised:
        second.run("conntrack -R /dev/stdin", stdin=states)
    return topology.fail_over(second)


def failover(site: Site, *, synchronised: bool = False, used: int = USED) -> Made:
    """Let a second firewall take over, and the application use some of its connections."""
    topology = site.topology
    boxes.silent_drop(topology.fw, 3600)
    site.laboratory.slapd(topology.ldap)
    busy = site.start("app1", "held", count=used, patience=30 if synchronised else FOREVER)
    idle = site.start("app1", "held", count=COUNT - used, patience=2)
    first = fail_over(topology, synchronised=synchronised)
    site.kept.callback(first.stop)
    site.laboratory.keys.serve(topology.fw)
    if synchronised:
        assert answers(busy, used)
    elif used:
        busy.begin("use")
        wait_for(lambda: retransmitting(topology.app1) >= used, "the client does not retransmit")
    time.sleep(OLD)
    return Made(works=partial(answers, idle, COUNT - used))


# CLOSE-WAIT


def server_stands(site: Site) -> Made:
    """Stop the server; its clients close."""
    server = site.laboratory.slapd(site.topology.ldap)
    boxes.silent_drop(site.topology.fw, 3600)
    pool = site.start("app1", "held", count=COUNT)
    server.host.run(f"kill -STOP {server.pid}")
    pool.order("close")
    wait_for(lambda: len(site.topology.ldap.ends("CLOSE-WAIT")) == COUNT, "the server gets no FIN")
    time.sleep(STANDS)

    def closes() -> bool:
        time.sleep(STANDS)
        return not site.topology.ldap.ends("CLOSE-WAIT")

    return Made(works=closes)


def client_stands(site: Site) -> Made:
    """Let the server close what is idle; the application does not."""
    site.laboratory.slapd(site.topology.ldap, configuration="idletimeout 2\n")
    boxes.silent_drop(site.topology.fw, 3600)
    site.start("app1", "held", count=COUNT)
    wait_for(lambda: len(site.topology.app1.ends("CLOSE-WAIT")) == COUNT, "the server closes nothing")
    time.sleep(STANDS)
    return Made(works=lambda: not site.topology.app1.ends("CLOSE-WAIT"))


def churn(site: Site, *, family: str = "openldap") -> Made:
    """Open and close 200 connections a second: some are in CLOSE-WAIT at any time, none for long."""
    site.laboratory.server(family, site.topology.ldap)
    boxes.silent_drop(site.topology.fw, 3600)
    busy = site.start("app1", "churn", rate=200, life=0.1)
    time.sleep(3)
    return Made(works=lambda: set(busy.truth().fates) <= {OPEN, "unbound"})


# A client that is gone


def made_again(site: Site, *, closed: bool = False) -> Made:
    """Crash the client's host, or let it close first; the same address has a younger process then."""
    topology = site.topology
    boxes.silent_drop(topology.fw, 86_400)
    server = site.laboratory.slapd(topology.ldap)
    first = site.start("app1", "held", count=COUNT)
    lost = first.truth().ends(OPEN)
    time.sleep(STANDS)
    if closed:
        first.order("close")
        first.end()
    else:
        site.laboratory.keys.serve(topology.reboot("app1", uptime_seconds=86_400))
    again = site.start("app1", "pool", count=LIVE, every=0.5)
    lost -= again.truth().ends(OPEN)  # a port may be used again, which ends the connection that had it
    return Made(works=lambda: not lost & server.held(), count=len(lost))


def killed(site: Site) -> Made:
    """Kill the application while its packets are dropped; another process of its host connects."""
    topology = site.topology
    boxes.silent_drop(topology.fw, 86_400)
    server = site.laboratory.slapd(topology.ldap)
    first = site.start("app1", "held", count=COUNT)
    lost = first.truth().ends(OPEN)
    kill_in_an_outage(topology.app1, first)
    again = site.start("app1", "pool", count=LIVE, every=0.5)
    lost -= again.truth().ends(OPEN)  # a port may be used again, which ends the connection that had it
    return Made(works=lambda: not lost & server.held(), count=len(lost))


def kill_in_an_outage(host: Host, application: Application) -> None:
    """Kill an application while its packets get nowhere; its host goes on."""
    host.run(["nft", "-f", "-"], stdin=DROP)
    time.sleep(STANDS)
    application.process.end(signal.SIGKILL)
    wait_for(lambda: not host.ends("FIN-WAIT-1"), "the kernel does not give the killed one's sockets up", seconds=60)
    host.run("nft delete table inet outage")


# Forwarding programs


def forward_by_ssh(laboratory: Laboratory, topology: Topology) -> None:
    """Let app1 reach the server by `ssh -L` through app2."""
    ssh = ["ssh", "-F", str(laboratory.keys.configuration(topology)), "-N", "-L", f"{TUNNEL}:10.77.1.2:389", "app2"]
    topology.app1.start(ssh)
    wait_for(lambda: any(row[0] == "LISTEN" for row in topology.app1.sockets(TUNNEL)), "ssh does not listen")


def by_ssh(site: Site) -> str:
    """Forward by ssh, and return the address to connect to."""
    forward_by_ssh(site.laboratory, site.topology)
    return "127.0.0.1"


def by_socat(site: Site) -> str:
    """Let socat on app2 forward to the server."""
    site.topology.app2.start(["socat", f"TCP-LISTEN:{TUNNEL},fork,reuseaddr", "TCP:10.77.1.2:389"])
    return "10.77.3.2"


def by_haproxy(site: Site) -> str:
    """Let HAProxy on app2 forward to the server."""
    boxes.proxy(site.topology.app2, 3600, port=TUNNEL)
    return "10.77.3.2"


def forwarded(site: Site, *, by: Callable[[Site], str], gone: bool = False, used: bool = False) -> Made:
    """Let a program on app2 carry connections of app1; that crashes, or uses them or not."""
    topology = site.topology
    server = site.laboratory.slapd(topology.ldap)
    boxes.silent_drop(topology.fw, 3600)
    address = by(site)
    listening = topology.app1 if address == "127.0.0.1" else topology.app2
    wait_for(lambda: any(row[0] == "LISTEN" for row in listening.sockets(TUNNEL)), "nothing listens")
    use = {"mode": "pool", "every": 2} if used else {"mode": "held"}
    pool = site.start("app1", count=COUNT, address=address, port=TUNNEL, **use)
    time.sleep(STANDS)
    if gone:
        site.laboratory.keys.serve(topology.reboot("app1"))
    time.sleep(CARRIED)
    works = (lambda: not server.held()) if gone else partial(answers, pool)
    return Made(works=works, hosts=("ldap", "app1", "app2", "fw"))


# Descriptors


def crowd(site: Site, *, family: str = "openldap", limit: int) -> Made:
    """Let 250 clients connect to a server with so many descriptors."""
    ldap = site.topology.ldap
    boxes.silent_drop(site.topology.fw, 3600)
    if family == "openldap":
        site.laboratory.slapd(ldap, descriptors=limit)
    else:
        site.laboratory.ds389(ldap, settings={"nsslapd-maxdescriptors": str(limit)})
    coming = site.start("app1", "crowd", count=250, patience=20)
    return Made(works=lambda: sum(1 for one in coming.truth().sockets if one["answered"]) == 250, count=250)


IPV6 = "fd77:1::2"
CLEAR, CERTAIN = frozenset({"clear"}), frozenset({"certain"})
strict, flush = idle_pools.CASES["alive"].box, idle_pools.FLUSH
loose = idle_pools.CASES["flushed, loose"].box

CASES = {
    "IPv6, flushed": Case(
        make=partial(idle_pool, box=strict, then=flush, address=IPV6), check=SEVERED, outcomes=CERTAIN
    ),
    "failover, no sync, 6 of 20 used": Case(make=failover, check=SEVERED),
    "failover, no sync, all idle": Case(make=partial(failover, used=0), check=SEVERED),
    "failover, synchronised": Case(
        make=partial(failover, synchronised=True), check=SEVERED, works=True, outcomes=CLEAR
    ),
    "idle pool, flushed": Case(make=partial(idle_pool, box=strict, then=flush), check=SEVERED, outcomes=CERTAIN),
    "idle pool, alive": Case(make=partial(idle_pool, box=strict), check=SEVERED, works=True, outcomes=CLEAR),
    "idle pool, flushed, loose": Case(
        make=partial(idle_pool, box=loose, then=flush), check=SEVERED, works=True, outcomes=CLEAR
    ),
    "IPv6, alive": Case(make=partial(idle_pool, box=strict, address=IPV6), check=SEVERED, works=True, outcomes=CLEAR),
    "two routers, the inner one drops": Case(make=partial(two_routers, drops="fw"), check=SEVERED),
    "two routers, the outer one drops": Case(make=partial(two_routers, drops="app2"), check=SEVERED),
    "two routers, alive": Case(make=two_routers, check=SEVERED, works=True, outcomes=CLEAR),
    "syncrepl consumer, flushed": Case(make=partial(consumer, then=flush), check=SEVERED),
    "syncrepl consumer, alive": Case(make=consumer, check=SEVERED, works=True, outcomes=CLEAR),
    "back-ldap, flushed": Case(make=partial(ldap_proxy, then=flush), check=SEVERED),
    "back-ldap, alive": Case(make=ldap_proxy, check=SEVERED, works=True, outcomes=CLEAR),
    "CLOSE-WAIT, server stands": Case(make=server_stands, check=WAITING),
    "CLOSE-WAIT, client stands": Case(make=client_stands, check=WAITING),
    "CLOSE-WAIT, churn, slapd": Case(make=churn, check=WAITING, works=True, outcomes=CLEAR),
    "CLOSE-WAIT, churn, 389-ds": Case(make=partial(churn, family="389-ds"), check=WAITING, works=True, outcomes=CLEAR),
    "client host crashed": Case(make=made_again, check=GHOSTS),
    "application killed in an outage": Case(make=killed, check=GHOSTS),
    "application closed and restarted": Case(
        make=partial(made_again, closed=True), check=GHOSTS, works=True, outcomes=CLEAR
    ),
    "ssh -L, client gone": Case(make=partial(forwarded, by=by_ssh, gone=True), check=HELD),
    "ssh -L, idle": Case(make=partial(forwarded, by=by_ssh), check=HELD, works=True, outcomes=CLEAR),
    "socat, client gone": Case(make=partial(forwarded, by=by_socat, gone=True), check=HELD),
    "socat, in use": Case(make=partial(forwarded, by=by_socat, used=True), check=HELD, works=True, outcomes=CLEAR),
    "HAProxy, client gone": Case(make=partial(forwarded, by=by_haproxy, gone=True), check=HELD),
    "HAProxy, in use": Case(make=partial(forwarded, by=by_haproxy, used=True), check=HELD, works=True, outcomes=CLEAR),
    "slapd at its limit": Case(make=partial(crowd, limit=150), check=FULL),
    "389-ds at its limit": Case(make=partial(crowd, family="389-ds", limit=200), check=FULL),
    "slapd below its limit": Case(make=partial(crowd, limit=1024), check=FULL, works=True, outcomes=CLEAR),
}
"""Each with its siblings and its healthy twins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a case showed: outcomes live and of files by hand, and whether the connections work."""

    count: int
    live: str
    files: str
    works: bool

    def wrong(self, case: Case) -> str:
        """Return what is not as expected; empty if all is."""
        expected = {"live": case.outcomes, "files": case.files or case.outcomes}
        wrong = [
            f"{way}: {got}" for way, got in (("live", self.live), ("files", self.files)) if got not in expected[way]
        ]
        return "; ".join([*wrong, *(["the connections themselves"] if self.works != case.works else [])])


def tried(case: Case, site: Site) -> Result:
    """Make a case, diagnose it live and from files by hand, in each format, and use its connections.

    A firewall's table is taken first: a connection without an entry in a later one may have ended before it.
    """
    made = case.make(site)
    app1 = site.topology.app1  # somebody is logged in: a table without a connection may be one of listeners alone
    app1.start(["socat", f"TCP:{site.topology.address('desk')}:22", "SYSTEM:sleep 600"])
    wait_for(lambda: app1.ends("ESTAB", port=22), "app1 has no other connection")
    for name in sorted(made.hosts, key=lambda name: name not in made.firewalls):
        ends = {"ldap": (by_hand.SERVER,), "fw": ()}.get(name, (by_hand.CLIENT,))
        for heading in (*ends, *([by_hand.FIREWALL] if name in made.firewalls else [])):
            by_hand.capture(site.topology.hosts[name], heading, site.folder / "hand")
    sessions = f"echo 'show sess all' | socat stdio {boxes.ADMIN_SOCKET} > {site.folder}/hand/app2/show-sess-all.txt"
    site.topology.app2.attempt(f"! test -S {boxes.ADMIN_SOCKET} || {sessions}")
    site.topology.ldap.attempt(f"cp /var/log/dirsrv/slapd-*/errors {site.folder}/hand/ldap")
    outputs = [part for ending in FORMATS.values() for part in ("-o", str(site.folder / f"live.{ending}"))]
    site.desk.run("diagnose", *(f"ssh://{name}" for name in made.hosts), "--apart", "2.5", *outputs)
    live = outcome(site.folder, "live", case.check, made.count)
    outputs = [part for ending in FORMATS.values() for part in ("-o", str(site.folder / f"files.{ending}"))]
    command = [sys.executable, "-m", "ldapdiag", "diagnose", str(site.folder / "hand"), *outputs]
    subprocess.run(command, check=False, capture_output=True)
    files = outcome(site.folder, "files", case.check, made.count)
    return Result(count=made.count, live=live, files=files, works=made.works())


def outcome(folder: Path, name: str, check: str, count: int) -> str:
    """Return the confidence of a finding on exactly so many, or the worst outcome; and which format does not agree."""
    said = Said(0, json.loads((folder / f"{name}.json").read_text()), "")
    found = said.found(check)
    states = said.outcomes(check)
    if found:
        number = NUMBERS.get(check)
        counted = sum(one["observed"][number] for one in found) if number else count
        verdict = found[0]["confidence"] if counted == count else f"{counted} found"
    else:
        verdict = "not-judged" if "not-judged" in states else "clear" if states == {"clear"} else f"{sorted(states)}"
    alarms = said.alarms - ({check} if found else set())
    differ = [form for form in FORMATS if _is_shown(folder / f"{name}.{FORMATS[form]}", check, said) is not bool(found)]
    return " ".join([
        verdict, *([f"but {sorted(alarms)}"] if verdict == "clear" and alarms else []),
        *([f"not so in {', '.join(differ)}"] if differ else []),
    ])  # fmt: skip


def _is_shown(file: Path, check: str, said: Said) -> bool:
    """Return whether a report in some format has the titles of what was found, or any of such a title."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".html":
        text = re.sub(r"<(style|script)\b.*?</\1>|<[^>]+>", "", text, flags=re.DOTALL)
    plain = " ".join(html.unescape(text).replace("\\", "").split())
    titles = [one["title"] for one in said.found(check)]
    return all(title in plain for title in titles) if titles else re.search(TITLES[check], plain) is not None
