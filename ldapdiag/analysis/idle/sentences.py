"""Sentences about ghost connections, the idle timeouts of paths, and the server's idle timeout.

Sentences that argue an idle timeout: what it rests on, what it costs, and which demand gives way.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ldapdiag.analysis.idle.drain_choice import CAUTIOUS, LIVE_MARGIN, MOST_CUTS
from ldapdiag.analysis.idle.idle_profile import DAY, seconds_to_record
from ldapdiag.analysis.pairing.direction import Direction, JoinKey
from ldapdiag.analysis.pairing.drop_style import Style, compared_ends
from ldapdiag.analysis.pairing.proof import proof_of
from ldapdiag.wording import bound, counted, number, rounded, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.analysis.hosts.instances import Instance
    from ldapdiag.analysis.idle.advice import IdleAdvice
    from ldapdiag.analysis.idle.bounds import IdleBounds, PathBounds
    from ldapdiag.analysis.idle.drain_choice import DrainChoice
    from ldapdiag.analysis.idle.replay import Replayed
    from ldapdiag.analysis.pairing.direction import Severed

MOST_SETTINGS = 5
"""Settings that a sentence names."""


def client_names(direction: Direction) -> str:
    """Return the hosts at the client's end, or its address where no host with it was read."""
    return " and ".join(direction.client_hosts) or direction.client


def reason_list(counts: Mapping[str, int]) -> str:
    """Return counts with their reasons, as in '8 (opened meanwhile); 2 (closing)'."""
    return "; ".join(f"{number(count)} ({reason})" for reason, count in counts.items())


def ghost_sentences(
    direction: Direction, server: str, bounds: IdleBounds | None, accounts: Mapping[str, int] | None
) -> Iterator[str]:
    """Yield how a direction's ghosts came about, which accounts they belong to, and what proves them."""
    style, proof = _style_sentence(direction, server), proof_of(direction).because
    yield from (proof, style) if direction.style is Style.UNKNOWN else (style, proof)
    path = bounds.for_client(direction.client) if bounds else None
    applies = path is not None and path.explains_ghosts and direction.style is not Style.CLIENT_GONE
    if path is not None and path.upper_seconds is not None and applies:
        yield from _timeout_sentences(path, "the path")
    yield from path.remarks if path is not None else ()
    if accounts and len(accounts) == 1:
        account, ghosts = next(iter(accounts)), direction.ghosts.count
        yield f"It belongs to {account}." if ghosts == 1 else f"All {number(ghosts)} belong to {account}."
    elif accounts:
        yield f"They belong to {', '.join(f'{account} ({number(count)})' for account, count in accounts.items())}."
    if direction.join is not JoinKey.FOUR_TUPLE:
        key = f"{direction.join.description} ({direction.join})"
        middlebox = f"{direction.path.translated_by} ({direction.path.kind.description})"
        yield f"On the path is {middlebox}: both ends were joined by {key}."
    if direction.ghosts.reasons:
        yield f"Not churn: {'; '.join(direction.ghosts.reasons)}."
    if direction.ghosts.unproven:
        yield f"Not counted: {reason_list(direction.ghosts.unproven)}."


def _style_sentence(direction: Direction, server: str) -> str:
    """Return why only one end still has the connections, and what shows it."""
    clients = client_names(direction)
    match direction.style:
        case Style.SILENT_DROP:
            return (
                f"A middlebox between {clients} and {server} drops the state of idle connections and notifies neither "
                f"end (silent drop: {' and '.join(_drop_signs(direction))})."
            )
        case Style.RESET_TO_CLIENT:
            compared = compared_ends(direction.ghosts.count, direction.evidence)
            ends, when = compared.ends, "between the snapshots" if compared.is_recent else "since its boot"
            aborted = "" if ends.aborted is None else f" and aborted {counted(ends.aborted, 'connection')} itself"
            return (
                f"A middlebox between {clients} and {server} resets connections at the client and does not notify the "
                f"server: {when} {clients} has received {counted(ends.resets or 0, 'reset')}{aborted}."
            )
        case Style.CLIENT_GONE:
            return f"{_how_client_went(direction)}; {server} was not notified.{_part_of_middlebox(direction)}"
        case Style.UNKNOWN:
            return _unknown_sentence(direction, clients, server)


