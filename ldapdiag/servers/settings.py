"""Settings of a server as rows of a table: how each is set and restored, what that changes, and what it needs.

A row says what is special; the style of its commands (LDIF for cn=config, dsconfig, dsconf, ntdsutil) is a function of
the product that gives a row its commands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import NamedTuple, dataclass
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.commands.shell_text import unit_drop_in, unit_drop_in_undo
from ldapdiag.servers.hosts.host_remedies import kernel_keepalive
from ldapdiag.servers.idle.account_limits import AccountIdleLimit, set_account_limit

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family, Version
    from ldapdiag.servers.commands.server_address import ServerAddress


class Purpose(StrEnum):
    """What a setting decides, with the title of the remedy that changes it."""

    IDLE_TIMEOUT = "Set the idle timeout to {value:,} s"
    KEEPALIVE = "Send keepalive probes after {value:,} s of idle time"
    DESCRIPTORS = "Raise the descriptor limit to {value:,}"
    BACKLOG = "Raise the listen backlog to {value:,}"
    THREADS = "Set the number of worker threads to {value}"
    SECURE_BINDS = "Refuse BINDs with a password without TLS"


class WantedValue(NamedTuple):
    """A value that a server is to have."""

    server: ServerAddress
    value: int
    former: int | None
    """None: it is not known."""
    version: Version


class Commands(NamedTuple):
    """Commands that make a change, undo it, and show it."""

    text: str
    undo: str
    verify: str

    def then(self, restart: str) -> Commands:
        """Return them with a restart after the change and its undo; empty: none is needed."""
        return Commands(f"{self.text}\n{restart}", f"{self.undo}\n{restart}", self.verify) if restart else self


Words = str | Callable[[WantedValue], str]
"""`{value}` stands for the value, `{instead}` for ` instead of …` where the former value is known."""


class SettingRow(NamedTuple):
    """One setting of a product."""

    commands: Callable[[WantedValue], Commands]
    changes: Words
    risk: Words
    needs: Needs | Callable[[WantedValue], Needs] = Needs.NONE
    title: Words = ""
    """Empty: that of the purpose."""
    kind: RemedyKind = RemedyKind.SHELL

    def remedy(self, family: Family, purpose: Purpose, wanted: WantedValue) -> Remedy:
        """Return the remedy that gives the setting this value."""
        text, undo, verify = self.commands(wanted)
        return Remedy(
            title=_words(self.title or purpose.value, wanted),
            target=wanted.server.name,
            where=Where.SERVER,
            kind=self.kind,
            text=text,
            changes=_words(self.changes, wanted),
            risk=_words(self.risk, wanted),
            undo=undo,
            verify=verify,
            family=family,
            needs=self.needs(wanted) if callable(self.needs) else self.needs,
        )


def kernel_time(family: Family, advice: Words = "") -> Callable[[WantedValue], Remedy]:
    """Return the row of a product that has no keepalive time of its own: the remedy sets that of the kernel."""

    def row(wanted: WantedValue) -> Remedy:
        words, name = _words(advice, wanted), wanted.server.name
        return kernel_keepalive(name, wanted.value, wanted.former, where=Where.SERVER, family=family, advice=words)

    return row


def drop_in(unit: str, restart: str, verify: str) -> Callable[[WantedValue], Commands]:
    """Return the commands that set the descriptor limit of a systemd unit."""

    def commands(wanted: WantedValue) -> Commands:
        text, undo = unit_drop_in(unit, wanted.value), unit_drop_in_undo(unit)
        return Commands(f"{text}\n{restart}", f"{undo}\n{restart}", verify)

    return commands


Row = SettingRow | Callable[[WantedValue], Remedy]
"""A setting, or a function for what is another remedy: of the host, of every account, or in two steps."""


def _words(words: Words, wanted: WantedValue) -> str:
    if callable(words):
        return words(wanted)
    instead = "" if wanted.former is None else f" instead of {wanted.former:,}"
    return words.format(value=wanted.value, instead=instead)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The settings of a product that remedies change.

    `seconds`, `wanted`: the value to set; `current`: the present value, None where it is not known; `version`: that of
    the server, empty where it is not known.
    """

    family: Family
    restart: str
    """The command that restarts the server; empty: not known."""
    rows: Mapping[Purpose, Row]
    account_limit: AccountIdleLimit | None = None
    """None: no account has an idle limit of its own."""

    def changed(
        self, purpose: Purpose, server: ServerAddress, value: int, current: int | None, version: Version = ()
    ) -> Remedy:
        """Return the remedy that gives a setting a value."""
        row, wanted = self.rows[purpose], WantedValue(server, value, current, version)
        return row.remedy(self.family, purpose, wanted) if isinstance(row, SettingRow) else row(wanted)

    def set_idle_timeout(
        self, server: ServerAddress, seconds: int, current: int | None, version: Version = ()
    ) -> Remedy:
        """Close connections after an idle time."""
        return self.changed(Purpose.IDLE_TIMEOUT, server, seconds, current, version)

    def set_keepalive(
        self, server: ServerAddress, seconds: int, current: int | None = None, version: Version = ()
    ) -> Remedy:
        """Send keepalive probes after an idle time."""
        return self.changed(Purpose.KEEPALIVE, server, seconds, current, version)

    def raise_descriptor_limit(
        self, server: ServerAddress, current: int | None, wanted: int, version: Version = ()
    ) -> Remedy:
        """Raise the limit of open descriptors."""
        return self.changed(Purpose.DESCRIPTORS, server, wanted, current, version)

    def raise_backlog(self, server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
        """Raise the number of connections that may wait to be accepted."""
        return self.changed(Purpose.BACKLOG, server, wanted, current, version)

    def raise_threads(self, server: ServerAddress, current: int | None, wanted: int) -> Remedy:
        """Raise the number of worker threads."""
        return self.changed(Purpose.THREADS, server, wanted, current)

    def require_secure_binds(self, server: ServerAddress, version: Version = ()) -> Remedy:
        """Refuse BINDs that send a password without TLS."""
        return self.changed(Purpose.SECURE_BINDS, server, 0, None, version)

    def exempt_from_idle_timeout(self, server: ServerAddress, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
        """Give accounts an idle limit of their own; None where the product has none, or no DN is valid."""
        return set_account_limit(server, dns, seconds, self.account_limit) if self.account_limit else None
