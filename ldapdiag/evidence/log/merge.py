"""merge and combine: the algebra of Segments (DESIGN 4). Both consume what they are given.

total = start()
for data in pieces: total = merge(total, scan(data))
finish(total)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.log.counting import answer_held, count_for_nobody, end, settle, unrequested
from ldapdiag.evidence.log.joining import join
from ldapdiag.evidence.log.kinds import ABANDON, UNKNOWN
from ldapdiag.evidence.log.runs import Run
from ldapdiag.evidence.log.segment import SAMPLES, Segment
from ldapdiag.evidence.log.tables import CAPS, RESTART, Caps, add

if TYPE_CHECKING:
    from ldapdiag.evidence.log.connection import Connection


def start(caps: Caps = CAPS) -> Segment:
    """Return the Segment before the first record of a stream: what comes next has nothing before it."""
    segment = Segment(caps)
    segment.anchored = True
    return segment


def merge(left: Segment, right: Segment) -> Segment:
    """Return what two adjacent pieces of one stream add up to."""
    _add(left, right)
    for run in right.runs:
        _repoint(left, run)
    if left.anchored:
        for run in right.runs:
            _live_on(left, run)
        _let_go(left)
        return left
    for run in right.runs:
        if left.runs[-1].ascends(run):
            _join_runs(left, left.runs[-1], run)
        else:
            left.runs.append(run)
    return left


def finish(segment: Segment) -> Segment:
    """Return the Segment of a stream that has been read to its end: what is open is open where the log ends."""
    if not segment.anchored:
        segment = merge(start(segment.caps), segment)
    if segment.runs:
        _end_life(segment, at_end=True)
        segment.runs = []
    return segment


def forget(segment: Segment) -> Segment:
    """Return an anchored Segment that counts nothing of what has been, but knows the connections that are open."""
    fresh = start(segment.caps)
    (life,) = segment.runs
    for connection in life.connections.values():
        if connection.client is not None:
            connection.row = fresh.client(connection.client)
        connection.pending = {op: (asked, UNKNOWN, None, b"") for op, (asked, *_) in connection.pending.items()}
        connection.operations = connection.continued = 0
        connection.owed, connection.failures, connection.rests = {}, {}, {}
    life.initial += life.delta
    life.delta = life.top = 0
    fresh.runs = [life]
    for name in ("zones", "servers", "instances", "resolution"):
        setattr(fresh, name, getattr(segment, name))
    return fresh


def combine(one: Segment, other: Segment) -> Segment:
    """Return what two finished streams of different servers add up to; nothing is paired, the order is nothing."""
    _add(one, other)
    one.samples = sorted({*one.samples, *other.samples})[:SAMPLES]
    return one


def _add(left: Segment, right: Segment) -> None:
    """Add up what does not depend on the edge."""
    for name in (
        "lines",
        "misread",
        "passed_over",
        "lost",
        "internal",
        "continued",
        "holes",
        "opened",
        "waited",
        "took",
    ):
        setattr(left, name, getattr(left, name) + getattr(right, name))
    left.lives += right.lives
    left.open_at_end += right.open_at_end
    left.open_before += right.open_before
    left.ended_by_restart += right.ended_by_restart
    left.peak = max(left.peak, right.peak)
    left.resolution = max(left.resolution, right.resolution)
    left.longest_wait = max(left.longest_wait, right.longest_wait)
    left.first_time = min((t for t in (left.first_time, right.first_time) if t is not None), default=None)
    left.last_time = max((t for t in (left.last_time, right.last_time) if t is not None), default=None)
    left.samples = (left.samples + right.samples)[:SAMPLES]
    left.zones |= right.zones
    left.cut_short |= right.cut_short
    left.operations = [mine + theirs for mine, theirs in zip(left.operations, right.operations, strict=True)]
    left.forgotten = [mine + theirs for mine, theirs in zip(left.forgotten, right.forgotten, strict=True)]
    for err, count in right.results.items():
        left.results[left.result_code(err)] += count
    add(left.waits, right.waits)
    _add_tables(left, right)


def _add_tables(left: Segment, right: Segment) -> None:
    left.servers.take(right.servers)
    left.instances.take(right.instances)
    left.closed.take(right.closed)
    left.noted.take(right.noted)
    left.accounts.take(right.accounts)
    left.failures.take(right.failures)
    left.not_indexed.take(right.not_indexed)
    left.modified.take(right.modified)
    left.noticed.take(right.noticed)
    for looked_up, told in right.lookups.items():
        left.looked_up(looked_up, *told)
    left.lookups.full |= right.lookups.full
    for asker, counts in right.attribution.items():
        left.attribute(asker, counts)
    left.attribution.full |= right.attribution.full
    for shape, row in right.shapes.items():
        left.shape(shape).take(row, left.noted)
    left.shapes.full |= right.shapes.full
    for address, client in right.clients.items():
        left.client(address).take(client, left.closed)
    left.clients.full |= right.clients.full


def _repoint(segment: Segment, run: Run) -> None:
    """Let the connections of a run count in the rows of the Segment they have come to."""
    for connection in (*run.connections.values(), *run.gone.values()):
        if connection.row is not None and connection.client is not None:
            connection.row = segment.client(connection.client)
        for op, pending in connection.pending.items():
            asked, kind, row, subject = pending
            if row is not None:
                connection.pending[op] = (asked, kind, segment.shape(row.key), subject)


def _live_on(segment: Segment, run: Run) -> None:
    """Let the current life of an anchored Segment go on with a run, or end with it."""
    if segment.runs[-1].restarts(run):
        _end_life(segment, at_end=False)
        segment.runs = [Run()]
    _join_runs(segment, segment.runs[-1], run)


def _join_runs(segment: Segment, life: Run, run: Run) -> None:
    for number, connection in run.gone.items():
        life.after_close(number, connection.first).pending.update(connection.pending)
    for number, right in run.connections.items():
        left = life.connections.get(number)
        if right.opened is None and life.is_gone(number):
            _pass_over(segment, life, number, right)
            continue
        if left is not None and left.opened is not None and right.opened is not None:
            _supersede(segment, number, left)
            left = None
        if left is None:
            connection = right
            life.initial += segment.anchored and right.opened is None
        else:
            connection = left
            life.initial -= segment.anchored and left.opened is None and right.opened is not None
            was_closed = left.closed is not None
            join(segment, number, left, right)
            if was_closed and right.pending:
                life.after_close(number, right.first).pending.update(right.pending)
        life.connections[number] = connection
        if segment.anchored:
            _decide(segment, life, number, connection)
            settle(segment, connection)
        if connection.done if segment.anchored else connection.complete:
            end(segment, number, connection)
            del life.connections[number]
    life.count_on(run)


def _supersede(segment: Segment, number: int, connection: Connection) -> None:
    """End a connection whose number is opened anew: there was a restart that no other opening showed."""
    if connection.closed is None:
        connection.code = RESTART
        segment.ended_by_restart += 1
    end(segment, number, connection)


def _pass_over(segment: Segment, life: Run, number: int, connection: Connection) -> None:
    """Count for nobody what was written of a connection after its close."""
    _decide(segment, life, number, connection)
    count_for_nobody(segment, connection, after_close=True)
    if connection.pending:
        life.after_close(number, connection.first).pending.update(connection.pending)


def _decide(segment: Segment, life: Run, number: int, connection: Connection) -> None:
    """Count results without request of a connection before which there is nothing."""
    held, connection.held = connection.held, []
    for answer in held:
        gone = life.gone.get(number)
        pending = gone.pending.pop(answer.op, None) if gone and answer.kind != ABANDON else None
        if gone is None or pending is None:
            unrequested(segment, number, answer)
        else:
            answer_held(segment, number, gone, pending, answer, gone.account)


def _end_life(segment: Segment, *, at_end: bool) -> None:
    """End a server life: by a restart, which ends what is open, or where the log ends."""
    (life,) = segment.runs
    for number, connection in life.connections.items():
        if connection.closed is None and not at_end:
            connection.code = RESTART
            segment.ended_by_restart += 1
        end(segment, number, connection, at_end=at_end and connection.closed is None)
    segment.peak = max(segment.peak, life.peak)
    segment.lives += life.last >= 0
    segment.open_before += life.initial


def _let_go_of_requests(segment: Segment, life: Run) -> None:
    """Let go of the oldest requests of those connections that have the most, when too many wait for a result."""
    waiting = sum(len(connection.pending) for connection in life.connections.values())
    if waiting <= segment.caps.pending:
        return
    segment.cut_short.add("pending")
    each = max(1, segment.caps.pending // (2 * len(life.connections)))
    for connection in life.connections.values():
        _forget_requests(segment, connection, list(connection.pending)[:-each])


def _forget_requests(segment: Segment, connection: Connection, ops: list[int]) -> None:
    """Let go of requests; what was asked before --since is of no kind any more."""
    for op in ops:
        _, kind, _, _ = connection.pending.pop(op)
        if kind != UNKNOWN:
            segment.forgotten[kind] += 1


def _let_go(segment: Segment) -> None:
    """Let go of closed connections whose results do not come, and of the quietest when there are too many."""
    life = segment.runs[-1]
    latest = segment.last_time or 0
    over = [
        number
        for number, connection in life.connections.items()
        if connection.opened is not None and connection.is_gone(latest)
    ]
    for number in over:
        end(segment, number, life.connections.pop(number))
    _let_go_of_requests(segment, life)
    if len(life.connections) <= segment.caps.connections:
        return
    segment.cut_short.add("connections")

    def noise(number: int) -> tuple[bool, bool, int]:
        connection = life.connections[number]
        return connection.closed is None, bool(connection.pending), connection.rested or connection.first

    for number in sorted(life.connections, key=noise)[: len(life.connections) - segment.caps.connections // 2]:
        connection = life.connections.pop(number)
        _forget_requests(segment, connection, list(connection.pending))
        end(segment, number, connection, at_end=connection.closed is None)