def _how_client_went(direction: Direction) -> str:
    """Return what shows that a client is younger than its connections, as a sentence without its end."""
    clients, evidence, host = client_names(direction), direction.evidence, direction.evidence.client
    ghosts = direction.ghosts.count
    if host.booted is not None and evidence.before_boot >= ghosts:
        zone = " UTC, if its time zone is that" if host.booted.assumed else " UTC"
        return (
            f"{clients} crashed or lost its network, and booted at {host.booted.span.start:%F %T}{zone}: its "
            "connections were lost"
        )
    if evidence.before_start >= ghosts and host.started is not None:
        what = "the application" if host.owned else "every process there"
        return (
            f"{what.capitalize()} on {clients} started at {host.started.span.start:%F %T} UTC, after their last "
            "segment: the process before it ended without closing them (crash of the host or container, a restored "
            "snapshot), or its FINs were lost"
        )
    return (
        f"{clients} has opened {counted(host.opened or 0, 'connection')} since its network stack started, too few to "
        "include these: it was started again, and the connections from before were lost"
    )


def _part_of_middlebox(direction: Direction) -> str:
    """Return, as a sentence, whether a middlebox may have a part in the ghosts of a client that is gone."""
    evidence, ghosts = direction.evidence, direction.ghosts.count
    if evidence.before_boot >= ghosts or evidence.not_opened >= ghosts:
        return " No middlebox is needed to explain them."
    if evidence.is_carried_throughout(ghosts):
        return f" {' and '.join(direction.path.middleboxes)} still has them as established, and has dropped none."
    return (
        " A middlebox that dropped their state before that start would leave the same ghosts: its flow table would "
        "settle it."
    )


def _unknown_sentence(direction: Direction, clients: str, server: str) -> str:
    """Return what is unknown of how the connections ended, and what a middlebox on the path excludes."""
    if direction.evidence.is_carried_throughout(direction.ghosts.count):
        middleboxes = " and ".join(direction.path.middleboxes)
        return (
            f"{middleboxes} still has them as established, so it has not dropped their state: either {clients} ended "
            "without closing them, or another middlebox drops packets. The times at which it booted and its processes "
            "started would settle it."
        )
    return f"Whether packets from {clients} to {server} are dropped silently or answered by a reset is unknown."


def _drop_signs(direction: Direction) -> Iterator[str]:
    evidence = direction.evidence
    if evidence.probes_unanswered:
        yield f"{number(evidence.probes_unanswered)} {_have(evidence.probes_unanswered)} unanswered keepalive probes"
    if evidence.retransmitting:
        clients = "client still retransmits its" if evidence.retransmitting == 1 else "clients still retransmit their"
        yield f"{number(evidence.retransmitting)} {clients} last packet"
    if direction.severed.unanswered:
        yield f"packets of {counted(direction.severed.unanswered, 'severed connection')} are unanswered"
    if not (evidence.probes_unanswered or evidence.retransmitting or direction.severed.unanswered):
        aborted = compared_ends(direction.ghosts.count, evidence).ends.aborted or 0
        yield f"{client_names(direction)} has aborted {counted(aborted, 'connection')} and had few resets"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def severed_sentences(severed: Severed) -> Iterator[str]:
    """Yield what severed connections cost, and whether they were idle for too long or lost for another reason."""
    box, kept = severed.middlebox, severed.kept_seconds
    if severed.unanswered:
        yield (
            f"{box} drops their packets and notifies neither end (silent drop): a request on each waits for the "
            "application's timeout, or for minutes of retransmissions."
        )
    elif severed.drops_by_rule:
        yield f"{box} drops the next packet of each: the request in it waits for a timeout."
    else:
        yield f"If {box} drops the next packet of each, the request in it waits for a timeout."
    if not severed.idle_seconds:
        return
    shortest = severed.idle_seconds[0]
    if severed.expired_seconds is not None:
        yield f"Each had been idle for {shortest:,.0f} s or more: the entries have expired."
    elif kept is not None:
        yield (
            f"They were not idle for too long: one had been idle for {shortest:,.0f} s, and {box} keeps entries for "
            f"{kept:,.0f} s or more. It has lost them: a restart, a failover, a flush or a full table."
        )
    else:
        yield (
            f"One had been idle for only {shortest:,.0f} s. Whether the entries expired or {box} has lost its table is "
            "unknown: the table has no established entry to compare with."
        )


