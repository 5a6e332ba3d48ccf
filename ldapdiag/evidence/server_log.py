"""ServerLog: what a server's own log testifies to: that it ran out of descriptors, and where it listens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ldapdiag.evidence.family import ServerIdentity
from ldapdiag.evidence.origin import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class ExhaustionMessage:
    """Lines of one meaning: how often, and the first and the last as they stand in the log."""

    meaning: str
    """In words for the report, as in 'accepted and closed at once: no descriptor left'."""
    count: int
    first: str
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLog:
    """The testimony of one errors log (389-ds) or slapd log (stderr or syslog)."""

    kind: ClassVar[str] = "server-log"
    how: ClassVar[str] = "389-ds: /var/log/dirsrv/slapd-INSTANCE/errors; OpenLDAP: slapd's syslog or stderr"

    origin: Origin
    identity: ServerIdentity
    exhaustion_messages: tuple[ExhaustionMessage, ...] = ()
    listeners: tuple[tuple[str, int], ...] = ()
    """Local address and port, where lines name them (slapd: ACCEPT from IP=… (IP=127.0.0.1:389))."""
    starts: int = 0
    """How often the server started in this log."""
    recovered: bool = False
    """The last word on exhaustion was that the server listens again, or that it started anew.

    True without a witness where the log begins after the exhaustion did.
    """
