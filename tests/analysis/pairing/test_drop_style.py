"""How the ends were separated: by the client's retransmissions, its host's counters and boot time, or unknown."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import facts
from facts import START, at_client, at_server, listening, row_of_another_service, table
from ldapdiag.analysis.idle.sentences import ghost_sentences
from ldapdiag.analysis.pairing.drop_style import GhostEvidence, style_of
from ldapdiag.analysis.pairing.pairing import pair
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.evidence.host_facts import TcpCounters
from ldapdiag.evidence.processes import BootTime, Process, ProcessTable

if TYPE_CHECKING:
    from ldapdiag.analysis.pairing.direction import Direction

IDLE_MS = 600_000


def counted(**values: int) -> TcpCounters:
    return TcpCounters(origin=facts.origin("app1", "counters.txt"), values=values)


def separated(idle_ms: int = IDLE_MS, **client: Any) -> Direction:
    """Return a direction of which three of five connections are gone at the client."""
    at_ldap = table(
        [listening(), *at_server(5, last_received=idle_ms)], columns=("receive_queue", "last_received"), taken=1
    )
    at_app1 = table([*at_client(2), *row_of_another_service()], "app1", taken=0)
    server, app1 = facts.host("ldap", at_ldap), facts.host("app1", at_app1, **client)
    (direction, *_) = pair(facts.server(), (server, app1), ()).directions
    assert direction.ghosts.count == 3
    return direction


@pytest.mark.parametrize(
    ("counters", "style"),
    [
        ({}, "unknown"),
        ({"TcpEstabResets": 3, "TcpExtTCPAbortOnTimeout": 0}, "reset-to-client"),
        ({"TcpEstabResets": 2, "TcpExtTCPAbortOnTimeout": 0}, "unknown"),
        ({"TcpEstabResets": 0, "TcpExtTCPAbortOnTimeout": 3}, "silent-drop"),
        ({"TcpEstabResets": 2, "TcpExtTCPAbortOnTimeout": 40}, "silent-drop"),
        ({"TcpEstabResets": 3, "TcpExtTCPAbortOnTimeout": 40}, "unknown"),
        ({"TcpEstabResets": 3, "TcpExtTCPAbortOnData": 3}, "unknown"),
        ({"TcpEstabResets": 9000, "TcpExtTCPAbortOnTimeout": 4000}, "unknown"),
        ({"TcpExtTCPAbortOnTimeout": 0}, "unknown"),
    ],
    ids=str,
)
def test_the_clients_counters_decide_only_when_they_exclude_the_other(counters: dict[str, int], style: str) -> None:
    assert str(separated(counters=counted(**counters)).style) == style


class TestBooting:
    def test_what_was_last_heard_of_before_the_client_booted_went_with_it(self) -> None:
        direction = separated(description=facts.description(up=100))
        assert str(direction.style) == "client-gone"
        assert proof_of(direction).degree == "certain"
        assert "booted at 2026-11-20 08:58:19 UTC" in " ".join(ghost_sentences(direction, "ldap", None, None))

    def test_what_was_heard_of_since_did_not(self) -> None:
        direction = separated(idle_ms=90_000, description=facts.description(up=100))
        assert direction.evidence.before_boot == 0
        assert str(direction.style) == "unknown"

    def test_a_second_is_allowed_for_times_in_whole_seconds(self) -> None:
        assert separated(idle_ms=102_100, description=facts.description(up=100)).evidence.before_boot == 3
        assert separated(idle_ms=101_900, description=facts.description(up=100)).evidence.before_boot == 0


def listed(*ages: float, program: str = "java") -> ProcessTable:
    """Return processes of app1 of these ages, numbered from 1."""
    found = tuple(Process(pid=n, program=program, age_seconds=age) for n, age in enumerate(ages, 1))
    return ProcessTable(origin=facts.origin("app1", "processes.txt", taken=0), processes=found)


class TestProcesses:
    """A process that ends closes its connections; what is older than all of them was lost as a whole, or its FINs."""

    def test_what_is_older_than_every_process_went_with_another(self) -> None:
        direction = separated(processes=listed(100, 50))
        assert str(direction.style) == "client-gone"
        assert proof_of(direction).degree == "likely"
        assert "Every process there on app1 started at 2026-11-20 08:58:19 UTC" in said(direction)

    def test_one_older_process_may_have_had_them(self) -> None:
        assert str(separated(processes=listed(1000, 50)).style) == "unknown"

    def test_a_start_outweighs_counters_that_any_lost_packet_raises(self) -> None:
        counters = counted(TcpEstabResets=0, TcpExtTCPAbortOnTimeout=3)
        assert str(separated(processes=listed(100), counters=counters).style) == "client-gone"

    def test_the_table_of_a_middlebox_without_them_outweighs_a_start(self) -> None:
        """An application that was started again after its firewall had dropped its state closes nothing, either."""
        lost = GhostEvidence(before_start=3, without_flow=3)
        assert style_of(3, lost) == "unknown"
        assert style_of(3, replace(lost, not_opened=1)) == "client-gone"
        assert style_of(3, replace(lost, without_flow=2)) == "client-gone"
        assert style_of(3, replace(lost, before_boot=3)) == "client-gone"


class TestCounters:
    @pytest.mark.parametrize(
        ("opened", "style"),
        [(2, "unknown"), (3, "client-gone"), (4, "unknown"), (600, "unknown")],
        ids=["no total", "only those present", "one more", "long up"],
    )
    def test_a_stack_that_has_opened_fewer_is_younger(self, opened: int, style: str) -> None:
        direction = separated(counters=counted(TcpActiveOpens=opened))
        assert str(direction.style) == style

    def test_the_sentence_names_the_number(self) -> None:
        direction = separated(counters=counted(TcpActiveOpens=3))
        assert "app1 has opened 3 connections since its network stack started" in said(direction)


def said(direction: Direction) -> str:
    return " ".join(ghost_sentences(direction, "ldap", None, None))


class TestCarried:
    """A middlebox keeps what a crashed client has not closed; a client that forwards nothing has no one behind it."""

    def joined(self, **client: Any) -> Direction:
        at_ldap = table([listening(), *at_server(5, last_received=IDLE_MS)], columns=("last_received",), taken=1)
        at_app1 = table([*at_client(2), *row_of_another_service()], "app1", taken=0)
        hosts = facts.host("ldap", at_ldap), facts.host("app1", at_app1, **client)
        (direction, *_) = pair(facts.server(), hosts, (facts.flows(at_server(5), taken=0),)).directions
        return direction

    def test_they_may_belong_to_a_container(self) -> None:
        direction = self.joined()
        assert (direction.ghosts.count, direction.undecided) == (0, 3)

    def test_a_client_that_forwards_nothing_has_no_container_behind_its_address(self) -> None:
        kernel = facts.KernelSettings(origin=facts.origin("app1"), values={"net.ipv4.ip_forward": "0"})
        direction = self.joined(kernel=kernel)
        assert (direction.ghosts.count, str(direction.style)) == (3, "unknown")
        assert "fw still has them as established, so it has not dropped their state" in said(direction)

    def test_a_namespace_that_was_made_again_ends_them_even_if_it_forwards(self) -> None:
        """All its processes and its TCP stack are younger, so every container behind it is, too."""
        kernel = facts.KernelSettings(origin=facts.origin("app1"), values={"net.ipv4.ip_forward": "1"})
        young = {"kernel": kernel, "processes": listed(100, 50)}
        direction = self.joined(counters=counted(TcpActiveOpens=3), **young)
        assert (direction.ghosts.count, str(direction.style)) == (3, "client-gone")
        assert self.joined(counters=counted(TcpActiveOpens=4), **young).ghosts.count == 0
        old = {"kernel": kernel, "processes": listed(1000, 50)}
        assert self.joined(counters=counted(TcpActiveOpens=3), **old).ghosts.count == 0

    def test_a_machine_of_which_all_namespaces_were_read_hides_none(self) -> None:
        described = facts.description(namespaces_unread=0)
        assert self.joined(description=described).ghosts.count == 3

    def test_counters_do_not_blame_a_middlebox_that_still_has_them(self) -> None:
        assert style_of(3, GhostEvidence(still_carried=3, probes_unanswered=3)) == "unknown"
        assert style_of(3, GhostEvidence(still_carried=2, probes_unanswered=3)) == "silent-drop"

    def test_unless_another_on_the_path_lacks_all_of_them(self) -> None:
        both = GhostEvidence(still_carried=3, without_flow=3, probes_unanswered=3)
        assert style_of(3, both) == "silent-drop"
        assert style_of(3, replace(both, without_flow=2)) == "unknown"

    def test_a_boot_ends_them_whatever_the_middlebox_has(self) -> None:
        direction = self.joined(description=facts.description(up=100, namespaces_unread=2))
        assert (direction.ghosts.count, str(direction.style)) == (3, "client-gone")
        assert proof_of(direction).degree == "certain"

    def test_a_boot_by_a_clock_without_a_zone_proves_none_dead(self) -> None:
        boot = BootTime(
            origin=facts.origin("app1", "uptime.txt", taken=0), booted=START - timedelta(seconds=100), zoned=False
        )
        assert self.joined(boot=boot).ghosts.count == 0
        direction = separated(boot=boot)
        assert (str(direction.style), proof_of(direction).degree) == ("client-gone", "likely")


class TestNamespaces:
    def test_a_host_of_which_all_namespaces_were_read_hides_nothing(self) -> None:
        direction = separated(description=facts.description(namespaces_read=3, namespaces_unread=0))
        assert proof_of(direction).degree == "certain"
        assert "Every network namespace of app1 was read" in proof_of(direction).because

    def test_others_are_unknown_without_privileges(self) -> None:
        assert proof_of(separated(description=facts.description())).degree == "likely"


def joined(*others: Any, **client: Any) -> Direction:
    at_ldap = table(
        [listening(), *at_server(5, last_received=IDLE_MS)], columns=("receive_queue", "last_received"), taken=1
    )
    app1 = facts.host("app1", table([*at_client(2), *row_of_another_service()], "app1", taken=0), **client)
    return next(iter(pair(facts.server(), (facts.host("ldap", at_ldap), app1, *others), ()).directions))


class TestUnreadNamespaces:
    def test_what_may_live_in_a_namespace_that_was_not_read_is_no_ghost(self) -> None:
        direction = joined(description=facts.description(namespaces_read=1, namespaces_unread=2))
        assert direction.ghosts.count == 0
        assert sum(direction.ghosts.unproven.values()) == 3

    def test_a_host_that_forwards_and_shows_no_namespaces_may_have_some(self) -> None:
        kernel = facts.KernelSettings(origin=facts.origin("app1"), values={"net.ipv4.ip_forward": "1"})
        assert joined(description=facts.description(), kernel=kernel).ghosts.count == 0
        assert joined(description=facts.description(namespaces_unread=0), kernel=kernel).ghosts.count == 3
        assert joined(kernel=kernel).ghosts.count == 3

    @pytest.mark.parametrize(("inner", "ghosts"), [(1, 2), (3, 0), (4, 0)])
    def test_connections_of_a_container_with_translated_ports_are_subtracted(self, inner: int, ghosts: int) -> None:
        """A container's connections leave under ports of their own, and which these are was not read."""
        rows = at_client(inner, "172.30.0.2", first=50000)
        container = facts.host("app1-web", table(rows, "app1-web", taken=0), description=facts.description("app1-web"))
        direction = joined(container, description=facts.description(namespaces_unread=0))
        assert direction.ghosts.count == ghosts
        assert direction.ghosts.ports == (None if ghosts else ())
        assert direction.undecided >= 3 - ghosts

    def test_a_stranger_with_hidden_connections_takes_nothing_off(self) -> None:
        rows = at_client(1, "172.30.0.2", first=50000)
        stranger = facts.host(
            "other", table(rows, "other", taken=0), description=facts.description("other", machine="another")
        )
        assert joined(stranger, description=facts.description(namespaces_unread=0)).ghosts.count == 3