def unanswered_sentences(severed: Severed, others: int) -> Iterator[str]:
    """Yield what is known of connections whose packets are unanswered; `others`: what else the client has."""
    yield (
        "TCP sends their packets again and again, and nothing answers: a request on each waits for the application's "
        "timeout, or for minutes of retransmissions."
    )
    if others and severed.none_works:
        count = f"None of the other {others:,} has" if others > 1 else "The other one has not"
        yield f"{count} received anything since: they share the path, and count for the severity."
    yield f"What drops the packets is not proven: {reason_list(severed.unproven)}."


def idle_sentences(server: Instance, advice: IdleAdvice, bounds: IdleBounds | None) -> Iterator[str]:
    """Yield why the value is what it is, what each path allows, and what the server's timeout exempts."""
    yield from drain_sentences(advice)
    yield from path_sentences(bounds)
    if server.product is not None:
        yield server.product.idle_enforcement.exemption
        if reason := server.product.idle_enforcement.at(server.version).ignored:
            yield f"Whatever the setting, {reason}."
        if server.product.idle_enforcement.at(server.version).needs_activity:
            yield (
                "This version closes idle connections only while others are active (389-ds-base issue 6004, fixed in "
                "December 2023): on a quiet night it closes none."
            )


def path_sentences(bounds: IdleBounds | None) -> Iterator[str]:
    """Yield the idle timeout of each path; paths with the same bounds and source share a sentence."""
    networks_of: dict[tuple[str, str, tuple[str, ...]], list[PathBounds]] = defaultdict(list)
    for path in bounds.paths if bounds else ():
        if path.explains_ghosts and path.bracket != (None, None):
            networks_of[f"{path.action} {path.range_text}", path.source, path.suspects].append(path)
    for (_, _, suspects), paths in networks_of.items():
        networks = " and ".join(path.client_network for path in paths)
        default = f", the default of {' and '.join(suspects)}" if suspects else ""
        longest_used = max(paths, key=lambda path: path.lower_seconds or 0.0)
        yield from _timeout_sentences(longest_used, f"the path from {networks}", default)
    yield from dict.fromkeys(remark for path in (bounds.paths if bounds else ()) for remark in path.remarks)
    if bounds is not None and bounds.elsewhere:
        yield f"{elsewhere_sentence(bounds)}."


def unused_clauses(bounds: IdleBounds | None) -> str:
    """Return why settings that were read are not used, as further clauses of a reason; empty where all are."""
    if bounds is None:
        return ""
    remarks = dict.fromkeys(remark.removesuffix(".") for path in bounds.paths for remark in path.remarks)
    sentences = [*remarks, *([elsewhere_sentence(bounds)] if bounds.elsewhere else [])]
    return "".join(f"; {sentence[0].lower()}{sentence[1:]}" for sentence in sentences)


def elsewhere_sentence(bounds: IdleBounds) -> str:
    """Return which settings were not used, and how to show that they apply, without a full stop."""
    settings = [f"{one.source} ({bound(one.lower_seconds)})" for one in bounds.elsewhere]
    more = f" and {len(settings) - MOST_SETTINGS:,} more" if len(settings) > MOST_SETTINGS else ""
    return (
        "Not used, because neither a flow table nor a route shows that these connections pass through it: "
        f"{', '.join(settings[:MOST_SETTINGS])}{more} (to show it: conntrack -L there, of HAProxy show sess all; and "
        "ip route on both ends)"
    )


