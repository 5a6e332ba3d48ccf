"""What a directory product does when nothing is configured: one record per product, with values by version.

A value that no source confirms is None, never a guess. The records are in the `defaults` module of each product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Never, TypeVar

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ByVersion(Generic[T_co]):
    """A value that may differ between versions."""

    ranges: tuple[tuple[Version, T_co | None], ...] = ()
    """First version and value, ascending; a range ends where the next one starts. `()` is before every version."""

    def at(self, version: Version) -> T_co | None:
        """Return the value in a version; None where it is not known.

        An unknown version has a value only if that holds for every version.
        """
        if not version:
            return self.ranges[0][1] if len(self.ranges) == 1 and not self.ranges[0][0] else None
        return next((value for since, value in reversed(self.ranges) if since <= version), None)


UNDOCUMENTED: ByVersion[Never] = ByVersion()
"""No source has the value."""
NOT_SET: ByVersion[Never] = ByVersion()
"""The product sets none: the kernel's, the process' or no limit applies."""
YES = ByVersion((((), True),))
NO = ByVersion((((), False),))


def by_version(*ranges: tuple[Version, T | None]) -> ByVersion[T]:
    """Return a value by the first version of each range, ascending."""
    return ByVersion(ranges)


def always(value: T) -> ByVersion[T]:
    """Return a value that is the same in every version."""
    return ByVersion((((), value),))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductDefaults:
    """The defaults of one product. Versions are those of the vendor; distributions may have backported a change."""

    idle_timeout_seconds: ByVersion[int]
    """0: idle connections are never closed."""

    sends_keepalives: ByVersion[bool]
    """Accepted sockets have SO_KEEPALIVE."""
    sets_keepalive_time: ByVersion[bool]
    """The server itself sets the keepalive time of its sockets (TCP_KEEPIDLE)."""
    keepalive_seconds: ByVersion[int]
    """That time; None where the kernel's applies."""

    max_descriptors: ByVersion[int]
    """The server's own limit; the limit of its process may be lower. None: only that of the process applies."""
    reserved_descriptors: int
    """Descriptors that are kept for files and outgoing connections."""
    times_reserved: int = 0
    """How often the reserve is taken off the limit before a connection is accepted."""
    descriptor_cap: ByVersion[int]
    """The built-in maximum of connections, whatever the limits."""

    threads: ByVersion[int] = UNDOCUMENTED
    """Worker threads; None, too, where they follow the number of processors."""
    listen_backlog: ByVersion[int] = UNDOCUMENTED
    """Connections that may wait to be accepted, as requested with listen(2)."""
