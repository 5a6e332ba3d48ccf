"""The replay of a log against servers that have the timeout: what it counts as cut is what their clients lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

import facts
from lab.directory_servers import SUFFIX, account
from lab.host import Host
from lab.idle_schedule import Use, run, schedule
from ldapdiag.analysis.idle.idle_profile import IdleProfile, idle_profile
from ldapdiag.analysis.idle.replay import replay
from ldapdiag.analysis.log.traffic import Traffic, combine_logs
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.dialects import named, scan_stream

if TYPE_CHECKING:
    from lab.directory_servers import Server
    from lab.laboratory import Laboratory

NEVER, *TIMEOUTS = 0, 3, 5, 8, 12
SECONDS, COUNT, SEED = 36, 60, 18
ACCESS = "/var/log/dirsrv/slapd-live/access"
MANAGER = "cn=Directory Manager"


def server_with(laboratory: Laboratory, family: Family, host: Host, timeout: int) -> Server:
    if family is Family.DS389:
        return laboratory.ds389(host, settings={"nsslapd-idletimeout": str(timeout)})
    return laboratory.slapd(host, configuration=f"idletimeout {timeout}\n")


def profile_of(server: Server, family: Family) -> IdleProfile:
    """Return the profile of a server's access log."""
    dialect = named("389-text" if family is Family.DS389 else "openldap-stderr")
    log = server.host.run(["cat", ACCESS]).encode() if family is Family.DS389 else server.log.read_bytes()
    fact = AccessLog(
        origin=facts.origin("ldap", "access"), family=family, segment=scan_stream(dialect, log), streams=()
    )
    traffic = combine_logs(facts.server(access_logs=(fact,)))
    assert isinstance(traffic, Traffic)
    return idle_profile(facts.server(), None, traffic)


@pytest.mark.parametrize("family", [Family.DS389, Family.OPENLDAP])
def test_the_same_schedule_loses_the_connections_that_the_replay_counts(laboratory: Laboratory, family: Family) -> None:
    manager = MANAGER if family is Family.DS389 else f"cn=admin,{SUFFIX}"
    accounts = (account("application_xyz"), account("application_foo"), manager)
    planned = schedule(SEED, accounts, COUNT, SECONDS)
    with ExitStack() as stack, ThreadPoolExecutor(len(TIMEOUTS) + 1) as pool:
        servers = {}
        for timeout in (NEVER, *TIMEOUTS):
            host = stack.enter_context(Host(f"idle{timeout}"))
            servers[timeout] = server_with(laboratory, family, host, timeout)
        running = {
            timeout: pool.submit(server.host.inside, lambda: run(planned)) for timeout, server in servers.items()
        }
        found: dict[int, list[Use]] = {timeout: one.result() for timeout, one in running.items()}
        profile = profile_of(servers[NEVER], family)
    server = facts.server(identity=facts.DS389 if family is Family.DS389 else facts.OPENLDAP)
    rules = server.idle_enforcement
    assert not any(use.cut for use in found[NEVER])
    assert sum(group.used.count for group in profile.groups) == len(found[NEVER])
    late = max(use.idle - use.planned for each in found.values() for use in each)
    assert late < 0.7, "this machine is too busy for the schedule"
    for timeout, one in zip(TIMEOUTS, replay(profile, TIMEOUTS, rules), strict=True):
        concerned = [use for use in found[timeout] if use.account not in rules.exempt]
        assert one.latest is not None
        assert not any(use.cut for use in found[timeout] if use.account in rules.exempt)
        assert not any(use.cut for use in concerned if use.planned < one.earliest)
        assert one.cut == sum(use.cut for use in concerned if use.planned >= one.latest) > 0
        between = [use.cut for use in concerned if one.earliest <= use.planned < one.latest]
        assert (one.undecided, one.cut + sum(between)) == (len(between), sum(use.cut for use in concerned))
