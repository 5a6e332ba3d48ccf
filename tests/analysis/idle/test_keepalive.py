from __future__ import annotations

from typing import Any

import pytest

import facts
from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.idle.keepalive import GhostLifetime, keepalive_shown, measure_lifetime
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.evidence.sockets import TcpState, Timer

OLD = ServerIdentity(family=Family.DS389, version=(1, 3, 10))
OPENDJ = ServerIdentity(family=Family.OPENDJ, version=(4, 10, 1))
DSEE = ServerIdentity(family=Family.DSEE, version=(11, 1, 1))
NO_TABLE = Host(host="ldap")


def configured(**values: Any) -> Configuration:
    identity = values.pop("identity", facts.DS389)
    return Configuration(origin=facts.origin(name="cn-config.ldif"), identity=identity, **values)


def kernel(**values: int) -> KernelSettings:
    names = {f"net.ipv4.tcp_keepalive_{name}": str(value) for name, value in values.items()}
    return KernelSettings(origin=facts.origin(name="sysctl.txt"), values=names)


def running(*timers: Timer | None) -> Host:
    rows = [row for n, timer in enumerate(timers) for row in facts.at_server(1, first=40000 + n, timer=timer)]
    return facts.host("ldap", facts.table([facts.listening(timer=Timer.OFF), *rows]))


def lived(host: Host = NO_TABLE, **evidence: Any) -> GhostLifetime:
    return measure_lifetime(facts.server(**evidence), host)


def test_the_shorter_of_both_closes_a_ghost() -> None:
    assert lived(configuration=configured(idle_timeout_seconds=0, keepalive_seconds=300)).seconds == 975
    assert lived(configuration=configured(idle_timeout_seconds=90, keepalive_seconds=300)).seconds == 90
    assert lived(configuration=configured(idle_timeout_seconds=3600, keepalive_seconds=300)).seconds == 975


def test_probes_are_the_kernels() -> None:
    lifetime = lived(configuration=configured(keepalive_seconds=60), kernel=kernel(intvl=10, probes=3))
    assert (lifetime.probing_seconds, lifetime.seconds) == (30, 90)


def test_a_server_older_than_keepalives_has_none() -> None:
    ancient = ServerIdentity(family=Family.DS389, version=(1, 2, 10))
    lifetime = lived(identity=ancient, configuration=configured(identity=ancient, idle_timeout_seconds=0))
    assert (lifetime.keepalive, lifetime.keepalive_seconds, lifetime.seconds) == (False, None, None)
    assert lifetime.summary.startswith("a ghost connection lasts until the server restarts")


def test_without_a_setting_the_versions_default_holds() -> None:
    lifetime = lived(configuration=configured(complete=True))
    assert (lifetime.idle_timeout_seconds, lifetime.keepalive_seconds) == (3600, 300)
    assert lifetime.idle_timeout_source == "the default of 389 Directory Server 2.3.1"


def test_an_excerpt_without_the_setting_does_not_mean_the_default() -> None:
    lifetime = lived(configuration=configured())
    assert lifetime.idle_timeout_seconds is None
    assert "does not set it" in lifetime.idle_timeout_source
    assert "at most 975 s" in lifetime.summary


@pytest.mark.parametrize(("values", "seconds"), [({}, 7875), ({"time": 600}, 1275)])
def test_an_older_server_takes_the_kernels_time(values: dict[str, int], seconds: int) -> None:
    configuration = configured(identity=OLD, idle_timeout_seconds=0)
    assert lived(identity=OLD, configuration=configuration, kernel=kernel(**values)).seconds == seconds


def test_sockets_without_a_keepalive_timer_outvote_the_configuration() -> None:
    lifetime = lived(running(Timer.OFF, Timer.OFF), configuration=configured(idle_timeout_seconds=0))
    assert (lifetime.keepalive, lifetime.keepalive_seconds, lifetime.seconds) == (False, None, None)
    assert "lasts until the server restarts" in lifetime.summary


def test_a_configuration_that_disables_keepalive_counts_until_timers_show_it() -> None:
    configuration = configured(identity=OPENDJ, idle_timeout_seconds=0, keepalive=False)
    lifetime = lived(identity=OPENDJ, configuration=configuration)
    assert (lifetime.keepalive, lifetime.keepalive_source) == (False, "ldap/cn-config.ldif disables keepalive")
    assert lived(running(Timer.KEEPALIVE), identity=OPENDJ, configuration=configuration).keepalive is True


def test_a_server_that_may_not_enable_keepalive_gets_no_kernel_time() -> None:
    configuration = configured(identity=DSEE, idle_timeout_seconds=0)
    lifetime = lived(identity=DSEE, configuration=configuration)
    assert (lifetime.keepalive, lifetime.seconds) == (None, None)
    assert lived(running(Timer.KEEPALIVE), identity=DSEE, configuration=configuration).seconds == 7875


def test_an_idle_limit_that_the_version_ignores_is_none_but_for_one_of_every_account() -> None:
    ignored = lived(identity=OPENDJ, configuration=configured(identity=OPENDJ, idle_timeout_seconds=300))
    assert (ignored.idle_timeout_seconds, ignored.seconds) == (0, 7875)
    assert "issue 697" in ignored.idle_timeout_source
    own = configured(identity=OPENDJ, idle_timeout_seconds=0, account_idle_timeout_seconds=300)
    assert lived(identity=OPENDJ, configuration=own).seconds == 300


def test_an_unknown_lifetime_is_reported_as_unknown() -> None:
    lifetime = lived(identity=None)
    assert (lifetime.seconds, lifetime.keepalive) == (None, None)
    assert "unknown" in lifetime.summary


class TestWhatTimersShow:
    PORTS = frozenset({389})

    @pytest.mark.parametrize(
        ("timers", "on"),
        [
            ([Timer.KEEPALIVE, Timer.KEEPALIVE], True),
            ([Timer.OFF, Timer.KEEPALIVE], True),
            ([Timer.OFF], False),
            ([], None),
            ([None, None], None),
            ([Timer.RETRANSMIT], None),
            ([Timer.PERSIST, Timer.OFF], False),
        ],
    )
    def test_a_running_keepalive_timer_shows_it_and_one_that_is_off_its_absence(
        self, timers: list[Timer | None], *, on: bool | None
    ) -> None:
        assert keepalive_shown(running(*timers), self.PORTS) is on

    def test_a_table_without_timers_shows_nothing(self) -> None:
        assert keepalive_shown(facts.host("ldap", facts.table(facts.at_server(3))), self.PORTS) is None
        assert keepalive_shown(NO_TABLE, self.PORTS) is None

    def test_only_established_connections_of_the_server_count(self) -> None:
        rows = [
            *facts.at_server(1, state=TcpState.TIME_WAIT, timer=Timer.OFF),
            facts.row(f"{facts.LDAP}:22", f"{facts.APP1}:50000", timer=Timer.KEEPALIVE),
        ]
        assert keepalive_shown(facts.host("ldap", facts.table(rows)), self.PORTS) is None