def _timeout_sentences(path: PathBounds, subject: str, default: str = "") -> Iterator[str]:
    """Yield what the middlebox of a path does and after how long; of a setting also what was observed instead."""
    middlebox = "A proxy" if path.closes_both_ends else "A middlebox"
    yield f"{middlebox} on {subject} {path.action} {path.range_text}{default}: {path.source}."
    if path.is_set_only:
        used = path.lower_seconds
        again = "" if used is None else f", and one was used again after {seconds(used)} of idle time"
        yield f"No connection was seen to be dropped after that time{again}."


def long_time(seconds: float) -> str:
    """Return a period in the largest unit of which it has two: `90 s`, `30 min`, `26.0 h`, `3.0 days`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * DAY else f"{seconds / DAY:.1f} days"


def drain_sentences(advice: IdleAdvice) -> Iterator[str]:
    """Yield why the drain value is what it is, its price, how certain that is, and what contradicts it."""
    drain = advice.drain
    yield f"{_reason(drain)} {_source(drain)}".rstrip()
    if drain.hurried:
        yield _hurry(drain)
    if drain.chosen is not None and (drain.log_seconds or 0) > drain.seconds:
        yield f"{number(drain.seconds)} s, {source_of_replay(drain)}: {cost(drain.chosen)}."
    yield from _confidence(drain)
    if advice.tidy_cuts_live and advice.tidy_seconds is not None:
        yield _tidy_gives_way(advice.tidy_seconds, drain)


def _reason(drain: DrainChoice) -> str:
    margin = f"{LIVE_MARGIN:g} times the longest idle time of a connection not known to be dead"
    wanted = number(drain.unhurried)
    if drain.longest is None:
        return f"{wanted} s is a cautious value: nothing shows for how long connections are idle before they are used."
    longest = (
        f"{drain.longest.seconds:,.0f} s, {drain.longest.source}{_who(drain.longest.client, drain.longest.account)}"
    )
    if drain.unhurried == CAUTIOUS and drain.thin and LIVE_MARGIN * drain.longest.seconds < CAUTIOUS:
        return f"{wanted} s is a cautious value, and above {margin} ({longest})."
    if LIVE_MARGIN * drain.longest.seconds > drain.unhurried:
        return (
            f"{wanted} s is the longest candidate; a connection not known to be dead was idle for longer ({longest})."
        )
    return f"{wanted} s is the shortest candidate above {margin} ({longest})."


def _who(client: str, account: str) -> str:
    return f", {account or 'anonymous'} from {client}" if client else ""


def _source(drain: DrainChoice) -> str:
    """Return what the choice rests on where there is no access log."""
    if drain.log_seconds is not None:
        return ""
    ages = (
        f"the idle times of {counted(drain.live_ages, 'connection')} held at both ends, which do not show when each is "
        "used again"
        if drain.live_ages
        else "experience"
    )
    return f"It rests on {ages}: no access log was read."


def _hurry(drain: DrainChoice) -> str:
    left = f"in {long_time(drain.seconds_left)}" if drain.seconds_left else "at any moment"
    beaten = drain.row(drain.unhurried)
    safe = "cuts no live connection" if beaten is None or not beaten.by else "cuts fewest live connections"
    return (
        f"A contradiction: {number(drain.unhurried)} s {safe}, but the descriptors may run out {left}. The live "
        f"connections give way, so the value is {number(drain.seconds)} s: a cut costs one client a reconnect, a full "
        "descriptor table refuses every client."
    )


def source_of_replay(drain: DrainChoice) -> str:
    """Return what the replay's numbers are from."""
    return f"by replay of {long_time(drain.log_seconds or 0)} of access log"


