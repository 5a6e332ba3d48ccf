"""A site in order, as facts: what gathering would read there where nothing is wrong.

Two snapshots of `ldap` and its clients, ten minutes apart, the log of a day, and a firewall that drops nothing.
"""

from __future__ import annotations

import facts
import storage_facts as disk
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.host_facts import DescriptorCount, KernelSettings, ProcessLimits
from ldapdiag.evidence.log.operation_kinds import MODIFY
from ldapdiag.evidence.sockets import Timer
from ldapdiag.evidence.storage import KernelErrors
from sick_site import LATER, indexes
from traffic import UID, Log

IDLE = 2_000
"""Milliseconds since a socket last received data."""
POOLS = {facts.APP1: 10, facts.APP2: 12, facts.OTHER: 11}
DAY, VISITS, SEARCHES = 86_400, 200, 20

INDEXES = """\
dn: cn=uid,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: uid
nsIndexType: eq
createTimestamp: 20260101000000Z

dn: cn=config,cn=ldbm database,cn=plugins,cn=config
nsslapd-idlistscanlimit: 4000

dn: cn=userRoot,cn=ldbm database,cn=plugins,cn=config
nsslapd-suffix: dc=example
createTimestamp: 20260101000000Z

"""


def access_log() -> AccessLog:
    """Return the log of a day of quick searches and writes on connections that are used, and closed by UNBIND."""
    log = Log()
    for visit in range(VISITS):
        number = log.opens(facts.APP1 if visit % 2 else facts.APP2, when=visit * DAY / VISITS)
        log.binds(number, mechanism=b"GSSAPI")
        for op in range(1, SEARCHES):
            log.searches(number, op, UID, base=b"dc=example")
        log.operates(number, SEARCHES, MODIFY, b"uid=joe,ou=people,dc=example")
        log.closes(number)
    return log.fact()


def bundle() -> Bundle:
    """Return everything that was read at the site."""
    ages = {"last_received": IDLE, "timer": Timer.KEEPALIVE}
    at_server = [row for client, count in POOLS.items() for row in facts.at_server(count, client, **ages)]
    listener = facts.listening(receive_queue=0, send_queue=128)
    read = [
        *(facts.table([listener, *at_server], taken=moment) for moment in (0, LATER)),
        *(
            facts.table(facts.at_client(count, client, **ages), f"app{number}", taken=moment)
            for number, (client, count) in enumerate(POOLS.items(), 1)
            for moment in (0, LATER)
        ),
        facts.monitor(threads=16, busy_threads=1, queued_operations=0, connections_at_max_threads=0),
        Configuration(origin=facts.origin(name="cn-config.ldif"), identity=facts.DS389, idle_timeout_seconds=300),
        ProcessLimits(origin=facts.origin(name="limits.txt"), open_files_soft=20_000, open_files_hard=20_000),
        DescriptorCount(origin=facts.origin(name="fds.txt"), open=67),
        facts.settings(max=262_144, tcp_timeout_established=3600),
        *(
            KernelSettings(
                origin=facts.origin(f"app{number}", "sysctl.txt"),
                values={"net.ipv4.ip_local_port_range": "32768\t60999"},
            )
            for number in range(1, len(POOLS) + 1)
        ),
        facts.flows(at_server),
        access_log(),
        *indexes("ldap", INDEXES),
        disk.settings(),
        *disk.SAFE,
        *(
            disk.space(mount_point, used_bytes=3 << 30, free_bytes=7 << 30, total_inodes=655_360, free_inodes=600_000)
            for mount_point in ("/", "/var/lib/dirsrv")
        ),
        disk.extents(extents=20),
        KernelErrors(origin=facts.origin(name="dmesg.txt"), errors=(), lines_read=1200, from_boot=True),
    ]
    return Bundle(facts=tuple(facts.nobodys(fact) for fact in read))