class TestDifferences:
    """Counters that are large for other reasons: what they grew by while ghosts arose counts."""

    def read(self, *readings: dict[str, int]) -> tuple[TcpCounters, ...]:
        moments = (0.5, 59.5) if len(readings) == 2 else (59.5,)
        return tuple(
            TcpCounters(origin=facts.origin("app1", f"counters-{moment}.txt", taken=moment), values=values)
            for moment, values in zip(moments, readings, strict=True)
        )

    def dropped(self, *readings: dict[str, int], had: bool = True) -> str:
        """Return the style of three ghosts that app1 still had a minute before, or had not."""
        first, last = self.read(*readings)[0], self.read(*readings)[-1]
        at_ldap = table(
            [listening(), *at_server(5, last_received=IDLE_MS)], columns=("receive_queue", "last_received"), taken=60
        )
        tables = [table(at_client(count), "app1", taken=taken) for count, taken in ((5 if had else 2, 0), (2, 59))]
        app1 = facts.host("app1", *tables, table(at_client(2), "app1", taken=61), counters=last)
        app1 = replace(app1, first_counters=first if len(readings) > 1 else None)
        (direction, *_) = pair(facts.server(), (facts.host("ldap", at_ldap), app1), ()).directions
        assert direction.ghosts.count == 3
        assert direction.evidence.dropped_since == (3 if had and len(readings) > 1 else 0)
        return str(direction.style)

    LARGE: dict[str, int] = {"TcpEstabResets": 9000, "TcpExtTCPAbortOnTimeout": 4000}  # noqa: RUF012  never changed

    def test_their_totals_decide_nothing(self) -> None:
        assert self.dropped(self.LARGE) == "unknown"
        assert self.dropped({"TcpEstabResets": 9000, "TcpExtTCPAbortOnTimeout": 0}) == "unknown"

    def test_resets_that_arrived_with_the_ghosts_are_resets_to_the_client(self) -> None:
        assert self.dropped(self.LARGE, self.LARGE | {"TcpEstabResets": 9003}) == "reset-to-client"

    def test_connections_given_up_with_the_ghosts_are_a_silent_drop(self) -> None:
        assert self.dropped(self.LARGE, self.LARGE | {"TcpExtTCPAbortOnTimeout": 4003}) == "silent-drop"

    def test_resets_without_new_ghosts_have_another_reason(self) -> None:
        few = {"TcpEstabResets": 3, "TcpExtTCPAbortOnTimeout": 0}
        assert self.dropped(few, few, had=False) == "reset-to-client"
        assert self.dropped(few, few | {"TcpEstabResets": 5}, had=False) == "unknown"

    def test_a_boot_between_two_readings_leaves_nothing_to_compare(self) -> None:
        assert self.dropped(self.LARGE, {"TcpEstabResets": 3, "TcpExtTCPAbortOnTimeout": 0}) == "unknown"
