"""The ghosts go within the promised time, after each command that is printed against them: not before, not later."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from facts import address_of, slapd_of
from lab import boxes
from lab.terminal import paste
from ldapdiag.evidence.family import Family
from ldapdiag.servers.hosts.kernel import KERNEL_KEEPALIVE_PROBES
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from lab.directory_servers import Server
    from lab.host import End
    from lab.topology import Topology

BOX_SECONDS = 1
COUNT = 6
TIMEOUT = 5
KEEPALIVE = 2
MARGIN = 1.0
"""Seconds by which the time of a keepalive timer, no more exact than its tick, may be early."""
LATE = 5.0
"""Seconds by which a busy machine may see late that a connection has gone."""

LDAP = address_of("ldap")
VERSIONS = {Family.OPENLDAP: (2, 5, 13), Family.DS389: (2, 3, 1)}


@pytest.fixture
def ghosts(topology: Topology, start):
    """Return what makes ghosts, and tells when each was last active."""

    def made(server: Server) -> dict[End, float]:
        boxes.silent_drop(topology.fw, BOX_SECONDS)
        application = start(topology.app1, "held", count=COUNT)
        sockets = application.truth().sockets
        time.sleep(BOX_SECONDS + 1)
        application.end()  # the box drops the FIN
        active = {(str(one["address"]), int(one["port"])): float(one["answered"]) for one in sockets}
        assert len(active) == COUNT
        assert set(active) <= server.held()
        return active

    return made


def lifetimes(server: Server, active: dict[End, float], *, seconds: float) -> dict[End, float]:
    """Return how long after its last activity each of them went, of those that did in this time."""
    gone: dict[End, float] = {}
    deadline = time.time() + seconds
    while len(gone) < len(active) and time.time() < deadline:
        held = server.held()
        now = time.time()
        gone |= {end: now - at for end, at in active.items() if end not in held and end not in gone}
        time.sleep(0.05)
    return gone


def test_slapd_closes_ghosts_between_the_two_times_of_its_enforcement(laboratory, topology, ghosts) -> None:
    product = product_of(Family.OPENLDAP)
    enforcement = product.idle_enforcement.at(VERSIONS[Family.OPENLDAP])
    server = laboratory.slapd(topology.ldap)
    active = ghosts(server)
    paste(topology.ldap, product.remedies.set_idle_timeout(slapd_of("ldap"), TIMEOUT, 0).text)

    went = lifetimes(server, active, seconds=20).values()
    assert len(went) == COUNT
    assert enforcement.earliest(TIMEOUT) <= min(went)
    assert max(went) <= enforcement.latest(TIMEOUT) + LATE


def test_389_closes_ghosts_at_the_first_activity_after_the_timeout(laboratory, topology, ghosts, start) -> None:
    product = product_of(Family.DS389)
    enforcement = product.idle_enforcement.at(VERSIONS[Family.DS389])
    assert enforcement.needs_activity
    assert enforcement.reaches_open_connections is False
    server = laboratory.ds389(topology.ldap)
    paste(topology.ldap, product.remedies.set_idle_timeout(LDAP, TIMEOUT, 0, VERSIONS[Family.DS389]).text)
    active = ghosts(server)

    assert not lifetimes(server, active, seconds=TIMEOUT + 3)
    start(topology.app2, "pool", count=1, every=0.5, name="foo")
    assert set(lifetimes(server, active, seconds=MARGIN + LATE)) == set(active)


def test_389_closes_ghosts_as_soon_as_it_may_while_others_are_active(laboratory, topology, ghosts, start) -> None:
    product = product_of(Family.DS389)
    enforcement = product.idle_enforcement.at(VERSIONS[Family.DS389])
    server = laboratory.ds389(topology.ldap)
    paste(topology.ldap, product.remedies.set_idle_timeout(LDAP, TIMEOUT, 0, VERSIONS[Family.DS389]).text)
    active = ghosts(server)
    start(topology.app2, "pool", count=1, every=0.2, name="foo")

    went = lifetimes(server, active, seconds=20).values()
    assert len(went) == COUNT
    assert enforcement.earliest(TIMEOUT) <= min(went)
    assert max(went) <= TIMEOUT + LATE


@pytest.mark.parametrize("family", [Family.OPENLDAP, Family.DS389])
def test_keepalive_closes_ghosts_after_its_probes(laboratory, topology, ghosts, family) -> None:
    """By the kernel for slapd, by its own setting for 389-ds, which leaves the probes' interval to the kernel."""
    server = laboratory.slapd(topology.ldap) if family is Family.OPENLDAP else laboratory.ds389(topology.ldap)
    address = slapd_of("ldap") if family is Family.OPENLDAP else LDAP
    remedy = product_of(family).remedies.set_keepalive(address, KEEPALIVE, version=VERSIONS[family])
    paste(topology.ldap, remedy.text)
    interval = KEEPALIVE if family is Family.OPENLDAP else 1
    topology.ldap.sysctl(net__ipv4__tcp_keepalive_intvl=interval)
    promised = KEEPALIVE + interval * KERNEL_KEEPALIVE_PROBES
    active = ghosts(server)

    went = lifetimes(server, active, seconds=promised + 10).values()
    assert len(went) == COUNT
    assert promised - MARGIN <= min(went)
    assert max(went) <= promised + LATE
