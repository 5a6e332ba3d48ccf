"""Severed connections: established at both ends, although a middlebox on their path has no entry for them.

Neither end has noticed it. A middlebox proves it only if its table is no selection, and if no connection that was in
use lacks an entry as well (docs/how-it-decides.md, "What a severed connection is").

Severed behind a NAT: connections of clients whose address a middlebox translates, and for which it has no entry.

Without the entry, which of the server's sockets is the other end is not known; the client's end is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.analysis.hosts.ages import seconds_since_received
from ldapdiag.analysis.pairing.direction import Direction, Severed
from ldapdiag.analysis.pairing.midstream import passes_without_entry
from ldapdiag.analysis.pairing.snapshot_order import nearest_first
from ldapdiag.analysis.pairing.without_entry import EntryTracer, MatchedEnds, Pair, Trace
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.hosts.kernel import CONNTRACK_COUNT, CONNTRACK_ESTABLISHED, CONNTRACK_LOOSE
from ldapdiag.wording import are, counted

if TYPE_CHECKING:
    from ldapdiag.analysis.hosts.host import Host
    from ldapdiag.analysis.pairing.flow_tables import Middlebox
    from ldapdiag.analysis.pairing.socket_index import ClientSnapshots
    from ldapdiag.analysis.pairing.unjoined_direction import UnjoinedDirection

NO_AGES = "no table shows when they were last used (ss -i), or no times of the tables are known (captured-at.txt)"

MAY_HAVE_ENDED = "they may have ended before the flow table was taken"
WITH_ENTRY = (
    "their packets are unanswered, although {} still has entries for them: another middlebox may carry them now"
)
EXPIRED = "their entries at {} had less time left than they were idle for since: its table has to be read again"
MAY_CARRY = "{} lists other clients' connections to this server, not these, and may be on their path, as routes show"
USED_SINCE = "{} has no entry for them, and they were used or opened after its table was taken, unless a clock is wrong"
NO_TABLE = "their packets are unanswered, and no flow table of a middlebox that tracks this path was read"
RULES = "its rules decide that: nft list ruleset, sysctl net.netfilter.nf_conntrack_tcp_loose"
MOST = 0.9
"""Of the entries that the kernel counts, UDP included; some come and go until the table is taken."""
CONTRADICTING = 2
"""More entries than so many times what the kernel counts are of another time or host. A namespace may count 0 beside
entries, which proves nothing of the rest."""
SEVERAL = 2
"""A single connection with an unanswered packet may have lost it by chance."""


@dataclass(frozen=True, slots=True)
class TrackingBox:
    """A middlebox on the path that tracks connections."""

    box: Middlebox
    host: Host | None
    carries_path: bool
    """Its table contains connections of this path; otherwise only the routes lead through it."""
    is_on_route: bool = False
    """The routes of an end lead through it."""
    is_on_both_routes: bool = False
    """The routes of both ends lead through it: it sees every packet."""
    translates: bool = False
    """It replaces the client's address, or the server's."""

    @property
    def is_loose(self) -> bool | None:
        """Return whether its kernel makes an entry for a packet of a connection that has none; None: unknown."""
        loose = self.host.kernel.number(CONNTRACK_LOOSE) if self.host and self.host.kernel else None
        return None if loose is None else loose != 0

    @property
    def is_readable(self) -> bool:
        """Return whether its table was read: an empty file is what a refused command leaves, too."""
        return self.box.whole or self.is_whole

    def is_in_use(self, matched: MatchedEnds) -> bool:
        """Return whether packets pass through its connection tracking: of a host without a rule, the table is empty."""
        return self.carries_path or self.box.tracks_packets_to(matched.unjoined.server_address)

    def passes(self, matched: MatchedEnds) -> bool | None:
        """Return whether its rules pass the next packet of a connection without an entry; None: not known."""
        if self.host is None or not self.host.rulesets:
            return None
        rulesets, unjoined = self.host.rulesets, matched.unjoined
        if self.translates and self.is_loose is False:
            return False  # without an entry the address is not translated
        found = passes_without_entry(rulesets, unjoined.client, unjoined.endpoint, loose=self.is_loose)
        unlisted = bool(self.box.flows) and not self.host.uses_tracking  # by rules of another tool
        return None if found and (unlisted or self.translates) else found

    @property
    def is_whole(self) -> bool:
        """Return whether its table is known to be whole: ldapdiag took it, or it is as long as the kernel counts."""
        if self.host is None or self.host.description is not None:
            return self.host is not None
        entries = self.host.kernel.number(CONNTRACK_COUNT) if self.host.kernel else None
        listed = len(self.box.flows) + len(self.box.unjoined)
        return entries is not None and MOST * entries <= listed <= CONTRADICTING * entries

    @property
    def timeout_seconds(self) -> float | None:
        """Return its idle timeout of established connections; None: not known."""
        return self.host.kernel.number(CONNTRACK_ESTABLISHED) if self.host and self.host.kernel else None

    def setting_that_explains(self, idle_seconds: Sequence[float]) -> float | None:
        """Return its timeout, if all these idle times are as long: then the entries have expired."""
        seconds = self.timeout_seconds
        return seconds if seconds is not None and idle_seconds and idle_seconds[0] >= seconds else None

    def has_entry(self, matched: MatchedEnds, pair: Pair) -> bool:
        """Return whether it tracks a connection in any state, by the key of either end."""
        key, client = matched.server_key(pair), matched.client_key(pair)
        known = key is not None and key in self.box.flows
        return known or client in self.box.client_keys or (*client[2:], *client[:2]) in self.box.flows

    def carries(self, matched: MatchedEnds, pair: Pair) -> bool:
        """Return whether it has a connection as established, by the server's key."""
        key = matched.server_key(pair)
        return key is not None and self.box.carries(key) and not self.has_expired(matched, pair)

    def has_expired(self, matched: MatchedEnds, pair: Pair) -> bool:
        """Return whether an entry of its table had less time left than the connection was idle for afterwards."""
        key = matched.server_key(pair)
        flow = self.box.flows.get(key) if key is not None else None
        left = flow.seconds_left if flow else None
        return left is not None and matched.unused_seconds(pair, self.box) > left


