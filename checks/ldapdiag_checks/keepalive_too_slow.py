"""keepalive-too-slow: keepalive probes that are sent after the firewall has dropped its state.

ClientKeepalive: whether the clients of a path send their keepalive probes within the middlebox's timeout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.hosts.instances import Instance, facts_of, merge_settings
from ldapdiag.analysis.idle.advice import IdleAdvice
from ldapdiag.analysis.idle.bounds import SELDOM, IdleBounds, PathBounds, network
from ldapdiag.analysis.idle.drain_remedies import cure_remedies
from ldapdiag.analysis.idle.keepalive import GhostLifetime
from ldapdiag.analysis.idle.sentences import unused_clauses
from ldapdiag.analysis.pairing.pairing import Pairing
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.host_facts import KernelSettings
from ldapdiag.finding import NO_COMMAND, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.remedy import Remedy
from ldapdiag.servers.hosts.kernel import KEEPALIVE_TIME
from ldapdiag.wording import bound, counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.analysis.pairing.direction import Direction

UNSEEN = "No connection was seen to be dropped after that time: a setting alone shows what may happen."
UNREAD = (
    "Whether a connection was dropped after that time is not known, because clients were not read: see "
    "ghost-connections and severed-connections."
)

WHY = (
    f"{NO_COMMAND}no connection was dropped after that time, so none is proposed; ghost-connections and "
    "severed-connections show the first that is."
)


@check(group="connections", number=MainNumber("keepalive_seconds", "keepalive time", "value"))
def judge(
    lifetime: GhostLifetime,
    bounds: IdleBounds,
    server: Instance,
    pairing: Pairing | None = None,
    kernels: tuple[KernelSettings, ...] = (),
    advice: IdleAdvice | None = None,
) -> Iterator[Verdict]:
    """Keepalive probes that are sent after the firewall has dropped its state.

    ## What it looks at
    The server's keepalive time (configured, the default of its version, or its kernel's), against the idle time
    after which a middlebox on the path drops its state: its own setting, or the upper bound in the evidence. A path is
    left out if its clients' sockets show that they send probes in time: the server received no data for longer than
    half of that timeout, and no client was without a packet for that long.

    - certain: by the middlebox's own setting, and connections were dropped after that time.
    - likely: by measurement, or by a setting after which no connection was seen to be dropped.

    ## Severity
    - medium: the keepalive time is as long as the middlebox's timeout or longer, or keepalive is off.
    - low: it is longer than half of that timeout, so that one lost probe is enough; or no connection was seen to be
      dropped after that time.
    - info: no connection was seen to be dropped, and the timeout is a day or longer (the kernel's default is 5 days).

    ## Why it matters
    Probes in time keep the firewall's state and close only dead connections; keepalive at one end is enough. With
    the kernel's default of 7200 s, nearly every firewall has dropped the connection long before the first probe.

    ## What to do
    Set the keepalive time to half of the middlebox's timeout or less, at one end: the commands are printed.

    ## When it is harmless
    When no application leaves connections idle for that long.
    """
    if bounds.direct:
        yield Clear(subject=lifetime.server, reason="every client is on the server's own host or in its own subnet")
        return
    clients = {path.client_network: client_keepalives(pairing, path, kernels) for path in bounds.paths}
    probed = [path for path in bounds.paths if all_in_time(clients[path.client_network])]
    if probed and len(probed) == len(bounds.paths):
        shortest = min(path.upper_seconds or 0.0 for path in probed)
        reason = f"every client sends probes in time; shortest timeout of a middlebox {bound(shortest)}"
        yield Clear(subject=lifetime.server, reason=reason)
        return
    bounds = replace(bounds, paths=tuple(path for path in bounds.paths if path not in probed))
    path = _slowest_for(lifetime.keepalive_seconds, bounds)
    if path is None or path.upper_seconds is None:
        proxy = bounds.tightest
        aside = f"; {proxy.middlebox} {proxy.action} {proxy.range_text}, probes or not" if proxy else ""
        yield NotJudged.without(
            KernelSettings,
            lifetime.server,
            f"the timeout of a middlebox on the path is unknown{aside}{unused_clauses(bounds)}",
            how=bounds.how,
        )
        return
    upper, seconds = path.upper_seconds, lifetime.keepalive_seconds
    if seconds is None and lifetime.keepalive is not False:
        yield NotJudged.without(
            Configuration, lifetime.server, f"the server's keepalive is unknown: {lifetime.keepalive_source}"
        )
    elif seconds is not None and seconds <= upper / 2 and _may_be_sooner(seconds, path):
        yield NotJudged.without(
            KernelSettings,
            lifetime.server,
            f"keepalive is {seconds:,} s, and the idle timeout on the path is at most {bound(upper)}, or shorter",
            how=bounds.how,
        )
    elif seconds is not None and seconds <= upper / 2:
        yield Clear(subject=lifetime.server, reason=f"keepalive {seconds:,} s, timeout of the middlebox {bound(upper)}")
    else:
        origins = server.origins_of(server.configuration, server.kernel, server.monitor)
        remedies = tuple(cure_remedies(server, lifetime, advice, pairing, kernels)) if advice else ()
        directions = pairing.directions if pairing else ()
        unread = any(
            direction.missing is not None and bounds.for_client(direction.client) is path for direction in directions
        )
        yield _finding(lifetime, path, clients[path.client_network], origins, remedies, unread=unread)


def _slowest_for(seconds: int | None, bounds: IdleBounds) -> PathBounds | None:
    """Return the path to judge: one whose middlebox was seen to drop connections before the probes, else any."""
    seen = bounds.soonest_seen
    if seen is not None and (seconds is None or seconds > (seen.upper_seconds or 0) / 2):
        return seen
    return bounds.soonest_silent_drop


def _may_be_sooner(seconds: int, path: PathBounds) -> bool:
    """Return whether the state may be dropped before the probes, although the upper bound alone would allow them."""
    is_known = path.explains_ghosts and not path.loose
    return not is_known and (path.lower_seconds is None or seconds > path.lower_seconds / 2)


def severity_of(seconds: int | None, path: PathBounds) -> Severity:
    """Return how bad it is, by the list of the manual page."""
    upper = path.upper_seconds or 0
    if not path.drop_seen:
        return Severity.LOW if upper < SELDOM else Severity.INFO
    return Severity.MEDIUM if seconds is None or seconds >= upper else Severity.LOW


def _finding(
    lifetime: GhostLifetime,
    path: PathBounds,
    clients: Sequence[ClientKeepalive],
    origins: tuple[str, ...],
    remedies: tuple[Remedy, ...],
    *,
    unread: bool,
) -> Finding:
    seconds, upper = lifetime.keepalive_seconds, path.upper_seconds or 0.0
    sources = f"The keepalive time is from {lifetime.keepalive_source}; the middlebox's timeout from {path.source}."
    first = "is never sent (keepalive is off)" if seconds is None else f"is sent after {seconds} s"
    return Finding(
        subject=lifetime.server,
        severity=severity_of(seconds, path),
        confidence=Confidence.CERTAIN if path.middlebox and path.drop_seen else Confidence.LIKELY,
        title=f"{lifetime.server}'s first keepalive probe {first} but the middlebox {path.action} {path.range_text}",
        detail="\n".join(
            (
                sources,
                *clients_sentence(clients),
                *([UNREAD if unread else UNSEEN] if path.is_set_only else []),
                *path.remarks,
                *([] if remedies else [WHY]),
            )
        ),
        observed={
            "host": lifetime.host,
            "end": "server",
            "keepalive_seconds": seconds,
            "box_upper_seconds": upper,
            "clients": [client.observed for client in clients],
        },
        server=lifetime.server,
        hosts=(lifetime.host,),
        remedies=remedies,
        origins=origins,
    )


NAMED = 3
"""Clients that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKeepalive:
    """The keepalive of one client's sockets to the server."""

    client: str
    """Its host, or its address."""
    kernel_seconds: int | None
    """The time of its host's kernel, which applies unless the application sets one; None: not collected."""
    in_time: bool
    """Its sockets show that probes were sent within half of the middlebox's timeout."""

    @property
    def observed(self) -> dict[str, Any]:
        """Return the observed values (docs/contract.md)."""
        return {"client": self.client, "kernel_seconds": self.kernel_seconds, "in_time": self.in_time}

    @property
    def text(self) -> str:
        """Return it as a clause."""
        if self.in_time:
            return f"{self.client} sends probes in time"
        time = f" (its kernel's time is {self.kernel_seconds} s)" if self.kernel_seconds else ""
        return f"{self.client} was not seen to send probes in time{time}"


def client_keepalives(
    pairing: Pairing | None, path: PathBounds, kernels: Iterable[KernelSettings]
) -> tuple[ClientKeepalive, ...]:
    """Return the keepalive of each client on a path that has live connections."""
    if pairing is None or not path.upper_seconds:
        return ()
    known = tuple(kernels)
    on_path = (direction for direction in pairing.directions if network(direction.client) == path.client_network)
    return tuple(_keepalive_of(one, path.upper_seconds / 2, known) for one in on_path if one.server_count)


def all_in_time(clients: Sequence[ClientKeepalive]) -> bool:
    """Return whether every client of a path, of one at least, was seen to send its probes in time."""
    return bool(clients) and all(client.in_time for client in clients)


def clients_sentence(clients: Sequence[ClientKeepalive]) -> Iterator[str]:
    """Yield what the clients' end shows, if any client is known: keepalive at one end is enough."""
    if clients:
        named = [one.text for one in sorted(clients, key=lambda one: (one.in_time, one.client))[:NAMED]]
        more = len(clients) - len(named)
        named += [f"and {counted(more, 'client')} more"] if more else []
        yield f"At the other end, {'; '.join(named)}."


def _keepalive_of(direction: Direction, half: float, kernels: Sequence[KernelSettings]) -> ClientKeepalive:
    """Return the keepalive of one client.

    In time: no socket was without a packet for longer than half of the timeout, although the server had received no
    data on one of them for longer than that. So the packets were probes: the server's own are later than that.
    """
    times = direction.idle_times
    seen = times.all_probed is not None and times.all_probed <= half < max(times.matched, default=0.0)
    client = " or ".join(direction.client_hosts) or direction.client
    (host,) = direction.client_hosts if len(direction.client_hosts) == 1 else ("",)
    kernel = merge_settings(facts_of(kernels, host)) if host else None
    return ClientKeepalive(
        client=client,
        kernel_seconds=kernel.number(KEEPALIVE_TIME) if kernel else None,
        in_time=seen and direction.held == direction.server_count,
    )
