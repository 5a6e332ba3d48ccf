"""IdleEnforcement: how a server enforces its idle timeout, by version: when, on which connections, and on which not.

A caller asks `ignored` first: the times are those of a timeout that applies to the connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.defaults import UNDOCUMENTED, ByVersion

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How late a server closes a connection at most: a fixed time, and a share of the timeout."""

    seconds: float
    share: float = 0.0

    def after(self, timeout: float) -> float:
        """Return the seconds after the timeout."""
        return self.seconds + self.share * timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleEnforcement:
    """How one version of a server enforces an idle timeout, which every product takes in seconds. None: not known."""

    ignored: str | None
    """Why a configured idle timeout has no effect, as a clause; None: it has its effect, as far as is known."""
    needs_activity: bool | None
    """Idle connections are looked for only when another connection is active; then `latest` is None."""
    reaches_open_connections: bool | None
    """A changed timeout applies to connections that are already open."""
    exempt: tuple[str, ...]
    """Bind DNs that no idle timeout applies to."""
    exemption: str
    """Which connections the idle timeout does not apply to, as a sentence."""
    account_attribute: str
    """The attribute of an account's entry with a limit of its own; empty: the product has none."""
    early_seconds: float | None
    late: Lateness | None

    def earliest(self, timeout: float) -> float | None:
        """Return the idle time before which no connection is closed: servers that count whole seconds close early."""
        return None if self.early_seconds is None else max(0.0, timeout - self.early_seconds)

    def latest(self, timeout: float) -> float | None:
        """Return the idle time by which a connection is closed, whatever the others do; None: not known, or never."""
        return None if self.late is None or self.needs_activity else timeout + self.late.after(timeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleRules:
    """How a product enforces its idle timeout, by version."""

    ignored: ByVersion[str] = UNDOCUMENTED
    needs_activity: ByVersion[bool]
    reaches_open_connections: ByVersion[bool]
    exempt: tuple[str, ...]
    exemption: str
    account_attribute: str = ""
    early_seconds: ByVersion[float] = UNDOCUMENTED
    late: ByVersion[Lateness] = UNDOCUMENTED

    def at(self, version: Version) -> IdleEnforcement:
        """Return how one version does."""
        return IdleEnforcement(
            ignored=self.ignored.at(version),
            needs_activity=self.needs_activity.at(version),
            reaches_open_connections=self.reaches_open_connections.at(version),
            exempt=self.exempt,
            exemption=self.exemption,
            account_attribute=self.account_attribute,
            early_seconds=self.early_seconds.at(version),
            late=self.late.at(version),
        )


UNKNOWN_PRODUCT = IdleEnforcement(
    ignored=None,
    needs_activity=None,
    reaches_open_connections=None,
    exempt=(),
    exemption="",
    account_attribute="",
    early_seconds=None,
    late=None,
)