def with_severed(
    direction: Direction, matched: MatchedEnds, boxes: Sequence[TrackingBox], beside: Sequence[TrackingBox] = ()
) -> Direction:
    """Return a direction with its severed connections, which do not count as live; `beside` may be on its path.

    Where the middlebox has lost entries before their time, what its clients measure is not its idle timeout.
    """
    severed = find_severed(matched, boxes)
    if not severed.count and not severed.unanswered_ports:
        later = Counter(_not_listed(matched, beside)) + Counter(_expired_since(matched, boxes))
        severed = replace(severed, unproven=dict(Counter(severed.unproven) + later))
    direction = replace(direction, severed=severed, live=_count_live(matched, boxes, severed))
    listing = _listing(matched, boxes)
    if severed.unproven and (listing or severed.unanswered_ports):
        working = [] if severed.none_works else [pair for pair in matched.pairs if not matched.is_unanswered(pair)]
        listed = [pair for pair in working if all(one.carries(matched, pair) for one in listing)]
        idle_times = replace(direction.idle_times, listed=_ages(matched, listed))
        direction = replace(direction, idle_times=idle_times)
    if not severed.count:
        return direction
    held = [pair for pair in matched.pairs if pair.row not in severed.rows]
    idle_times = replace(direction.idle_times, matched=_ages(matched, held))
    if severed.expired_seconds is None:
        idle_times = replace(idle_times, before_loss=(), ghosts_of_running_clients=())
    origins = {path for box in boxes if box.box.host == severed.middlebox for path in box.box.origins}
    return replace(direction, idle_times=idle_times, origins=tuple(sorted(origins.union(direction.origins))))


def _ages(matched: MatchedEnds, pairs: Sequence[Pair]) -> tuple[float, ...]:
    """Return the idle times of connections at the server or, if that shows none, at the client."""
    at_server = seconds_since_received(matched.unjoined.table, (pair.row for pair in pairs if pair.row is not None))
    near = matched.near and matched.near.table
    at_client = near and seconds_since_received(
        near, (pair.client_row for pair in pairs if pair.client_row is not None)
    )
    return tuple(at_server or at_client or ())


def _listing(matched: MatchedEnds, boxes: Sequence[TrackingBox]) -> list[TrackingBox]:
    """Return the middleboxes whose tables list what passes."""
    return [box for box in boxes if box.is_readable and box.is_in_use(matched)]


def _count_live(matched: MatchedEnds, boxes: Sequence[TrackingBox], severed: Severed) -> int:
    """Return how many connections all tables of the path list or, without such a table, were used in time.

    In time is within the shortest timeout of the middleboxes; where none is known, since the client's first snapshot.
    """
    listing = _listing(matched, boxes) + [box for box in boxes if box.box.flows and not box.is_readable]
    settings = [box.timeout_seconds for box in boxes]
    if severed.none_works:
        return 0
    limit = min((seconds for seconds in settings if seconds is not None), default=matched.seconds_between_snapshots)
    held = [pair for pair in matched.pairs if pair.row not in severed.rows and not matched.is_unanswered(pair)]
    if listing:
        return sum(all(one.carries(matched, pair) for one in listing) for pair in held)
    return sum((age := matched.idle_seconds(pair)) is not None and age < limit for pair in held)