def cost(row: Replayed) -> str:
    """Return whom a timeout would have cut and how often, and what it would have freed, as a clause."""
    clauses = [_cuts(row)]
    if row.latest is not None:
        clauses.append(f"a dead connection is closed after at most {number(row.latest)} s")
    if row.peak is not None:
        clauses.append(f"at most {counted(row.peak, 'connection')} at once")
    clauses.append(f"{row.freed_seconds / 3600:,.1f} descriptor-hours freed")
    return "; ".join(clauses)


def _cuts(row: Replayed) -> str:
    if not row.by:
        return "no live connection cut"
    first = row.by[0]
    who = _who(first.client, first.account).removeprefix(", ")
    share = f"{number(first.cut + first.undecided)} of {number(row.cut + row.undecided)} are {who}"
    moment = "; the moments at which the server looks for idle ones decide" if row.undecided else ""
    return f"{_a_day(row)}, each a reconnect ({share}{moment})"


def _a_day(row: Replayed) -> str:
    low, high = rounded(row.cut_per_day), rounded(row.most_cut_per_day)
    return f"{low if low == high else f'{low} to {high}'} live connections cut a day"


def _confidence(drain: DrainChoice) -> Iterator[str]:
    """Yield what the log excludes, and how long it must be to exclude more."""
    if drain.log_seconds is not None and not drain.hurried:
        period, most = long_time(drain.log_seconds), drain.most_cuts_per_day
        if most is None:
            yield f"The access log of {period} is too short to show a connection that is used after {drain.seconds} s."
        elif drain.chosen is not None and not drain.chosen.by:
            yield f"At most {rounded(most)} cuts a day, at 95 % (rule of three: none in {period} of log)."
    if drain.silent_seconds and drain.log_seconds is not None:
        yield (
            f"The access log has no record in {long_time(drain.silent_seconds)} of its time, longer than any idle time "
            f"of a connection: only the other {long_time(drain.log_seconds)} show who uses a connection again."
        )
    if drain.gaps:
        yield f"The evidence is incomplete: {'; '.join(drain.gaps)}."
    if drain.hidden_above is not None:
        yield (
            f"Idle times above {bound(drain.hidden_above)} of clients behind the middlebox cannot be seen here: it "
            "drops such connections, until keepalive probes keep them."
        )
    is_cut = drain.chosen is not None and drain.chosen.by
    if not is_cut and (drain.most_cuts_per_day is None or drain.most_cuts_per_day > MOST_CUTS):
        wanted = long_time(seconds_to_record(drain.unhurried, MOST_CUTS))
        later = " after the cure" if drain.hidden_above is not None else ""
        yield (
            f"To be 95 % sure that {number(drain.unhurried)} s cuts fewer than one connection a day: {wanted} of "
            f"access log{later}, in which no request follows a longer idle time."
        )


def timeout_price(drain: DrainChoice, seconds: int) -> str:
    """Return the price of an idle timeout, as a sentence; empty without an access log that is longer than it."""
    row = drain.row(seconds)
    if row is None or (drain.log_seconds or 0) <= seconds:
        return ""
    return f"Price, {source_of_replay(drain)}: {cost(row)}."


def probe_price(seconds: int, connections: int | None) -> str:
    """Return what keepalive probes cost, as a sentence; empty where the connections are not known."""
    if not connections:
        return ""
    rate = rounded(connections / seconds)
    return f"Price: at most {rate} probes a second for the {counted(connections, 'connection')} in its socket table."


def _tidy_gives_way(tidy: int, drain: DrainChoice) -> str:
    longest = drain.longest.seconds if drain.longest else 0
    row = drain.row(tidy)
    price = f" ({_a_day(row)})" if row is not None and row.by else ""
    return (
        f"A contradiction: for clients to see the close, the idle timeout must be at most {number(tidy)} s, but live "
        f"connections are idle for up to {longest:,.0f} s{price}. The idle timeout gives way: raise the middlebox's "
        "timeout."
    )
