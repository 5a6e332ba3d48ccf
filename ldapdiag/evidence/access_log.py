"""Access logs, counted into Segments (log/segment.py): that of one stream, and all of one server."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.addresses import normalise_address, port_number
from ldapdiag.evidence.family import Family, ServerIdentity, identify
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from ldapdiag.evidence.bundle import PassedOver
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.origin import Origin

ENDPOINT = pattern(r"([^:]{1,255}|\[[^\]]{2,60}\]):(\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStream:
    """One server's log: the files that were read, in order."""

    name: str
    dialect: str
    family: Family
    files: tuple[str, ...]
    folder: str = ""
    """That of its first file."""
    asked: str = ""
    """The path of its first file as the operator named it."""
    instance: str = ""
    """The server's name in the headers of the files."""
    server: str = ""
    """The host or process that wrote it into a file of several servers."""
    scanner: Scanner = Scanner.PYTHON
    """The scanner that read them."""
    server_processes: int = 0
    peak: int = 0
    """The most connections at once."""
    notes: tuple[str, ...] = ()
    """Irregularities of the files, a sentence each, without its full stop."""
    unreliable: tuple[str, ...] = ()
    """Why counts by connection are wrong: several servers write it at once; a sentence each, without its full stop."""
    copies: tuple[PassedOver, ...] = ()
    """Files with the same records as these."""
    is_half_read: bool = False
    """A part of it could not be read; a gap says which."""
    bytes_per_hour: float | None = None
    """How fast its files grew from their first record to their last; None: not known, compressed, or of several."""


class CountedLog(NamedTuple):
    """A stream and its finished counts."""

    stream: LogStream
    segment: Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessLog:
    """The access logs of one product in one folder, and their counts."""

    kind: ClassVar[str] = "access-log"
    how: ClassVar[str] = (
        "389-ds: /var/log/dirsrv/slapd-INSTANCE/access*; OpenLDAP: slapd's syslog or stderr at loglevel stats; OpenDJ, "
        "PingDirectory and DSEE: logs/access*; Active Directory: its events 1644 as CSV, XML or JSON"
    )

    origin: Origin
    """The origin of the first stream, with the lines and notes of all streams."""
    family: Family
    segment: Segment = field(repr=False, compare=False)
    """Finished, and not to be changed."""
    streams: tuple[LogStream, ...] = ()

    @property
    def identity(self) -> ServerIdentity:
        """Return the product, with its version where a header has it."""
        identities = (identify(version.decode(errors="replace")) for _, version in sorted(self.segment.instances))
        return next(
            (identity for identity in identities if identity and identity.family is self.family),
            ServerIdentity(family=self.family),
        )

    @property
    def listeners(self) -> tuple[tuple[str, int], ...]:
        """Return local addresses and ports of the server, where records contain both (slapd, OpenDJ)."""
        endpoints = (ENDPOINT.fullmatch(server.decode(errors="replace")) for server in self.segment.servers)
        found = {(normalise_address(endpoint[1]), port_number(endpoint[2])) for endpoint in endpoints if endpoint}
        return tuple(sorted((address, port) for address, port in found if port > 0))
