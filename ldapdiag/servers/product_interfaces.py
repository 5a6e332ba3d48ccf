"""What the modules of a product must offer: its remedies and its index remedies.

A product's `remedies` and `index_remedies` are modules of plain functions; these protocols give their signatures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Version
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.server_address import ServerAddress
    from ldapdiag.servers.wanted_view import WantedView


class ServerRemedies(Protocol):
    """The module `remedies` of a product.

    `seconds`, `wanted`: the value to set; `current`: the present value, None where it is not known; `version`: that of
    the server, empty where it is not known.
    """

    RESTART: str
    """The command that restarts the server; empty: not known."""

    def set_idle_timeout(
        self, server: ServerAddress, seconds: int, current: int | None, version: Version = ()
    ) -> Remedy:
        """Close connections after an idle time."""

    def set_keepalive(
        self, server: ServerAddress, seconds: int, current: int | None = None, version: Version = ()
    ) -> Remedy:
        """Send keepalive probes after an idle time."""

    def exempt_from_idle_timeout(self, server: ServerAddress, dns: tuple[str, ...], seconds: int = -1) -> Remedy | None:
        """Give accounts an idle limit of their own; None where the product has none, or no DN is valid."""

    def raise_descriptor_limit(
        self, server: ServerAddress, current: int | None, wanted: int, version: Version = ()
    ) -> Remedy:
        """Raise the limit of open descriptors."""

    def raise_backlog(self, server: ServerAddress, current: int | None, wanted: int, version: Version = ()) -> Remedy:
        """Raise the number of connections that may wait to be accepted."""

    def raise_threads(self, server: ServerAddress, current: int | None, wanted: int) -> Remedy:
        """Raise the number of worker threads."""

    def require_secure_binds(self, server: ServerAddress, version: Version = ()) -> Remedy:
        """Refuse BINDs that send a password without TLS."""


class IndexRemedies(Protocol):
    """The module `index_remedies` of a product.

    Names that are not attribute types are left out of the commands and counted in the text. The server's schema
    resolves the names of an attribute and its supertypes.
    """

    EXPECTED_IN_LOG: str
    """A sentence: what the access log shows of a search that an index answers."""
    LIBRARIES: tuple[str, ...]
    """Functions of the shell that its blocks of commands share."""
    BETWEEN_LDIF: str
    """A sentence: what must have ended before the LDIF of another database is applied; empty: nothing."""

    def ldapsearch_command(self, server: ServerAddress, version: Version) -> str:
        """Return ldapsearch with the options to connect and bind as an administrator."""

    def add_indexes(
        self,
        server: ServerAddress,
        backend: Backend,
        changes: Sequence[Change],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> Remedy:
        """Add indexes and build them."""

    def indexes_set(
        self,
        backend: Backend,
        changes: Sequence[Change],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> tuple[IndexDefinition, ...]:
        """Return what the commands of add_indexes write: the new types, of slapd whole lines."""

    def add_indexes_ldif(
        self,
        server: ServerAddress,
        backend: Backend,
        changes: Sequence[Change],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> str | None:
        """Return the same as LDIF; None where the product takes none, or nothing can be done."""

    def build_indexes(
        self,
        server: ServerAddress,
        backend: Backend,
        attributes: Sequence[str],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> Remedy:
        """Build indexes that are configured."""

    def drop_indexes(
        self,
        server: ServerAddress,
        backend: Backend,
        changes: Sequence[Change],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> Remedy:
        """Remove indexes."""


class ListViewRemedies(Protocol):
    """The module of a product that makes indexes for virtual list views."""

    def add_vlv_index(self, server: ServerAddress, backend: Backend, wanted: WantedView) -> Remedy:
        """Define an index with the access that its accounts need, and build it."""

    def allow_reading(self, server: ServerAddress, wanted: WantedView) -> Remedy:
        """Let accounts use the indexes of a configured search."""
