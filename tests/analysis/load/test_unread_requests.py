"""Unread requests: what stands, what is in transit, and what the server reads meanwhile."""

from __future__ import annotations

from typing import Any

import facts
from ldapdiag.analysis.load.unread_requests import UnreadRequests, unread_requests
from ldapdiag.evidence.sockets import TcpState

ALL = ("receive_queue", "send_queue", "last_received", "bytes_received", "inode")


def rows(count: int = 10, *, first: int = 40000, state: TcpState = TcpState.ESTABLISHED, **columns: Any):
    return facts.at_server(count, first=first, state=state, **{"inode": 7} | columns)


def unread(*snapshots: tuple[float | None, list[facts.Row]], columns: tuple[str, ...] = ALL) -> UnreadRequests:
    tables = [
        facts.table([facts.listening(receive_queue=0, send_queue=128), *told], taken=taken, columns=columns)
        for taken, told in snapshots
    ]
    found = unread_requests(facts.host("ldap", *tables), {389})
    assert found is not None
    return found


def waiting(age: float, *, received: int = 159, **columns: Any) -> list[facts.Row]:
    return rows(receive_queue=44, last_received=int(age * 1000), bytes_received=received, **columns)


def test_requests_of_two_snapshots_that_were_not_read_stand() -> None:
    found = unread((0, waiting(1)), (5, waiting(6)))
    assert (found.stand, found.exact, found.standing, found.served, found.seconds) == (True, True, 10, 0, 6.0)


def test_a_client_that_goes_on_sending_is_not_read_either() -> None:
    """The newest data is young, and the counters grew as Recv-Q did."""
    found = unread((0, waiting(0.1)), (5, rows(receive_queue=88, last_received=100, bytes_received=159 + 44)))
    assert (found.stand, found.exact, found.seconds) == (True, True, 5.0)


def test_a_busy_server_reads_what_arrives() -> None:
    """Each socket has unread data in both snapshots, and other data each time."""
    found = unread((0, waiting(0.001)), (5, waiting(0.001, received=159 + 4400)))
    assert (found.standing, found.stand, found.may_stand) == (0, False, False)
    assert found.served == 10


def test_the_byte_of_a_fin_is_no_request() -> None:
    closed = rows(receive_queue=1, last_received=60_000, bytes_received=116, state=TcpState.CLOSE_WAIT)
    found = unread((0, closed), (5, closed))
    assert (found.connections, found.stand, found.may_stand) == (0, False, False)


def test_clients_that_gave_up_have_sent_a_fin_behind_their_request() -> None:
    gone = rows(receive_queue=45, last_received=6000, bytes_received=160, state=TcpState.CLOSE_WAIT)
    found = unread((0, waiting(1)), (5, gone))
    assert (found.stand, found.exact, found.bytes) == (True, True, 440)


def test_requests_behind_an_answer_that_the_client_does_not_read_are_its_own_doing() -> None:
    found = unread((0, waiting(1, send_queue=9000)), (5, waiting(6, send_queue=9000)))
    assert (found.connections, found.blocked, found.stand) == (0, 10, False)


def test_a_few_sockets_of_long_operations_among_many_served_are_no_finding() -> None:
    """389-ds reads no further request of a connection that has as many threads as one may have."""
    served = rows(20, first=50000, receive_queue=0, last_received=500, bytes_received=900)
    found = unread((0, [*waiting(1), *served]), (5, [*waiting(6), *served]))
    assert (found.standing, found.served, found.stand, found.may_stand) == (10, 20, False, False)


def test_two_sockets_with_nothing_read_cannot_be_excluded() -> None:
    told = rows(2, receive_queue=44, last_received=6000, bytes_received=159)
    found = unread((0, told), (5, told))
    assert (found.stand, found.may_stand) == (False, True)


def test_a_single_table_with_ages_shows_how_long_they_stand() -> None:
    assert unread((0, waiting(66))).stand
    young = unread((0, waiting(4)))
    assert (young.stand, young.may_stand) == (False, True)
    moment = unread((0, waiting(0.01)))
    assert (moment.stand, moment.may_stand) == (False, False)


def test_a_single_table_without_ages_cannot_exclude_it() -> None:
    found = unread((0, rows(receive_queue=44)), columns=("receive_queue", "send_queue"))
    assert (found.stand, found.may_stand, found.doubtful) == (False, True, 10)


def test_two_netstat_tables_show_a_queue_that_did_not_fall() -> None:
    told = rows(receive_queue=44)
    found = unread((0, told), (5, told), columns=("receive_queue", "send_queue"))
    assert (found.stand, found.exact, found.seconds) == (True, False, 5.0)


def test_a_few_queues_that_did_not_fall_are_no_proof() -> None:
    told = rows(9, receive_queue=44)
    found = unread((0, told), (5, told), columns=("receive_queue", "send_queue"))
    assert (found.stand, found.may_stand) == (False, True)


def test_two_netstat_tables_of_a_busy_server_show_queues_that_fell() -> None:
    before = [*rows(5, receive_queue=44), *rows(95, first=50000, receive_queue=0)]
    after = [*rows(5, receive_queue=0), *rows(95, first=50000, receive_queue=0)]
    after[40] = rows(1, first=50035, receive_queue=44)[0]
    found = unread((0, before), (5, after), columns=("receive_queue", "send_queue"))
    assert (found.standing, found.served, found.stand, found.may_stand) == (0, 5, False, False)


def test_connections_that_wait_to_be_accepted_are_counted() -> None:
    found = unread((0, waiting(1, inode=0)), (5, waiting(6, inode=0)))
    assert (found.stand, found.not_accepted, found.all_wait_to_be_accepted) == (True, 10, True)


def test_a_table_without_queues_shows_nothing() -> None:
    table = facts.table([facts.listening(), *rows()], columns=())
    assert unread_requests(facts.host("ldap", table), {389}) is None


def test_a_kernel_without_the_counter_shows_by_ages_what_was_read() -> None:
    """Requests of one size in both snapshots: the queue is equal, and the data in it is new."""
    found = unread((0, waiting(0.001, received=0)), (5, waiting(0.001, received=0)))
    assert (found.standing, found.stand, found.may_stand) == (0, False, False)
    stuck = unread((0, waiting(1, received=0)), (5, waiting(6, received=0)))
    assert (stuck.stand, stuck.exact) == (True, True)
