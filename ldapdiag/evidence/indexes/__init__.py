"""IndexConfiguration: the configured indexes of a directory server, and the limits on their use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import ClassVar

from ldapdiag.evidence.family import ServerIdentity
from ldapdiag.evidence.indexes.internal_search import InternalSearch
from ldapdiag.evidence.indexes.slapd_limits import AccountLimits
from ldapdiag.evidence.indexes.vlv import VlvSearch
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanLimit:
    """A limit on the ID lists of one index (389-ds nsIndexIDListScanLimit). Empty types, flags or values: any."""

    limit: int
    """Entries; -1: no limit, 0: the index is not used."""
    types: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefinition:
    """The indexes of one attribute, as configured. Index types have the product's names, in lower case."""

    attribute: str
    """As written; with options if the index is for these only, as slapd supports (cn;lang-fr)."""
    types: frozenset[str]
    """389-ds, DSEE: pres eq approx sub; slapd: pres eq approx sub subinitial subany subfinal; OpenDJ, Ping: presence
    equality ordering substring approximate extensible; Active Directory: those of searchFlags, link."""
    rules: tuple[str, ...] = ()
    """Matching rules with an index, or that order the equality index (nsMatchingRule; extensible in OpenDJ)."""
    scan_limits: tuple[ScanLimit, ...] = ()
    entry_limit: int | None = None
    """index-entry-limit of this index (OpenDJ, Ping), all-ids-threshold (DSEE); 0: no limit; None: the backend's."""
    initial: int | None = None
    """Octets of a substring key at the beginning, in the middle, at the end; None: the product's default."""
    middle: int | None = None
    final: int | None = None
    system: bool = False
    """An index that the server itself needs and that must not be changed."""
    built: bool | None = None
    """False: the server reports that the index must be built first; None: unknown."""
    subtypes: bool = True
    """False (slapd nosubtypes): values of subordinate attribute types are not indexed."""
    options: bool = True
    """False (slapd nolang, notags): attributes with options are not indexed."""
    written: str = field(default="", compare=False)
    """slapd's index line as written (olcDbIndex), which may define the indexes of several attributes; Active Directory:
    the DN of the attribute's entry in the schema."""
    search_flags: int | None = field(default=None, compare=False)
    """Active Directory: searchFlags as read, of which some bits are index types; None: not in the text."""
    created: datetime | None = field(default=None, compare=False)
    """When its entry was added (createTimestamp); building it changes no time. None: unknown, as for slapd."""
    modified: datetime | None = field(default=None, compare=False)
    """When its entry was last changed."""
    creator: str = field(default="", compare=False)
    """Who added it (creatorsName), comparable; a default index that a start of 389-ds added is the database's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One database of a server."""

    name: str
    """userRoot, {1}mdb, …"""
    suffixes: tuple[str, ...]
    """DNs as written; empty: unknown."""
    definitions: tuple[IndexDefinition, ...]
    entry: str = ""
    """The DN of its configuration entry, as written; empty: it has none (slapd.conf)."""
    kind: str = ""
    """mdb, bdb, hdb, je, …; empty: unknown."""
    glued: bool = False
    """slapd's `subordinate`: searches of the database above it search it, too."""
    refuses_unindexed: bool = False
    """nsslapd-require-index: unindexed searches are refused."""
    entry_limit: int | None = None
    """The limit of indexes without one of their own (OpenDJ, Ping, DSEE); 0: no limit."""
    created: datetime | None = field(default=None, compare=False)
    """When its configuration entry was added."""
    modified: datetime | None = field(default=None, compare=False)
    """When the entry with all its indexes was last changed (slapd); None: each has an entry, or it is unknown."""
    entries: int | None = field(default=None, compare=False)
    """The number of its entries, by other evidence."""
    account_limits: AccountLimits | None = field(default=None, compare=False)
    """slapd's `limits`; None: unknown, or the product has none."""
    vlv_searches: tuple[VlvSearch, ...] = ()
    """389-ds, DSEE: the searches that have VLV indexes."""
    places: Mapping[str, Sequence[int]] = field(init=False, compare=False, repr=False)
    """Of the definitions, by attribute in lower case without options."""

    def __post_init__(self) -> None:
        """Note where the indexes of each attribute are: filters of thousands of shapes ask for them."""
        places: dict[str, list[int]] = {}
        for place, definition in enumerate(self.definitions):
            places.setdefault(definition.attribute.lower().partition(";")[0], []).append(place)
        object.__setattr__(self, "places", places)

    def definitions_of(self, names: Collection[str]) -> Iterator[IndexDefinition]:
        """Yield the indexes of an attribute by any of its names, in lower case, with any options."""
        found = {place for name in names for place in self.places.get(name.partition(";")[0], ())}
        return map(self.definitions.__getitem__, sorted(found))

    def definition(self, names: Collection[str]) -> IndexDefinition | None:
        """Return the indexes of an attribute by any of its names, in lower case (Schema.names)."""
        return next((one for one in self.definitions_of(names) if one.attribute.lower() in names), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubstringKeys:
    """slapd's index_substr_* settings, in octets. None: not set, so the default applies."""

    if_minlen: int | None = None
    if_maxlen: int | None = None
    any_len: int | None = None
    any_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexConfiguration:
    """Indexes as configured. None: not in the text, so the default of the server's version applies."""

    kind: ClassVar[str] = "index-configuration"
    how: ClassVar[str] = (
        "389-ds: its dse.ldif; OpenLDAP: slapcat -n0 > config.ldif, or slapd.conf; OpenDJ, PingDirectory: its "
        "config.ldif, or dsconfig list-backend-indexes --backend-name … > indexes.txt; DSEE: its dse.ldif; Active "
        'Directory: ldifde -f schema.ldf -d "CN=Schema,CN=Configuration,DC=…" -r "(objectClass=attributeSchema)"'
    )

    origin: Origin
    identity: ServerIdentity
    backends: tuple[Backend, ...]
    whole: bool = True
    """False: an excerpt; the server may have other indexes."""
    file: str = ""
    """`slapd.conf` if the server is configured by that file; empty: by its cn=config."""
    monitored: bool | None = None
    """slapd has a monitor database, which lists running builds of indexes. None: the text does not list databases."""
    scan_limit: int | None = None
    """nsslapd-idlistscanlimit, nsslapd-allidsthreshold: entries; -1: no limit."""
    paged_scan_limit: int | None = None
    lookthrough_limit: int | None = None
    range_lookthrough_limit: int | None = None
    paged_lookthrough_limit: int | None = None
    time_limit: int | None = None
    """nsslapd-timelimit: seconds; -1: no limit."""
    substring_keys: SubstringKeys = field(default_factory=SubstringKeys)
    templates: tuple[IndexDefinition, ...] = ()
    """389-ds' default indexes, those of a new backend."""
    virtual_attributes: Mapping[str, str] = field(default_factory=dict)
    """Attributes, in lower case, whose values are computed (nsRole, class of service), and what computes them."""
    internal_searches: tuple[InternalSearch, ...] = ()
    """What the server itself searches for."""
    outside_catalog: frozenset[str] = frozenset()
    """Active Directory: attributes, in lower case, that a global catalog has of its own domain alone."""
    hidden_searches: tuple[str, ...] = ()
    """Sentences on searches of the server itself whose attributes this configuration does not name."""
