"""IndexConfiguration: which indexes a directory server is set to keep, and the limits within which it uses them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ldapdiag.evidence.family import ServerIdentity
from ldapdiag.evidence.origin import Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLimit:
    """How long a list of entries one index may give (389-ds nsIndexIDListScanLimit). Empty: whatever it is."""

    limit: int
    """Entries; -1 is none, 0: the index is not used."""
    types: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefinition:
    """The indexes of one attribute, as configured. Types are in the family's own words, in lower case."""

    attribute: str
    """As written; with options where it is for these alone, which only slapd knows (cn;lang-fr)."""
    types: frozenset[str]
    """389-ds, DSEE: pres eq approx sub; slapd: pres eq approx sub subinitial subany subfinal; OpenDJ, Ping: presence
    equality ordering substring approximate extensible."""
    rules: tuple[str, ...] = ()
    """Matching rules with an index of their own, or one that orders it (nsMatchingRule; extensible in OpenDJ)."""
    scan_limits: tuple[ScanLimit, ...] = ()
    entry_limit: int | None = None
    """index-entry-limit of this index (OpenDJ, Ping), all-ids-threshold (DSEE); 0 is none; None: the backend's."""
    initial: int | None = None
    """Octets of a substring key at the beginning, in the middle, at the end; None: the family's default."""
    middle: int | None = None
    final: int | None = None
    system: bool = False
    """The server's own: never to be touched."""
    built: bool | None = None
    """False: the server says that it must be built first; None: nobody says."""
    subtypes: bool = True
    """False (slapd nosubtypes): it holds no values of subordinate attribute types."""
    options: bool = True
    """False (slapd nolang, notags): it is not for attributes with options."""
    written: str = field(default="", compare=False)
    """The line of slapd that says so, as written: an olcDbIndex value, which may be that of more attributes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One database of a server."""

    name: str
    """userRoot, {1}mdb, …"""
    suffixes: tuple[str, ...]
    """DNs as written; empty where the text does not tell."""
    definitions: tuple[IndexDefinition, ...]
    entry: str = ""
    """The DN of its configuration entry, as written; empty where it has none (slapd.conf)."""
    kind: str = ""
    """mdb, bdb, hdb, je, … where told."""
    refuses_unindexed: bool = False
    """nsslapd-require-index: a search without an index is refused."""
    entry_limit: int | None = None
    """What holds for indexes without an entry limit of their own (OpenDJ, Ping, DSEE); 0 is none."""

    def definition(self, names: Collection[str]) -> IndexDefinition | None:
        """Return the indexes of an attribute by any of its names, in lower case (Schema.names)."""
        return next((one for one in self.definitions if one.attribute.lower() in names), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubstringKeys:
    """slapd's index_substr_*: octets. None: not set, so the default holds."""

    if_minlen: int | None = None
    if_maxlen: int | None = None
    any_len: int | None = None
    any_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexConfiguration:
    """Indexes as configured. None: not in the text, so the server's default for its version holds."""

    kind: ClassVar[str] = "index-configuration"
    how: ClassVar[str] = (
        "389-ds: its dse.ldif; OpenLDAP: slapcat -n0 > config.ldif, or slapd.conf; OpenDJ, PingDirectory: its "
        "config.ldif, or dsconfig list-backend-indexes --backend-name … > indexes.txt; DSEE: its dse.ldif"
    )

    origin: Origin
    identity: ServerIdentity
    backends: tuple[Backend, ...]
    whole: bool = True
    """False: an excerpt; what is not in it may be configured all the same."""
    file: str = ""
    """`slapd.conf` where the server is set by a file that must be edited; else its cn=config is."""
    scan_limit: int | None = None
    """nsslapd-idlistscanlimit, nsslapd-allidsthreshold: entries; -1 is none."""
    paged_scan_limit: int | None = None
    lookthrough_limit: int | None = None
    range_lookthrough_limit: int | None = None
    paged_lookthrough_limit: int | None = None
    substring_keys: SubstringKeys = field(default_factory=SubstringKeys)
    templates: tuple[IndexDefinition, ...] = ()
    """389-ds' default indexes: what a new backend gets."""
    virtual_attributes: Mapping[str, str] = field(default_factory=dict)
    """Attributes, in lower case, whose values are computed (nsRole, class of service), and by what."""
    internal_searches: Mapping[str, str] = field(default_factory=dict)
    """Attributes, in lower case, that the server's own plug-ins search for, and which plug-in: no log may show it."""
