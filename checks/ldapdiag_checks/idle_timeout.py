"""idle-timeout: idle timeouts and keepalives that leave dead connections open, or close live ones.

The numbers behind a drain value, by the keys of the contract.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.bounds import IdleBounds
from ldapdiag.analysis.idle.drain_choice import SHORTEST
from ldapdiag.analysis.idle.drain_remedies import exempt_ghosts, idle_remedies, reaches_open
from ldapdiag.analysis.idle.idle_ages import IdleAges, idle_ages
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.idle.sentences import idle_sentences, unused_clauses
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.analysis.load.descriptors import Descriptors
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Threshold
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.flows import BoxTimeouts
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.servers.client_settings.choosing import settings_command
from ldapdiag.wording import are, bound, counted

if TYPE_CHECKING:
    from ldapdiag.analysis.idle.drain_choice import DrainChoice
    from ldapdiag.analysis.idle.replay import Replayed


@check(group="connections", number=MainNumber("would_close_now", "connections that the timeout would close now"))
def judge(  # noqa: PLR0913, PLR0917  the kinds of evidence about idle connections
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    bounds: IdleBounds | None = None,
    pairing: Pairing | None = None,
    kernels: tuple[KernelSettings, ...] = (),
    descriptors: Descriptors | None = None,
    hosts: tuple[Host, ...] = (),
    accounts: Accounts | None = None,
    *,
    high_seconds: Annotated[float, Threshold("s", "a dead connection that stays open for longer is high")] = 600.0,
) -> Iterator[Verdict]:
    """Idle timeouts and keepalives that leave dead connections open, or close live ones.

    ## What it looks at
    The server's idle timeout and keepalive (configured, shown by the timers of its sockets, or the default of its
    version); how long a ghost connection stays open today (the sooner of both); after how many idle seconds the
    firewall drops its state (its own setting, or bounds measured from connections that survived and that did not);
    and the longest idle time of a connection held at both ends.

    ## Severity
    By default:

    - high: there are ghosts, and one stays open for more than 600 s, for ever, or for an unknown time.
    - medium: there are ghosts that end sooner; or the idle timeout is longer than the firewall's, so that clients
      never see the close. (Whether it is too short, idle-timeout-too-low finds in the access log.)
    - low: no ghosts are seen, but nothing would close one.

    ## Why it matters
    A firewall that drops idle connections creates ghosts without end; the server's timeouts decide whether they
    fill the descriptor table.

    ## What to do
    In this order: drain (close the dead connections now: ss -K on the server's host, where each is proven dead; else
    what proves them; to wait, where a timeout in force ends them before the descriptors run out; or a restart), limit
    (the smallest that is 1.5 times the longest idle time of what is not known to be dead and cuts no live connection
    in the access log; 300 s at least, unless the log is long enough to exclude one cut a day at a shorter one;
    shorter where the descriptors may run out before), cure (keepalive probes after half of the firewall's timeout, at
    the server or at the clients), tidy (an idle timeout below the firewall's; if that would be less than 60 s, or
    live connections are idle for longer, raise the firewall's timeout instead).
    slapd applies a new idle timeout to open connections, too, so there it is the drain; 389-ds and OpenDJ apply it to
    connections that are opened, or bound, later. Each remedy states what it changes, its price and risk, and how to
    undo it.

    ## When it is harmless
    Without a middlebox on the path and with keepalive on, an idle timeout of 0 costs only the wait for the probes.
    """
    outcome = severity_of(lifetime, advice, bounds, high_seconds)
    if outcome is not None:
        exhausted = descriptors is not None and descriptors.exhausted
        exempt = exempt_ghosts(server, pairing.directions, accounts) if pairing and accounts else 0
        remedies = tuple(
            idle_remedies(
                server,
                lifetime,
                advice,
                bounds,
                pairing,
                kernels,
                hosts=hosts,
                exhausted=exhausted,
                exempt=exempt,
            )
        )
        ages = idle_ages(pairing.directions, bounds.tightest if bounds else None) if pairing else None
        yield _finding(server, lifetime, advice, bounds, ages, outcome, remedies, exempt)
    elif lifetime.idle_timeout_seconds is None:
        yield NotJudged(
            subject=server.name,
            reason=f"the idle timeout is unknown: {lifetime.idle_timeout_source}",
            missing=(BoxTimeouts.kind if server.proxy else Configuration.kind,),
            how=BoxTimeouts.how if server.proxy else Configuration.how,
        )
    elif pairing is None:
        yield NotJudged.without(
            SocketTable,
            server.name,
            f"no table shows the connections of {server.name}, so ghosts are unknown; {lifetime.summary}",
        )
    elif advice.unclassified:
        yield NotJudged.without(
            SocketTable,
            server.name,
            f"{counted(advice.unclassified, 'connection')} may be dead, which is not known; {lifetime.summary}",
        )
    else:
        yield Clear(subject=server.name, reason=f"there are no ghosts, and {lifetime.summary}{unused_clauses(bounds)}")


def severity_of(lifetime: GhostLifetime, advice: IdleAdvice, bounds: IdleBounds | None, long: float) -> Severity | None:
    """Return how bad it is, by the numbers of the manual page; None when nothing is wrong."""
    current, lives = lifetime.idle_timeout_seconds, lifetime.seconds
    if advice.ghosts:
        return Severity.HIGH if lives is None or lives > long else Severity.MEDIUM
    drops_after = bounds.dropped_by_seconds if bounds else None
    if current and drops_after is not None and current > drops_after:
        return Severity.MEDIUM
    if current == 0 and lifetime.keepalive is False:
        return Severity.LOW
    return None


def _finding(  # noqa: PLR0913, PLR0917  what is known of one server
    server: Instance,
    lifetime: GhostLifetime,
    advice: IdleAdvice,
    bounds: IdleBounds | None,
    ages: IdleAges | None,
    severity: Severity,
    remedies: tuple[Remedy, ...],
    exempt: int,
) -> Finding:
    known = lifetime.idle_timeout_seconds is not None and (not advice.ghosts or lifetime.seconds is not None)
    return Finding(
        subject=server.name,
        severity=severity,
        confidence=Confidence.CERTAIN if known else Confidence.LIKELY,
        title=_title(lifetime, None if advice.clients_gone else bounds),
        detail="\n".join(
            [
                *_reach(server, lifetime, advice, exempt),
                *idle_sentences(server, advice, bounds),
                *_kept(lifetime, advice),
                _for_clients(lifetime, advice),
            ]
        ),
        observed=observed(server, lifetime, advice, bounds) | {"idle_ages": ages and ages.observed},
        server=server.name,
        hosts=(server.host,),
        remedies=remedies,
        origins=server.origins_of(server.configuration, server.kernel, server.monitor),
    )


def observed(
    server: Instance, lifetime: GhostLifetime, advice: IdleAdvice, bounds: IdleBounds | None
) -> dict[str, Any]:
    """Return the numbers by the contract's keys."""
    tightest = bounds.tightest if bounds else None
    return {
        "server": server.name,
        "current_seconds": lifetime.idle_timeout_seconds,
        "ghost_lifetime_seconds": lifetime.seconds,
        "keepalive_seconds": lifetime.keepalive_seconds,
        "recommended_seconds": advice.recommended_seconds,
        "tidy_seconds": advice.tidy_seconds,
        "tidy_unsafe": advice.tidy_unsafe,
        "box_action": tightest.action if tightest else None,
        "box_lower_seconds": tightest.bracket[0] if tightest else bounds.lower_seconds if bounds else None,
        "box_upper_seconds": tightest.bracket[1] if tightest else None,
        "suspects": list(tightest.suspects) if tightest else [],
        "paths": [path.observed for path in bounds.paths] if bounds else [],
        "not_used": [{"box": one.middlebox, "seconds": one.lower_seconds} for one in bounds.elsewhere]
        if bounds
        else [],
        "would_close_now": advice.would_close_now,
        "would_cut_living": advice.would_cut_live,
        **drain_numbers(advice.drain),
    }


def _reach(server: Instance, lifetime: GhostLifetime, advice: IdleAdvice, exempt: int) -> Iterator[str]:
    """Yield which of the ghosts an idle timeout does not close."""
    if exempt:
        yield (
            f"{counted(exempt, 'ghost')} {are(exempt)} of accounts that no idle timeout applies to: ss -K, keepalive "
            "or a restart closes theirs."
        )
    if 0 < advice.ghosts <= exempt:
        yield (
            f"So no step sets the recommended {advice.recommended_seconds:,} s: it closes none of these ghosts, and "
            "reaches connections of other accounts alone."
        )
    if advice.ghosts and lifetime.idle_timeout_seconds and not reaches_open(server):
        does = "does" if server.idle_enforcement.reaches_open_connections is False else "may"
        yield (
            f"The idle timeout of {lifetime.idle_timeout_seconds:,} s {does} not reach connections that were opened, "
            "or bound, before it was set."
        )


def _kept(lifetime: GhostLifetime, advice: IdleAdvice) -> Iterator[str]:
    """Yield that the present timeout drains already, where it is not longer than the recommended one."""
    current = lifetime.idle_timeout_seconds
    is_raised = lifetime.proxy and (current or 0) < SHORTEST
    if current and current <= advice.recommended_seconds and not is_raised:
        yield f"The present idle timeout of {current:,} s is not longer: it need not change."


def _for_clients(lifetime: GhostLifetime, advice: IdleAdvice) -> str:
    """Return how to print what clients must set, by the timeout that will be in force."""
    current, drain = lifetime.idle_timeout_seconds, advice.recommended_seconds
    command = settings_command(min(current or drain, drain), advice.keepalive_seconds)
    return f"The settings of clients that lose no request to these timeouts: {command}."


def _title(lifetime: GhostLifetime, bounds: IdleBounds | None) -> str:
    current, drops_after = lifetime.idle_timeout_seconds, bounds.dropped_by_seconds if bounds else None
    if current and drops_after is not None and current > drops_after:
        above = f"above the firewall's {bound(drops_after)}"
        return f"The idle timeout of {current:,} s is {above}: clients never see the close"
    if current:
        return f"The idle timeout of {current:,} s lets dead connections accumulate"
    if current is None:
        return f"The idle timeout is unknown; {lifetime.summary}"
    return f"No idle timeout: {lifetime.summary}"


def drain_numbers(drain: DrainChoice) -> dict[str, Any]:
    """Return what the choice rests on, and each candidate with its price."""
    longest = drain.longest
    return {
        "unhurried_seconds": drain.unhurried,
        "seconds_left": drain.seconds_left,
        "longest_idle_seconds": longest.seconds if longest else None,
        "longest_idle_source": longest.source if longest else None,
        "live_ages": drain.live_ages,
        "log_seconds": drain.log_seconds,
        "silent_seconds": drain.silent_seconds,
        "thin": drain.thin,
        "gaps": list(drain.gaps),
        "hidden_above_seconds": drain.hidden_above,
        "most_cuts_per_day": drain.most_cuts_per_day,
        "replay": [_candidate(row) for row in drain.rows],
    }


def _candidate(row: Replayed) -> dict[str, Any]:
    first = row.by[0] if row.by else None
    return {
        "timeout_seconds": row.timeout,
        "cut": row.cut,
        "cut_per_day": row.cut_per_day,
        "most_cut_per_day": row.most_cut_per_day,
        "undecided": row.undecided,
        "exempt": row.exempt,
        "first_client": first.client if first else None,
        "first_account": first.account if first else None,
        "closed_unused": row.unused,
        "closes_by_seconds": row.latest,
        "peak": row.peak,
        "freed_seconds": row.freed_seconds,
        "held_seconds": row.held_seconds,
    }