def find_severed(matched: MatchedEnds, boxes: Sequence[TrackingBox]) -> Severed:
    """Return the connections of a direction that a middlebox on its path has severed, or those that are unanswered."""
    found = _find_severed(matched, boxes)
    seconds = {pair: matched.unanswered_seconds(pair) for pair in matched.pairs}
    unanswered = {pair: one for pair, one in seconds.items() if one is not None}
    if found.count or len(unanswered) < min(SEVERAL, len(matched.pairs)) or not unanswered:
        return found
    since = max(unanswered.values())
    idle = [matched.idle_seconds(pair) for pair in matched.pairs if pair not in unanswered]
    return replace(
        found,
        unproven=found.unproven or {NO_TABLE: len(unanswered)},
        unanswered_ports=tuple(sorted(matched.client_key(pair)[1] for pair in unanswered)),
        none_works=all(age is not None and age >= since for age in idle),
    )


def _not_listed(matched: MatchedEnds, beside: Sequence[TrackingBox]) -> dict[str, int]:
    """Return the connections that a middlebox of unknown position does not list, unless used or opened since."""
    unproven: dict[str, int] = {}
    for tracking in beside:
        traces = Counter(map(EntryTracer(tracking.box, matched, ()).trace, matched.pairs))
        lacking = len(matched.pairs) - traces[Trace.USED] - traces[Trace.NEW]
        if lacking and not traces[Trace.USED] and not tracking.passes(matched):
            unproven[MAY_CARRY.format(tracking.box.host)] = lacking
    return unproven


def _expired_since(matched: MatchedEnds, boxes: Sequence[TrackingBox]) -> dict[str, int]:
    """Return the connections whose entries ran out after the flow table was taken, and before both ends' tables."""
    expired = {
        EXPIRED.format(box.box.host): sum(box.has_expired(matched, pair) for pair in matched.pairs)
        for box in boxes
        if not box.passes(matched)
    }
    return dict(+Counter(expired))


def _find_severed(matched: MatchedEnds, boxes: Sequence[TrackingBox]) -> Severed:
    """Return the connections of a direction that one of the middleboxes on its path has severed."""
    found = [_severed_at(tracking, matched, boxes) for tracking in boxes]
    if order := [one for one in found if one.count] or [one for one in found if one.unproven]:
        return max(order, key=lambda one: (one.unanswered, one.count))
    unanswered = sum(map(matched.is_unanswered, matched.pairs))
    passed = max(found, key=lambda one: one.passed, default=Severed())
    if passed.passed and not unanswered:
        return passed
    reason = WITH_ENTRY.format(" and ".join(box.box.host for box in boxes)) if boxes else NO_TABLE
    return Severed(unproven={reason: unanswered} if unanswered >= SEVERAL else {})


