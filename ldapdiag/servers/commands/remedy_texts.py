"""Sentences that the remedies of several products share.

Names that the commands of a remedy need and the evidence lacks: such a remedy becomes advice without commands.

A command with a placeholder would fail half-way, for example after it has set an index and before it has built it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import Remedy, RemedyKind

if TYPE_CHECKING:
    from collections.abc import Collection


POOL_MUST_RECONNECT = "An application that leaves a connection idle for longer must open a new one."
EXEMPT_ENTRIES = (
    "The accounts of replication and persistent searches need nsIdleTimeout: -1 on their entries. Connections of "
    "Directory Manager are never closed."
)
"""Of 389-ds and DSEE."""
EXEMPT_ACCOUNTS = "The accounts of persistent searches need ds-rlim-idle-time-limit: 0 on their entries."
"""Of OpenDJ and PingDirectory."""
INDEX_ON_EACH_REPLICA = (
    "Index configuration is not replicated: repeat this on each replica, one at a time, off peak. Every index makes "
    "changes of its attribute more expensive, sub the most."
)
"""Of 389-ds and DSEE."""
INDEX_BY_HAND = "Add the index by hand"
NOTHING_DONE = "None needed: nothing is changed."
KEEPALIVE_OF_HANDLERS = " It applies while use-tcp-keep-alive of the connection handlers is true, which is the default."
"""Of OpenDJ and PingDirectory."""
STOPGAP = "This is a stopgap: dead connections use up the new limit as well."
LONG_QUEUE = "A longer queue hides a server that accepts connections too slowly."
MANY_THREADS = "Many more threads than processors slow each other down. Slow searches can occupy any number of threads."
BACKLOG = "The listening sockets queue up to {value:,} connections"
OPERATIONS_AT_ONCE = "The number of operations that run at the same time"
SHOW_BACKLOG = "ss -ltn '( sport = :389 or sport = :636 )'    # Send-Q is the backlog"


def idle_for(seconds: int, latest: float | None = None) -> str:
    """Return what an idle timeout does, as a clause; `latest`: the idle time by which it has done so at the latest."""
    closed = f"Connections that are idle for {seconds:,} s are closed"
    return closed if latest is None else f"{closed}, by {latest:,.0f} s at the latest"


CLIENTS_ARE_REFUSED = (
    "Every client that still binds in the clear is refused at once: change those listed here first. It still sends its "
    "password, which the server cannot prevent while the port without TLS is open. Clients must trust the certificate."
)


NO_SUFFIX, NO_BACKEND = "the suffix of the database", "the name of the database"


def missing_names(*known: tuple[object, str]) -> list[str]:
    """Return the description of each pair (name, description) without a name."""
    return [description for name, description in known if not name]


def advice_if_missing(remedy: Remedy, missing: Collection[str]) -> Remedy:
    """Return a remedy unchanged, or as advice that lists the missing names."""
    if not missing:
        return remedy
    if remedy.kind is RemedyKind.ADVICE:
        return replace(remedy, undo="", verify="", brief="")
    return replace(
        remedy,
        kind=RemedyKind.ADVICE,
        text=f"{remedy.title}. No commands can be given: the evidence does not contain {' and '.join(missing)}. "
        "Collect the server's whole configuration (see ldapdiag indexes --help).",
        undo="",
        verify="",
        brief="",
    )
