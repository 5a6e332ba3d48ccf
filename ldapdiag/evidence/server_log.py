"""ServerLog: messages of a server's own log about descriptor exhaustion, starts, listeners and builds of indexes."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from ldapdiag.evidence.family import ServerIdentity
from ldapdiag.evidence.logged_period import LoggedPeriod
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass

EVERY_ATTRIBUTE = ""
"""The attribute of an import, which builds every index that is configured then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBuild:
    """The last build of the indexes of one attribute in one log."""

    backend: str
    """Its name in lower case."""
    attribute: str
    """In lower case; EVERY_ATTRIBUTE: all."""
    started: datetime
    finished: datetime | None = None
    failed: bool = False
    """It failed, or the server started again before it had finished: the index lacks entries."""
    restarted: bool = False
    """The server started after that in the same log, and uses the index as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExhaustionMessage:
    """One kind of message about descriptor exhaustion: how often it was logged, and the first and last line."""

    meaning: str
    """Its meaning in the report, as in 'accepted and closed at once: no descriptor left'."""
    count: int
    first: str
    """The first line as logged."""
    last: str
    """The last line as logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLog:
    """One errors log of 389-ds, or one log of slapd (stderr or syslog)."""

    kind: ClassVar[str] = "server-log"
    how: ClassVar[str] = "389-ds: /var/log/dirsrv/slapd-INSTANCE/errors; OpenLDAP: slapd's syslog or stderr"

    origin: Origin
    identity: ServerIdentity
    exhaustion_messages: tuple[ExhaustionMessage, ...] = ()
    listeners: tuple[tuple[str, int], ...] = ()
    """Local addresses and ports, where lines contain them (slapd: ACCEPT from IP=… (IP=127.0.0.1:389))."""
    starts: int = 0
    """Number of server starts in this log."""
    start_times: tuple[datetime, ...] = ()
    """The last of them, in order (389-ds)."""
    periods: tuple[LoggedPeriod, ...] = ()
    """When it was written, in order (389-ds)."""
    index_builds: tuple[IndexBuild, ...] = ()
    """The last build of each index (389-ds)."""
    recovered: bool = False
    """After the last exhaustion the server accepted connections again, or was restarted.

    True without any exhaustion message where the log begins after the exhaustion did.
    """
