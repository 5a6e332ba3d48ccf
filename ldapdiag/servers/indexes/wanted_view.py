"""WantedView: a virtual list view for which a VLV index is to be made, and the names of that index."""

from __future__ import annotations

import zlib

from ldapdiag.evidence.filter_tree import assertions, parse
from ldapdiag.evidence.indexes.vlv import VlvIndex, VlvSearch
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import is_attribute_description, is_attribute_type, is_distinguished_name

NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,127}")
"""Names of indexes that may be in a command."""
OF_ALL, OF_ANYONE = "ldap:///all", "ldap:///anyone"
"""In an access control instruction: accounts that have bound; these and anonymous ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedView:
    """A virtual list view that an index is to answer."""

    base: str
    scope: str
    filter: str
    keys: str
    """As logged: `-uidNumber cn`."""
    anonymous: bool = False
    """Anonymous accounts send such searches."""
    search: VlvSearch | None = None
    """The configured VLV search with its base, scope and filter."""

    @property
    def is_printable(self) -> bool:
        """Return whether every part is valid in a command."""
        tree = parse(self.filter)
        leaves = list(assertions(tree)) if tree is not None else []
        names = all(is_attribute_description(";".join((leaf.attribute, *leaf.options))) for leaf in leaves)
        values = all(leaf.value in {None, "*"} or is_attribute_type(leaf.value) for leaf in leaves)
        keys = all(is_attribute_type(one.removeprefix("-")) for one in self.keys.split())
        entry = self.search is None or is_distinguished_name(self.search.entry)
        index = NAME.fullmatch(self.index_name) is not None
        return bool(leaves) and names and values and keys and entry and index and is_distinguished_name(self.base)

    @property
    def present(self) -> VlvIndex | None:
        """Return the configured index in this order."""
        return self.search.ordered(self.keys) if self.search is not None else None

    @property
    def readers(self) -> str:
        """Return the accounts that must be able to read the VLV search."""
        return OF_ANYONE if self.anonymous else OF_ALL

    @property
    def is_readable(self) -> bool:
        """Return whether an instruction at the configured VLV search names these accounts."""
        acis = self.search.acis if self.search is not None else ()
        return any(OF_ANYONE in aci or (self.readers in aci) for aci in acis)

    @property
    def access_name(self) -> str:
        """Return the name of an instruction for this order alone, so that none is added or removed for another."""
        return f"ldapdiag-{zlib.crc32(self.keys.lower().encode()):08x}"

    @property
    def search_name(self) -> str:
        """Return the name of a new VLV search: the same for the same search."""
        known = "\n".join((comparable(self.base), self.scope, self.filter.lower()))
        return f"ldapdiag-{zlib.crc32(known.encode()):08x}"

    @property
    def index_name(self) -> str:
        """Return the name of the index, the configured or a new one; its letters and digits name the server's file."""
        if self.present is not None:
            return self.present.name
        known = "\n".join((comparable(self.base), self.scope, self.filter.lower(), self.keys.lower()))
        return f"ldapdiag-{zlib.crc32(known.encode()):08x}-by-{self.keys.split()[0].removeprefix('-')}"
