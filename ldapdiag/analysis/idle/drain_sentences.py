"""Sentences that argue an idle timeout: what it rests on, what it costs, and which demand gives way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.analysis.idle.drain_choice import CAUTIOUS, LIVE_MARGIN, MOST_CUTS
from ldapdiag.analysis.idle.idle_profile import DAY, seconds_to_record
from ldapdiag.wording import bound, counted, number, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.analysis.idle.advice import IdleAdvice
    from ldapdiag.analysis.idle.drain_choice import DrainChoice
    from ldapdiag.analysis.idle.replay import Replayed


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
    margin = f"{LIVE_MARGIN:g} times the longest idle time of a live connection"
    wanted = number(drain.unhurried)
    if drain.longest is None:
        return f"{wanted} s is a cautious value: nothing shows for how long live connections are idle."
    longest = (
        f"{drain.longest.seconds:,.0f} s, {drain.longest.source}{_who(drain.longest.client, drain.longest.account)}"
    )
    if drain.unhurried == CAUTIOUS and drain.thin and LIVE_MARGIN * drain.longest.seconds < CAUTIOUS:
        return f"{wanted} s is a cautious value, and above {margin} ({longest})."
    if LIVE_MARGIN * drain.longest.seconds > drain.unhurried:
        return f"{wanted} s is the longest candidate; a live connection was idle for longer ({longest})."
    return f"{wanted} s is the shortest candidate above {margin} ({longest})."


def _who(client: str, account: str) -> str:
    return f", {account or 'anonymous'} from {client}" if client else ""


def _source(drain: DrainChoice) -> str:
    """Return what the choice rests on where there is no access log."""
    if drain.log_seconds is not None:
        return ""
    ages = (
        f"the socket ages of {counted(drain.live_ages, 'live connection')}, which do not show when each is used again"
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
