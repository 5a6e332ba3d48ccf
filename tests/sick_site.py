"""A site with every disease in the catalogue, as facts: what gathering would read there.

Two looks at `ldap` and its clients, ten minutes apart. app1's connections were forgotten by the firewall, app2 holds
many it does not use, and other clients do what they should not. A new check makes the site sick with its own disease.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import facts
import storage_facts as disk
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.bundle import Bundle
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.host_facts import DescriptorCount, KernelSettings, ProcessLimits
from ldapdiag.evidence.ldap_probe import LdapProbe, ProbeOutcome
from ldapdiag.evidence.log.operation_kinds import MODIFY
from ldapdiag.evidence.log.sorting import Sorting
from ldapdiag.evidence.sockets import Timer
from ldapdiag.evidence.storage import DeviceError, KernelErrors
from ldapdiag.evidence.storage.settings import Role
from reading import facts_of
from traffic import DISPLAY_NAME, Log

HOUR = 3_600_000
LATER = 600

LIVING = facts.at_server(200, facts.APP2, last_received=HOUR, timer=Timer.KEEPALIVE)
GHOSTS = facts.at_server(150, facts.APP1, last_received=HOUR, timer=Timer.KEEPALIVE, probes=5)
SEVERED = facts.at_server(12, facts.APP2, first=50000, last_received=HOUR)
"""Both ends have these; the firewall does not, and drops the requests in them."""
STRANDED = facts.at_client(20, facts.APP1, first=60000, last_received=HOUR)

PROXY, DIALLED = "10.77.5.1", "10.77.5.2"
HELD = facts.at_server(12, PROXY, first=45000, last_received=HOUR)
"""A proxy keeps these connections for app1, where they no longer exist."""
GONE = [facts.row(f"{facts.APP1}:{46000 + number}", f"{DIALLED}:389") for number in range(12)]


def server_rows() -> list[facts.Row]:
    """Return the server's sockets, the same in each snapshot."""
    return [
        facts.listening(receive_queue=5, send_queue=4),
        *GHOSTS,
        *LIVING,
        *SEVERED,
        *HELD,
        *facts.at_server(12, facts.OTHER, state=facts.TcpState.CLOSE_WAIT),
        *facts.at_server(
            3, facts.OTHER, first=50000, send_queue=1000, timer=Timer.PERSIST, busy=HOUR, last_received=HOUR
        ),
    ]


def access_log() -> AccessLog:
    """Return the log of a day in which everything happened that clients should not do."""
    log = Log()
    log.visits(10_000, facts.OTHER, every=9.0, code=b"B1")
    log.visits(30, "10.77.6.1", asks=False)
    log.visits(30, "10.77.6.3", every=60, code=b"T1", lives=20)
    log.refuses(50, client=facts.APP2)
    for number in range(25):
        log.refuses(4, f"uid=user{number},dc=example".encode(), "10.77.6.2")
    asking = log.opens()
    for op in range(40):
        log.searches(asking, op, DISPLAY_NAME, took=2.0, notes=b"A", wait=0.5)
    for op, (filter_, notes, entries) in enumerate(SCANS, 40):
        log.searches(asking, op, filter_, took=1.0, notes=notes, entries=entries, base=b"dc=example")
    log.searches(
        asking, 50, b"(objectClass=device)", took=60.0, notes=b"U", base=b"dc=example", sorting=Sorting(b"cn", 6000, 0)
    )
    for op in range(51, 81):
        log.operates(asking, op, MODIFY, b"uid=joe,ou=people,dc=example", took=4.0)
        log.binds(asking, op=op + 50, took=2.0, mechanism=b"GSSAPI")
    for op in range(200, 300):
        log.operates(asking, op, MODIFY, b"cn=all,ou=groups,dc=example", took=0.025)
    return log.fact()


INDEXES = """\
dn: cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: index

dn: cn=uid,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: uid
nsIndexType: eq

dn: cn=objectClass,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: objectClass
nsIndexType: eq

dn: cn=cn,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: cn
nsIndexType: eq
nsIndexType: sub

dn: cn=mail,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: mail
nsIndexType: eq

dn: cn=member,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: member
nsIndexType: eq
nsIndexType: sub

dn: cn=gidNumber,cn=index,cn=userRoot,cn=ldbm database,cn=plugins,cn=config
cn: gidNumber
nsIndexType: eq
createTimestamp: 20261120050000Z
creatorsName: cn=ldbm database,cn=plugins,cn=config

dn: cn=attribute uniqueness,cn=plugins,cn=config
nsslapd-pluginInitfunc: NSUniqueAttr_Init
nsslapd-pluginEnabled: on
uniqueness-attribute-name: title

dn: cn=config,cn=ldbm database,cn=plugins,cn=config
nsslapd-idlistscanlimit: 4000

dn: cn=userRoot,cn=ldbm database,cn=plugins,cn=config
nsslapd-suffix: dc=example
createTimestamp: 20260101000000Z

"""
SCANS = (
    (DISPLAY_NAME, b"A", 1),
    (b"(objectClass=person)", b"A", 6000),
    (b"(!(uid=joe))", b"A", 1),
    (b"(cn=j*)", b"A", 1),
    (b"(mail=joe@example)", b"A", 1),
    (b"(noSuchThing=1)", b"F", 0),
)
"""Filters, what the server notes of them, and how many entries they return: one each of what may be wrong."""