def _severed_at(tracking: TrackingBox, matched: MatchedEnds, boxes: Sequence[TrackingBox]) -> Severed:
    """Return the connections that one middlebox has no entry for, and that nothing shows to be live."""
    carried = [pair for pair in matched.pairs if tracking.has_entry(matched, pair)]
    has_entry = frozenset(carried)
    lacking = [pair for pair in matched.pairs if pair not in has_entry]
    tracer = EntryTracer(tracking.box, matched, carried)
    traces = {pair: tracer.trace(pair) for pair in lacking}
    unanswered = [pair for pair in lacking if traces[pair] is Trace.UNANSWERED]
    quiet = [pair for pair in lacking if traces[pair] is Trace.QUIET]
    passes = tracking.passes(matched) if lacking else None
    if passes and not unanswered:
        return Severed(passed=len(lacking), middlebox=tracking.box.host)
    if lacking and set(traces.values()) <= {Trace.USED, Trace.NEW} and _may_be_younger(tracking, matched, tracer):
        return Severed(unproven={USED_SINCE.format(tracking.box.host): len(lacking)}, middlebox=tracking.box.host)
    dead = unanswered if passes else unanswered + quiet
    count = Counter(traces.values())
    unknown = Counter({NO_AGES: count[Trace.UNKNOWN], MAY_HAVE_ENDED: count[Trace.ENDED]})
    used = [pair for pair in lacking if traces[pair] is Trace.USED and tracer.existed_before(pair)]
    reason = (
        _unused(tracking, matched, passes=passes)
        or _needs_the_client(tracking, matched, tracer)
        or _used_without_entry(tracking, used)
        or _unanswered_with_entry(tracking, matched, carried)
        or _may_not_track(tracking, unanswered, passes=passes)
        or _may_pass(tracking, unanswered, passes=passes)
    )
    in_use = sum(count[one] for one in (Trace.USED, Trace.NEW, Trace.ENDED))
    part = _may_see_a_part(tracking, matched, carried, quiet, in_use)
    if not reason and (doubt := part or _doubt(tracking, matched, carried, dead, boxes)):
        if len(unanswered) < SEVERAL or _doubt(tracking, matched, carried, unanswered, boxes):
            reason = doubt
        else:  # those that were used prove it for themselves
            unknown[doubt] += len(dead) - len(unanswered)
            dead = unanswered
    if reason:
        unproven = dict(+(Counter({reason: len(dead)}) + unknown))
        return Severed(unproven=unproven, middlebox=tracking.box.host, lacks_rules=passes is None)
    idle = {pair: tracer.idle_seconds(pair) for pair in dead}
    ages = tuple(sorted(seconds for seconds in idle.values() if seconds is not None))
    return Severed(
        ports=tuple(sorted(matched.client_key(pair)[1] for pair in dead)),
        rows=frozenset(pair.row for pair in dead if pair.row is not None),
        unproven=dict(+unknown),
        unanswered=len(unanswered),
        middlebox=tracking.box.host,
        carries_path=tracking.carries_path,
        is_whole=tracking.is_whole,
        is_timed=tracer.is_timed,
        drops_by_rule=passes is False,
        is_on_both_routes=tracking.is_on_both_routes,
        kept_seconds=tracking.box.kept_seconds(matched.unjoined.endpoint) or tracking.setting_that_explains(ages),
        idle_seconds=ages,
    )


def _may_be_younger(tracking: TrackingBox, matched: MatchedEnds, tracer: EntryTracer) -> bool:
    """Return whether a table may have been taken later than its time says: a clock may be wrong.

    It lists nothing of a path of which both ends' routes lead through it; or idle connections show it.
    """
    flows = ((pair, tracking.box.flows.get(key)) for pair in matched.pairs if (key := matched.server_key(pair)))
    left = {pair: flow.seconds_left for pair, flow in flows if flow and flow.seconds_left is not None}
    if (timeout := tracking.timeout_seconds) is not None and tracer.is_younger(
        {pair: timeout - seconds for pair, seconds in left.items()}
    ):
        return True
    is_in_use = tracking.is_readable and tracking.is_in_use(matched)
    return tracking.is_on_both_routes and not tracking.carries_path and is_in_use


def _doubt(
    tracking: TrackingBox,
    matched: MatchedEnds,
    carried: Sequence[Pair],
    dead: Sequence[Pair],
    boxes: Sequence[TrackingBox],
) -> str | None:
    """Return why connections may be live although this middlebox has no entry: by their way, or by its table."""
    return _other_way(tracking, matched, dead, boxes) or _may_be_selection(tracking, matched, carried, dead)


def _used_without_entry(tracking: TrackingBox, used: Sequence[Pair]) -> str | None:
    """Return why the middlebox decides nothing: connections pass although it has no entry for them."""
    count = counted(len(used), "connection")
    return f"{tracking.box.host} has no entry for {count} in use either" if used else None


def _may_see_a_part(
    tracking: TrackingBox, matched: MatchedEnds, carried: Sequence[Pair], quiet: Sequence[Pair], in_use: int
) -> str | None:
    """Return why quiet connections, whose client was not read, may pass another way than those with an entry.

    An entry that has expired, or was lost, was idle for longer than every one that is left.
    """
    if matched.near is not None or not quiet:
        return None
    kept = [pair for pair in carried if tracking.carries(matched, pair)]
    ages = [seconds for pair in kept if (seconds := matched.idle_seconds(pair)) is not None]
    mixed = sum((matched.idle_seconds(pair) or 0.0) <= max(ages, default=0.0) for pair in quiet)
    if not mixed and in_use < len(quiet):
        return None
    lacking, box = counted(mixed or in_use, "connection"), tracking.box.host
    return f"{box} has no entry for {lacking} used as lately as those that it lists, and may see only a part"


def _needs_the_client(tracking: TrackingBox, matched: MatchedEnds, tracer: EntryTracer) -> str | None:
    """Return why a middlebox alone proves nothing of a client that was not read: by its entries, or by its time."""
    if matched.near is not None:
        return None
    if any(tracking.carries(matched, pair) for pair in matched.pairs):
        return MAY_HAVE_ENDED if tracer.is_late else None
    return f"{tracking.box.host} lists no connection of {matched.unjoined.client} as established, and may carry none"


