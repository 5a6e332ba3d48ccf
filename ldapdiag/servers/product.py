"""Product: what ldapdiag has of one directory product.

A product's `remedies` are the table of its settings; its `index_remedies` are a module of plain functions, whose
signatures are a protocol here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ldapdiag.evidence.family import Family, Version
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.evidence.storage.settings import StorageSettings
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.defaults import ProductDefaults
    from ldapdiag.servers.idle.enforcement import IdleRules
    from ldapdiag.servers.indexes.applied_limits import AppliedLimits
    from ldapdiag.servers.indexes.candidates import Candidates, Change, Database, IndexPlace
    from ldapdiag.servers.indexes.wanted_view import WantedView
    from ldapdiag.servers.settings import ServerSettings
    from ldapdiag.servers.volumes.storage_rules import StorageRules


def no_limit(database: Database) -> None:
    """Return that an ID list may have any length."""


def of_any_value(value: str, entries: int) -> str:
    """Return that an approximate index serves any value."""
    del value, entries
    return ""


def as_any_product(part: str, *, negated: bool) -> str:
    """Return nothing: what is true of every product is enough."""
    del part, negated
    return ""


def no_remedies(server: ServerAddress, settings: StorageSettings | None, version: Version) -> tuple[Remedy, ...]:
    """Return that no remedy is known."""
    del server, settings, version
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One directory product: what it does when nothing is configured, and the commands that change it."""

    family: Family
    defaults: ProductDefaults
    idle_enforcement: IdleRules
    remedies: ServerSettings
    on_linux: bool = True
    """It runs on Linux, among others: ss may close its sockets, and systemd restart it."""
    candidates: Candidates | None = None
    """None: its index lookup is not simulated."""
    candidates_tested: bool = True
    """False: the simulation follows the product's manual, and was not compared with a server."""
    index_remedies: IndexRemedies | None = None
    list_view_remedies: ListViewRemedies | None = None
    """None: it has no VLV indexes, or their commands were not tested."""
    never_dropped: frozenset[str] = frozenset()
    """Attributes (primary names, lower case) whose indexes are never dropped, even if no search in a log uses them."""
    searched_by_rules: frozenset[str] = frozenset()
    """Attributes likewise that rules in the entries may make it search for, which no configuration shows."""
    makes_own_indexes: bool = True
    """It has the indexes of those attributes without configuration; False: only those that are configured."""
    raise_scan_limit: Callable[[ServerAddress, Backend, Node | None, int, Schema], Remedy | None] | None = None
    """Return the remedy that raises the limit of one index, for a filter that so many entries match; None: none can."""
    applied_limits: Callable[[IndexConfiguration, Backend, str, str], AppliedLimits | None] | None = None
    """Return the limits of an account's searches below a base, by its configuration; None: it does not show them."""
    longest_list: Callable[[Database], int | None] = no_limit
    """Return the length above which the server takes an ID list for all entries; None: never, or not known."""
    copy_over_test: float = 0.0
    """The time to copy one ID while the lists of a range's keys are united, as a share of the time to test an entry; 0:
    the server appends them all and sorts once."""
    read_over_test: float = 0.0
    """The time to read one key of a range, by the same; 0: not worth mentioning."""
    base_over_test: float = 0.0
    """The time to read the ID of one entry below the base, by the same: more than a few candidates are intersected
    with these; 0: not worth mentioning."""
    approximate_over_test: float = 1.0
    """How many times the time of another test that of an approximate match takes."""
    why_no_approximate: Callable[[str, int], str] = of_any_value
    """Return why an approximate index does not serve a value, as a clause; empty: it does. Also given is how many
    entries such searches found at most."""
    without_script: str = ""
    """A sentence: why no shell script changes its indexes, and what does; empty: one does."""
    without_ldif: str = ""
    """A sentence: why a plan may have no LDIF; empty: the product takes none."""
    rewrite: Rewrite = as_any_product
    """Return what to search for in place of a part of a filter that no index answers; empty: as any product."""
    storage: StorageRules | None = None
    """None: which settings decide when changes are on the disk is not known, or it has none (Active Directory)."""
    shorten_commits: Callable[[ServerAddress, StorageSettings | None, Version], tuple[Remedy, ...]] = no_remedies
    """Return what shortens the wait of each write for the disk, the remedies that lose nothing first."""


class Rewrite(Protocol):
    """Advice on a part of a filter, as logged."""

    def __call__(self, part: str, *, negated: bool) -> str:
        """Return sentences."""


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

    def add_indexes(self, place: IndexPlace, changes: Sequence[Change]) -> Remedy:
        """Add indexes and build them."""

    def indexes_set(
        self,
        backend: Backend,
        changes: Sequence[Change],
        configuration: IndexConfiguration,
        schema: Schema,
    ) -> tuple[IndexDefinition, ...]:
        """Return what the commands of add_indexes write: the new types, of slapd whole lines."""

    def add_indexes_ldif(self, place: IndexPlace, changes: Sequence[Change]) -> str | None:
        """Return the same as LDIF; None where the product takes none, or nothing can be done."""

    def build_indexes(self, place: IndexPlace, attributes: Sequence[str]) -> Remedy:
        """Build indexes that are configured."""

    def drop_indexes(self, place: IndexPlace, changes: Sequence[Change]) -> Remedy:
        """Remove indexes."""


class ListViewRemedies(Protocol):
    """The module of a product that makes indexes for virtual list views."""

    def add_vlv_index(self, server: ServerAddress, backend: Backend, wanted: WantedView) -> Remedy:
        """Define an index with the access that its accounts need, and build it."""

    def allow_reading(self, server: ServerAddress, wanted: WantedView) -> Remedy:
        """Let accounts use the indexes of a configured search."""
