"""Virtual addresses: the client dials another address than the server shows; its own endpoint joins both ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

import facts
from facts import APP1, LDAP, at_client, at_server, row, table
from joins import OTHERS, joined
from ldapdiag.evidence.sockets import TcpState


class TestVirtualAddress:
    VIP = "10.77.1.100"

    def dialled(self, count: int, first: int = 40000) -> list[facts.Row]:
        return [row(f"{APP1}:{first + number}", f"{self.VIP}:389") for number in range(count)]

    def test_a_client_that_dials_a_virtual_address_is_matched_by_its_own_endpoint(self) -> None:
        direction = joined(
            table(at_server(5), shows_time_wait=True), table(self.dialled(3), "app1", shows_time_wait=True)
        )
        assert (direction.matched, direction.client_count) == (3, 3)
        assert direction.ghosts.ports == (40003, 40004)
        assert (str(direction.join), str(direction.path.kind)) == ("client-endpoint", "nat")
        assert direction.path.translated_by == f"{self.VIP}:389"
        assert direction.stranded.count == 0

    @pytest.mark.parametrize(("elsewhere", "matched"), [(19, 1), (20, 0)])
    def test_it_is_believed_when_a_twentieth_of_its_connections_end_here(self, elsewhere: int, matched: int) -> None:
        client = table([*self.dialled(1), *self.dialled(elsewhere, first=50000)], "app1")
        direction = joined(table(at_server(3)), client)
        assert direction.matched == matched
        assert (direction.path.translated_by is not None) == bool(matched)

    def test_a_client_may_dial_the_servers_own_address_as_well(self) -> None:
        client = table([*at_client(2), *self.dialled(3, first=40002)], "app1", shows_time_wait=True)
        direction = joined(table(at_server(6), shows_time_wait=True), client)
        assert (direction.matched, direction.client_count, direction.ghosts.ports) == (5, 5, (40005,))

    def test_a_client_may_dial_two_virtual_addresses(self) -> None:
        other = [row(f"{APP1}:{40003 + number}", "10.77.1.101:389") for number in range(2)]
        direction = joined(table(at_server(5)), table([*self.dialled(3), *other], "app1"))
        assert (direction.matched, direction.client_count, direction.ghosts.count) == (5, 5, 0)
        assert direction.path.translated_by == "10.77.1.100:389 and 10.77.1.101:389"

    def test_a_common_port_with_another_service_is_chance(self) -> None:
        client = table([row(f"{APP1}:40001", f"{LDAP}:5432"), *OTHERS], "app1", shows_time_wait=True)
        direction = joined(table(at_server(3), shows_time_wait=True), client)
        assert (direction.matched, direction.ghosts.count, direction.path.translated_by) == (0, 3, None)

    def test_another_port_of_the_server_is_no_virtual_address(self) -> None:
        """Linux gives one local port to connections with different destinations."""
        ldaps = [row(f"{LDAP}:636", f"{APP1}:{40000 + number}") for number in range(4)]
        other = [row(f"{APP1}:{40000 + number}", f"{LDAP}:636") for number in range(4)]
        client = table([*at_client(1), *other], "app1", shows_time_wait=True)
        direction = joined(table([*at_server(4), *ldaps], shows_time_wait=True), client)
        assert (direction.matched, direction.ghosts.count, direction.path.translated_by) == (1, 3, None)

    def test_what_another_server_behind_it_may_have_is_not_stranded(self) -> None:
        direction = joined(table(at_server(2)), table(self.dialled(5), "app1"))
        assert (direction.matched, direction.stranded.count, sum(direction.stranded.unproven.values())) == (2, 0, 3)

    def test_what_closed_towards_it_is_churn(self) -> None:
        closed = [replace(one, state=TcpState.TIME_WAIT) for one in self.dialled(60, first=50000)]
        client = table([*self.dialled(3), *closed], "app1", shows_time_wait=True, taken=5)
        direction = joined(table(at_server(5), shows_time_wait=True, taken=0), client)
        assert (direction.ghosts.count, sum(direction.ghosts.unproven.values())) == (0, 2)


class TestFewOverAVirtualAddress:
    """Living connections over a virtual address, too few to be told from chance, beside dead ones."""

    @pytest.mark.parametrize(
        ("dialled", "port", "few", "ghosts"),
        [("10.77.100.1", 389, 2, 3), ("10.77.100.1", 389, 1, 4), ("10.77.100.1", 1389, 2, 3), (LDAP, 8443, 2, 5)],
    )
    def test_are_not_claimed(self, dialled: str, port: int, few: int, ghosts: int) -> None:
        direct = at_client(5)
        virtual = [row(f"{APP1}:{50000 + number}", f"{dialled}:{port}") for number in range(few)]
        server = table([*at_server(5), *at_server(5, first=50000)], shows_time_wait=True)
        direction = joined(server, table([*direct, *virtual], "app1", shows_time_wait=True))
        assert (direction.ghosts.count, direction.matched) == (ghosts, 5)
        assert sum(direction.ghosts.unproven.values()) == 5 - ghosts
