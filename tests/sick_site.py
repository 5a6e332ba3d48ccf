"""A site with every disease in the catalogue, as facts: what gathering would read there.

Two looks at `ldap` and its clients, ten minutes apart. app1's connections were forgotten by the firewall, app2 holds
many it does not use, and other clients do what they should not. A new check makes the site sick with its own disease.
"""

from __future__ import annotations

import facts
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.host_facts import DescriptorCount, ProcessLimits
from ldapdiag.evidence.sockets import Timer
from traffic import DISPLAY_NAME, Log

HOUR = 3_600_000
LATER = 600

LIVING = facts.at_server(200, facts.APP2, last_received=HOUR, timer=Timer.KEEPALIVE)
GHOSTS = facts.at_server(150, facts.APP1, last_received=HOUR, timer=Timer.KEEPALIVE, probes=5)
STRANDED = facts.at_client(20, facts.APP1, first=60000, last_received=HOUR)

PROXY, DIALLED = "10.77.5.1", "10.77.5.2"
HELD = facts.at_server(12, PROXY, first=45000, last_received=HOUR)
"""A proxy has them for app1, which no longer knows of them."""
GONE = [facts.row(f"{facts.APP1}:{46000 + number}", f"{DIALLED}:389") for number in range(12)]


def server_rows() -> list[facts.Row]:
    """Return the server's sockets, the same at each look."""
    return [
        facts.listening(receive_queue=5, send_queue=4),
        *GHOSTS,
        *LIVING,
        *HELD,
        *facts.at_server(12, facts.OTHER, state=facts.TcpState.CLOSE_WAIT),
        *facts.at_server(3, facts.OTHER, first=50000, send_queue=1000, timer=Timer.PERSIST, last_received=HOUR),
    ]


def access_log() -> AccessLog:
    """Return the log of a day in which everything happened that clients should not do."""
    log = Log()
    log.visits(1200, facts.OTHER, every=0.5, code=b"B1")
    log.visits(30, "10.77.6.1", asks=False)
    log.refuses(50, client=facts.APP2)
    for number in range(25):
        log.refuses(4, f"uid=user{number},dc=example".encode(), "10.77.6.2")
    asking = log.opens()
    for op in range(40):
        log.searches(asking, op, DISPLAY_NAME, took=2.0, notes=b"A", wait=0.5)
    return log.fact()


def bundle() -> Bundle:
    """Return everything that was read at the site."""
    alive = [facts.row(f"{facts.APP2}:{one.key[3]}", f"{facts.LDAP}:389", last_received=HOUR) for one in LIVING]
    told = [
        *(facts.table(server_rows(), taken=moment) for moment in (0, LATER)),
        *(facts.table(STRANDED, "app1", taken=moment) for moment in (0, LATER)),
        *(facts.table(alive, "app2", taken=moment) for moment in (0, LATER)),
        facts.monitor(threads=16, busy_threads=16, queued_operations=20, connections_at_max_threads=1),
        Configuration(origin=facts.origin(name="cn-config.ldif"), identity=facts.DS389, idle_timeout_seconds=0),
        ProcessLimits(origin=facts.origin(name="limits.txt"), open_files_soft=400, open_files_hard=400),
        DescriptorCount(origin=facts.origin(name="fds.txt"), open=395),
        facts.settings(max=200, tcp_timeout_established=30),
        facts.flows(LIVING),
        facts.sessions(HELD, GONE, taken=LATER),
        access_log(),
    ]
    return Bundle(facts=tuple(facts.nobodys(fact) for fact in told))
