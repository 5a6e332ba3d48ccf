"""Index costs: what an index costs to maintain, in millionths of an equality index on an attribute never written.

    cost = keys x (1 + 10 x share of the operations that change the attribute)

Keys. Equality and presence: one per value. Approximate: one per word. Substring: about one per character of the value
(389-ds: every three characters, the ends included; slapd: up to four lengths at each end, and every second position;
OpenDJ: every suffix), so a dozen for a name. They count as four, not twelve, because neighbouring keys share pages and
a commit its flush; slapd's single substring types count as two. The weights are an order, not a measurement: they
decide between indexes that do equally well, and four keys mean that up to three equality indexes are preferred to one
substring index.

Writes. Adding or deleting an entry writes all its indexes; a MODIFY writes those of the attributes it names, if the log
shows them (slapd), else any. At a tenth of all operations the cost doubles.

Never worth it. Substring indexes of group members: a DN has five times the characters of a name, a group thousands of
values, and 389-ds compares the keys of all of them to remove one: more than ten minutes for one of 4,000 members
(389ds#6436, 389ds#5767). Substring indexes of pictures, certificates and octet strings: thousands of keys that no
search uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.operation_kinds import ADD, DELETE, MODIFY, MODRDN
from ldapdiag.evidence.log.tables import OTHER
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.servers.indexes.index_types import SUBSTRING_KINDS
from ldapdiag.servers.traits import traits_of

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import IndexConfiguration
    from ldapdiag.evidence.log.segment import Segment
    from ldapdiag.evidence.schema import Schema

UNIT = 1_000_000
WRITE_FACTOR = 10
"""The added cost factor of an attribute that every operation writes."""

WEIGHTS = {
    "approx": 2,
    "approximate": 2,
    "subinitial": 2,
    "subany": 2,
    "subfinal": 2,
    "sub": 4,
    "substring": 4,
    "fTUPLEINDEX": 8,
}
"""Keys per value of an index type; of every other type 1."""

MEMBERSHIP = frozenset({"member", "uniquemember", "memberof", "ismemberof", "memberuid"})
"""With their subtypes: one value per member of a group, or per group of a member."""
GROUPING = "MemberOf"
"""The plug-in whose settings name the attributes with members."""
MEMBERS_COMPARED, EXPENSIVE = 250, 20
"""Cost factors: substrings of members where the server compares all values of a group; other expensive indexes."""

LONG_NAMES = frozenset({"1.3.6.1.4.1.1466.115.121.1.12", "1.3.6.1.4.1.1466.115.121.1.34"})
"""Syntaxes of names (RFC 4517): DN, and Name and Optional UID."""
OPAQUE = frozenset(f"1.3.6.1.4.1.1466.115.121.1.{number}" for number in (4, 5, 8, 9, 10, 23, 28, 40, 49))
"""Syntaxes that are not text: octets, audio, binary, certificates, their lists and pairs, fax, JPEG, algorithms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCounts:
    """The write operations in a log."""

    operations: int = 0
    whole_entries: int = 0
    """Entries added, deleted and renamed: these write every index."""
    modifications: int = 0
    by_attribute: Mapping[str, int] | None = None
    """MODIFYs by attribute, in lower case, without options; key '': of any; None: the log does not name them."""

    @classmethod
    def of(cls, segment: Segment) -> WriteCounts:
        """Count the changes of a log."""
        counts = segment.operations
        by_attribute: dict[str, int] = {}
        for name, count in segment.modified.items():
            attribute = "" if name == OTHER else name.decode(errors="replace").lower().partition(";")[0]
            by_attribute[attribute] = by_attribute.get(attribute, 0) + count
        return cls(
            operations=sum(counts),
            whole_entries=counts[ADD] + counts[DELETE] + counts[MODRDN],
            modifications=counts[MODIFY],
            by_attribute=by_attribute or None,
        )

    def share(self, attribute: str, schema: Schema) -> int:
        """Return how many of a million operations change an attribute; an upper bound."""
        if not self.operations:
            return 0
        touching = self.modifications
        if self.by_attribute is not None:
            names = {"", *_names(attribute, schema)}
            touching = sum(count for name, count in self.by_attribute.items() if name in names)
        return min(UNIT, UNIT * (self.whole_entries + min(touching, self.modifications)) // self.operations)


def index_cost(family: Family | None, attribute: str, type_: str, writes: WriteCounts, schema: Schema) -> int:
    """Return the cost of one index; `type_` is the family's own name of the type."""
    keys = WEIGHTS.get(type_, 1) * _factor(family, attribute, type_, schema)
    return keys * (UNIT + WRITE_FACTOR * writes.share(attribute, schema))


def why_expensive(family: Family | None, attribute: str, type_: str, schema: Schema) -> str:
    """Return why an index costs far more than others of its type, as a clause; empty if it does not."""
    if type_ not in SUBSTRING_KINDS:
        return "its values are long, and each key contains a whole value" if _is_opaque(attribute, schema) else ""
    if _is_opaque(attribute, schema):
        return "its values are not text: they have many substrings, and no search uses them"
    if is_membership(attribute, schema):
        return substrings_of_members(family)
    if schema.syntax(attribute) in LONG_NAMES:
        return "its values are DNs, and each has as many keys as characters"
    return ""


def substrings_of_members(family: Family | None) -> str:
    """Return why a substring index of the members of groups is expensive, as a clause."""
    slow = ": removing one member of a large group can take minutes" if _compares_all(family) else ""
    return f"a group has many members, and each member has as many keys as its name has characters{slow}"


def has_members(attribute: str, configuration: IndexConfiguration, schema: Schema) -> bool:
    """Return whether an attribute contains members or groups, by its name or by what computes the groups of members."""
    grouping = {one.attribute for one in configuration.internal_searches if one.by == GROUPING}
    return is_membership(attribute, schema) or schema.primary(attribute).lower() in {
        schema.primary(name).lower() for name in grouping
    }


def is_membership(attribute: str, schema: Schema) -> bool:
    """Return whether an attribute or a supertype contains the members of groups, or the groups of members."""
    return not MEMBERSHIP.isdisjoint(_lineage(attribute, schema))


def _factor(family: Family | None, attribute: str, type_: str, schema: Schema) -> int:
    """Return how many times more expensive an index is than others of its type."""
    if type_ not in SUBSTRING_KINDS:
        return EXPENSIVE if _is_opaque(attribute, schema) else 1
    if is_membership(attribute, schema) or _is_opaque(attribute, schema):
        return MEMBERS_COMPARED if _compares_all(family) else EXPENSIVE
    return 3 if schema.syntax(attribute) in LONG_NAMES else 1


def _compares_all(family: Family | None) -> bool:
    """Return whether removing a value compares the keys of all values; assumed if the family is unknown."""
    return traits_of(family).compares_all_values


def _is_opaque(attribute: str, schema: Schema) -> bool:
    return schema.syntax(attribute) in OPAQUE


def _lineage(attribute: str, schema: Schema) -> set[str]:
    return {attribute.lower()} | {name.lower() for type_ in schema.lineage(attribute) for name in type_.names}


def _names(attribute: str, schema: Schema) -> set[str]:
    found = schema.find(attribute)
    return {attribute.lower()} | ({name.lower() for name in found.names} | {found.oid} if found else set())