def indexes(host: str, text: str) -> list[Any]:
    """Return what is read of a server's indexes."""
    return [replace(fact, origin=facts.origin(host, "dse.ldif")) for fact in facts_of(text)]


def storage() -> list[Any]:
    """Return what is read of the server's disks: no barriers, by a hidden default, and all else that may be wrong."""
    mounts = disk.table(disk.mount(options="rw"), disk.mount("nfs4", mount_point="/nas", source="nas:/x", device="0:9"))
    failed = DeviceError(device="sdb", what="I/O error", text="I/O error, dev sdb, sector 4711 op 0x1:(WRITE)")
    return [
        disk.settings(
            (Role.DATABASE, disk.DATABASE), (Role.TRANSACTION_LOG, disk.DATABASE), (Role.CHANGELOG, "/nas/changelog")
        ),
        mounts,
        disk.devices(),
        disk.in_force("nobarrier"),
        disk.extents(extents=900),
        disk.space(used_bytes=10 << 30, free_bytes=0),
        KernelErrors(origin=facts.origin(name="dmesg.txt"), errors=(failed,), lines_read=1200, from_boot=True),
    ]


def busy_storage(host: str) -> list[Any]:
    """Return what is read of a server with many changes, whose database and log are on one volume."""
    log = Log()
    log.opens(when=0)
    for op in range(600):
        log.operates(1, op, MODIFY, b"uid=joe,ou=people,dc=example", took=0.001)
    log.opens(when=20)
    given = [disk.settings((Role.DATABASE, disk.DATABASE), (Role.TRANSACTION_LOG, disk.DATABASE)), *disk.SAFE]
    moved = (
        replace(one, origin=replace(one.origin, folder=host, path=one.origin.path.replace("ldap", host)))
        for one in given
    )
    return [log.fact(host), *moved]


def pool() -> list[Any]:
    """Return the logs and the versions of a pool, of which one server has most of the connections."""
    told: list[Any] = []
    for number, (count, version) in enumerate(((120, (2, 5, 13)), (120, (2, 5, 13)), (120, (2, 5, 13)), (900, (2, 4)))):
        log, name = Log(), f"pool{number}"
        for client in ("10.77.7.1", "10.77.7.2"):
            log.now = 0
            log.visits(count // 2, client, every=7200 / count)
        identity = replace(facts.OPENLDAP, version=version)
        told += [
            facts.table([facts.listening(), facts.row(f"10.77.8.{number}:389", "10.77.7.1:60000")], name),
            log.fact(name, Family.OPENLDAP),
            Configuration(origin=facts.origin(name, "cn-config.ldif"), identity=identity, threads=16),
        ]
    return told


@cache  # nobody changes a fact
def bundle() -> Bundle:
    """Return everything that was read at the site."""
    sending = {"last_received": HOUR, "timer": Timer.RETRANSMIT, "retransmits": 5}
    alive = facts.at_client(12, facts.APP2, first=50000, **sending)
    alive += [facts.row(f"{facts.APP2}:{one.key[3]}", f"{facts.LDAP}:389", last_received=HOUR) for one in LIVING]
    told = [
        *(facts.table(server_rows(), taken=moment) for moment in (0, LATER)),
        *(facts.table(STRANDED, "app1", taken=moment) for moment in (0, LATER)),
        *(facts.table(alive, "app2", taken=moment) for moment in (0, LATER)),
        facts.monitor(
            threads=16,
            busy_threads=16,
            queued_operations=20,
            connections_at_max_threads=1,
            connections=facts.monitored(200, facts.APP2, operations_started=2, operations_completed=2),
        ),
        Configuration(origin=facts.origin(name="cn-config.ldif"), identity=facts.DS389, idle_timeout_seconds=1800),
        ProcessLimits(origin=facts.origin(name="limits.txt"), open_files_soft=400, open_files_hard=400),
        DescriptorCount(origin=facts.origin(name="fds.txt"), open=395),
        facts.settings(max=200, tcp_timeout_established=30),
        KernelSettings(
            origin=facts.origin("app2", "sysctl.txt"), values={"net.ipv4.ip_local_port_range": "40000\t40239"}
        ),
        facts.flows(LIVING),
        facts.sessions(HELD, GONE, taken=LATER),
        access_log(),
        *indexes("ldap", INDEXES),
        *storage(),
        *pool(),
        facts.table([facts.listening(), facts.row("10.77.1.3:389", f"{facts.OTHER}:60000")], "ldap2"),
        *busy_storage("ldap2"),
        LdapProbe(
            origin=facts.origin("ldap3", "ldap-probe.txt"),
            target="ldap://ldap3",
            address="10.77.1.4",
            port=389,
            outcome=ProbeOutcome.REFUSED,
            seconds=0.01,
        ),
        *indexes("ldap2", INDEXES.replace("cn=mail,", "cn=roomNumber,").replace("cn: mail", "cn: roomNumber")),
    ]
    return Bundle(facts=tuple(facts.nobodys(fact) for fact in told))