def _unanswered_with_entry(tracking: TrackingBox, matched: MatchedEnds, carried: Sequence[Pair]) -> str | None:
    """Return why the missing entries are not the cause: what has an entry is unanswered as well."""
    unanswered = sum(map(matched.is_unanswered, carried))
    if not carried or 2 * unanswered < len(carried):
        return None
    count = counted(unanswered, "connection")
    return f"{count} with an entry at {tracking.box.host} {are(unanswered)} unanswered as well"


def _other_way(
    tracking: TrackingBox, matched: MatchedEnds, dead: Sequence[Pair], boxes: Sequence[TrackingBox]
) -> str | None:
    """Return why they may pass by: another middlebox carries them, and no connection is known to pass through both."""
    if tracking.is_on_both_routes:
        return None
    unanswered = sum(map(matched.is_unanswered, dead))
    has_moved = unanswered == len(dead) or unanswered >= SEVERAL
    for other in boxes:
        if has_moved and tracking.is_on_route and not other.is_on_route:
            continue  # its entries are from before: the routes have left it, and what was used since is unanswered
        if other is tracking or not any(other.carries(matched, pair) for pair in dead):
            continue
        if not any(other.has_entry(matched, pair) and tracking.has_entry(matched, pair) for pair in matched.pairs):
            return f"{other.box.host} carries them, and they may not pass through {tracking.box.host}"
    return None


def _unused(tracking: TrackingBox, matched: MatchedEnds, *, passes: bool | None) -> str | None:
    """Return why a table proves nothing: it was not read, or no packet may pass through it."""
    box = tracking.box.host
    if not tracking.is_readable:
        return f"the flow table of {box} is cut, or the command for it was refused"
    if passes is None and not tracking.is_in_use(matched):
        lacks = "has no entry of this IP version" if tracking.box.flows else "is empty"
        return f"the flow table of {box}, on the path, {lacks}, and {box} may not track connections ({RULES})"
    return None


def _may_not_track(tracking: TrackingBox, unanswered: Sequence[Pair], *, passes: bool | None) -> str | None:
    """Return why missing entries prove nothing of connections without any packet since: it may track no such path."""
    drops = passes is False or (tracking.is_loose is False and tracking.is_whole)
    if tracking.carries_path or unanswered or (drops and tracking.is_on_both_routes):
        return None
    return f"{tracking.box.host} tracks other connections, and none of this path ({RULES})"


def _may_pass(tracking: TrackingBox, unanswered: Sequence[Pair], *, passes: bool | None) -> str | None:
    """Return why connections without a packet since may go on: the middlebox may make a new entry for the next."""
    if unanswered or passes is False or tracking.is_loose is False:
        return None
    return f"{tracking.box.host} has no entry for them, and may pass their next packets ({RULES})"


def _may_be_selection(
    tracking: TrackingBox, matched: MatchedEnds, carried: Sequence[Pair], dead: Sequence[Pair]
) -> str | None:
    """Return why the flow table may not contain all entries; None where it is whole, or each of them is unanswered."""
    if tracking.is_whole or all(map(matched.is_unanswered, dead)) or len(carried) >= len(dead):
        return None
    box = tracking.box.host
    return f"the flow table of {box} has few connections of this path, and may be a selection (sysctl -a counts them)"


def severed_behind_nat(unjoined: UnjoinedDirection, client: ClientSnapshots, boxes: Sequence[TrackingBox]) -> Severed:
    """Return the connections of a client of which a NAT has no entry; the server shows none of this direction."""
    near = nearest_first(client, unjoined.snapshot)[0]
    pairs = tuple(Pair(None, row) for row in near.established(unjoined.direction).values())
    return find_severed(MatchedEnds(unjoined, near, client.indexes, pairs), boxes)


def count_severed(unjoined: UnjoinedDirection, box: Middlebox, clients: Sequence[ClientSnapshots]) -> int:
    """Return how many connections to this endpoint a NAT may have severed: sockets of the server that are no ghosts."""
    count = 0
    for client in clients:
        for direction in client.directions_to(*unjoined.endpoint):
            if (direction[2], *unjoined.endpoint) in box.translated_clients:
                own = replace(unjoined, client=direction[2], rows=[])
                found = severed_behind_nat(own, client, [TrackingBox(box, None, carries_path=True)])
                count += found.count + sum(found.unproven.values())
    return count
