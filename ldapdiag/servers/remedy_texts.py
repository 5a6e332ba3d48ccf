"""Sentences that the remedies of several products share."""

from __future__ import annotations

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
OPERATIONS_AT_ONCE = "The number of operations that run at the same time"
SHOW_BACKLOG = "ss -ltn '( sport = :389 or sport = :636 )'    # Send-Q is the backlog"


def idle_for(seconds: int, latest: float | None = None) -> str:
    """Return what an idle timeout does, as a clause; `latest`: the idle time by which it has done so at the latest."""
    closed = f"Connections that are idle for {seconds:,} s are closed"
    return closed if latest is None else f"{closed}, by {latest:,.0f} s at the latest"


def backlog_of(wanted: int) -> str:
    """Return what a listen backlog does, as a clause."""
    return f"The listening sockets queue up to {wanted:,} connections"


SECURE_BINDS = "Refuse BINDs with a password without TLS"
CLIENTS_ARE_REFUSED = (
    "Every client that still binds in the clear is refused at once: change those listed here first. It still sends its "
    "password, which the server cannot prevent while the port without TLS is open. Clients must trust the certificate."
)
