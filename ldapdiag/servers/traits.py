"""Traits: what is true of a product whatever its configuration, as analysis, checks and reports ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.evidence.filter_tree import AssertionKind
from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from ldapdiag.servers.close_reasons import CloseReason

SHORT = {
    AssertionKind.EQUALITY: "eq",
    AssertionKind.GREATER: "eq",
    AssertionKind.LESS: "eq",
    AssertionKind.PRESENCE: "pres",
    AssertionKind.SUBSTRING: "sub",
    AssertionKind.APPROXIMATE: "approx",
}
"""`>=` and `<=` need eq on 389-ds, DSEE and slapd; on slapd only for attributes with an ordering rule."""
LONG = {
    AssertionKind.EQUALITY: "equality",
    AssertionKind.GREATER: "ordering",
    AssertionKind.LESS: "ordering",
    AssertionKind.PRESENCE: "presence",
    AssertionKind.SUBSTRING: "substring",
    AssertionKind.APPROXIMATE: "approximate",
}


class LogThresholds(NamedTuple):
    """A search is logged that reaches one of these."""

    visited: int
    """Entries."""
    visited_in_vain: int
    """Likewise, where less than a tenth of them were returned."""
    milliseconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """One product. The defaults are those of a product of which only the name is known."""

    programs: tuple[str, ...] = ()
    """The server's program, as tables print its name."""
    shares_program: bool = False
    """Other software has a program of that name, too (java)."""
    names_instances: bool = False
    """Folders of an instance are called slapd-NAME."""
    close_reasons: Mapping[str, CloseReason] = field(default_factory=dict)
    """By the code or text in its access log."""
    numbers_connections: bool = False
    """Its log numbers connections without a gap; 389-ds skips some numbers."""
    logs_messages: bool = False
    """Its access log contains messages that are other evidence."""
    logs_above: LogThresholds | None = None
    """Its log has the searches above thresholds alone: the defaults of these."""
    logs_list_views: bool = False
    """It has VLV indexes, and its log shows virtual list views."""
    logs_pages: bool = False
    """Its log notes the pages of a search; elsewhere a page may look like a complete result."""
    logs_index_builds: bool = False
    """Its errors log has the builds of indexes, which are used before they are built."""
    unindexed_note: str = ""
    """What its access log notes of a fully unindexed search; empty: nothing."""
    lacking_note: str = ""
    """What its access log notes of a search for an attribute that its schema lacks; empty: nothing."""
    overnotes: bool = False
    """It notes searches, too, that it answers in another way (isMemberOf, from the group's entry)."""
    range_limit: int = 0
    """Its size limit by default, where it ends the list of a range outside an AND without an error; 0: it does not."""
    index_types: Mapping[AssertionKind, str] = field(default_factory=lambda: SHORT)
    """The index type that answers each kind of assertion. Without further settings none answers an extensible match."""
    has_rule_indexes: bool = True
    """An index by its matching rule may answer an extensible match."""
    has_default_types: bool = False
    """Attributes without types of their own have the default types of their database."""
    walks: frozenset[str] = frozenset()
    """What its log names as the index used, in lower case, where every entry below the base was examined."""
    logged_index: str = ""
    """What its log names as the index used, in lower case, without the attribute that follows; empty: no index."""
    initial_type: str = ""
    """The index type that answers a substring assertion with a beginning; empty: that of any other."""
    one_level_type: str = ""
    """The index type to add for searches of one level, where there is one for these."""
    replicates_indexes: bool = False
    """The index configuration is replicated: a change at one server is one at all."""
    needs_glue: bool = False
    """A search goes on in databases below its base only where they are glued to it."""
    waits_for_builds: bool = False
    """It uses an index only when that is built."""
    scans_long_values: bool = False
    """A list of IDs that is longer than its limit is a scan for each value of an attribute alone."""
    sorts_in_memory: bool = False
    """Lists are sorted in memory by an overlay, which no index helps."""
    sorts_as_text: bool = False
    """Without a matching rule of its own, an index sorts numbers as text, and ranges are read from it."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """Attributes, in lower case, whose values are computed whatever is configured, and what they are."""
    indexes_computed: bool = False
    """An index on computed values may be configured; it lacks them, and searches by it miss entries."""
    own_attributes: frozenset[str] = frozenset()
    """Attributes, in lower case, that its schema has and no RFC."""
    compares_all_values: bool = False
    """Removing one value compares the keys of all values of the attribute."""
    has_one_writer: bool = False
    """It applies one write to a database at a time, so that the log shows the time of each."""
    appends_only: bool = False
    """Its database is a log that is only appended to, and a cleaner writes old parts anew."""
    account_scan_limit: str = ""
    """The attribute of the entry an account binds as; another number applies to all accounts without one."""
    account_scan_limit_place: str = ""
    """Where to raise it, in words; empty: at that attribute."""


UNKNOWN = Traits(compares_all_values=True)
"""A product that no evidence names: the worse is assumed."""

FOLDERS = {
    Family.DS389: "ds389",
    Family.OPENLDAP: "openldap",
    Family.AD: "active_directory",
    Family.DSEE: "dsee",
    Family.OPENDJ: "opendj",
    Family.PING: "ping",
}
"""The package of each product, whose module `product` has its PRODUCT, and `defaults` its TRAITS."""


def traits_of(family: Family | None) -> Traits:
    """Return the traits of a family; None: no evidence names it."""
    if family is None:
        return UNKNOWN
    return _traits(FOLDERS[family]) if family in FOLDERS else Traits()


@cache
def directory_programs() -> frozenset[str]:
    """Return the names of programs that are directory servers, and nothing else, as ss, netstat and lsof print them.

    A domain controller's lsass.exe is not among them: it listens on 389 and 3268, which are registered ports, and on
    88, 464 and 49664 for Kerberos and RPC, the last on every Windows client, too; dsamain is AD LDS.
    """
    alone = (traits_of(family) for family in FOLDERS if not traits_of(family).shares_program)
    return frozenset(program for traits in alone for program in traits.programs)


@cache
def families_of_programs() -> Mapping[str, Family]:
    """Return the family of each server's program, by its name as tables print it."""
    return {program: family for family in FOLDERS for program in traits_of(family).programs}


@cache
def _traits(folder: str) -> Traits:
    traits: Traits = import_module(f"{__package__}.{folder}.defaults").TRAITS
    return traits
