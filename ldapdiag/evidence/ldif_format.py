"""The LDIF format: entries of any directory server, each passed to the readers of all kinds of facts.

A file that contains both cn=monitor and cn=config is read once. Another product family is one module and one line here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ldapdiag.evidence.configuration import Configuration, active_directory
from ldapdiag.evidence.configuration import ds389 as ds389_configuration
from ldapdiag.evidence.configuration import opends_settings as opendj_configuration
from ldapdiag.evidence.configuration import openldap as openldap_configuration
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.indexes import IndexConfiguration, entry_count, explanations, index_status, index_tasks, opends
from ldapdiag.evidence.indexes import active_directory as active_directory_indexes
from ldapdiag.evidence.indexes import ds389 as ds389_indexes
from ldapdiag.evidence.indexes import entry_count as opends_entry_count
from ldapdiag.evidence.indexes import openldap as openldap_indexes
from ldapdiag.evidence.ldif import EntryReader, entries
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.monitor import connection_table as ds389_monitor
from ldapdiag.evidence.monitor import connection_table as dsee_monitor
from ldapdiag.evidence.monitor import ibm as ibm_monitor
from ldapdiag.evidence.monitor import opends_subtree as opendj_monitor
from ldapdiag.evidence.monitor import opends_subtree as ping_monitor
from ldapdiag.evidence.monitor import openldap as openldap_monitor
from ldapdiag.evidence.schema import ldif as schema_ldif
from ldapdiag.evidence.storage import ds389_settings, opends_settings, slapd_settings
from ldapdiag.evidence.storage.settings import StorageSettings
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.family import ServerIdentity
    from ldapdiag.evidence.origin import Fact

MONITOR_READERS: tuple[Callable[[Document], EntryReader], ...] = (
    ds389_monitor.Ds389Monitor,
    openldap_monitor.OpenldapMonitor,
    dsee_monitor.DseeMonitor,
    opendj_monitor.OpendjMonitor,
    ping_monitor.PingMonitor,
    ibm_monitor.IbmMonitor,
)
ENTRY_READERS: tuple[Callable[[Document], EntryReader], ...] = (
    *MONITOR_READERS,
    ds389_configuration.Ds389Configuration,
    openldap_configuration.OpenldapConfiguration,
    opendj_configuration.OpendjConfiguration,
    active_directory.ActiveDirectoryConfiguration,
    ds389_indexes.Ds389Indexes,
    openldap_indexes.OpenldapIndexes,
    active_directory_indexes.ActiveDirectorySchema,
    entry_count.OpenldapEntryCount,
    opends.OpendsIndexes,
    opends_entry_count.OpendsEntryCount,
    index_status.OpendjIndexStatus,
    explanations.OpendjExplanations,
    index_tasks.IndexTasks,
    schema_ldif.LdifSchema,
    ds389_settings.Ds389StorageSettings,
    slapd_settings.OpenldapStorageSettings,
    opends_settings.OpendsStorageSettings,
)

Identified = TypeVar("Identified", Configuration, IndexConfiguration, StorageSettings)

DN = pattern(r"dn::? ?\S|dn:$")


def recognises(head: Head) -> bool:
    """Recognise LDIF by a `dn:` line."""
    return any(DN.match(line) for line in head.lines)


def read(document: Document) -> Iterator[Fact]:
    """Read every entry once and yield the facts of all readers."""
    readers = [reader(document) for reader in ENTRY_READERS]
    for entry in entries(document):
        if entry.changetype not in {"", "add"}:
            document.note("Change records are ignored: they do not show the current entries.")
            continue
        for reader in readers:
            reader.take(entry)
    facts = [fact for reader in readers for fact in reader.facts()]
    if not facts:
        document.note("It contains no cn=monitor or cn=config of a supported directory server.")
    monitors = {fact.identity.family: fact.identity for fact in facts if isinstance(fact, Monitor)}
    servers = {fact.identity.family: fact.identity for fact in facts if isinstance(fact, Configuration)}
    versioned = {family: identity for family, identity in monitors.items() if identity.version}
    indexed = {fact.identity.family: fact.identity for fact in facts if isinstance(fact, IndexConfiguration)}
    for fact in facts:
        if isinstance(fact, Configuration):
            yield _identified(fact, versioned)
        elif isinstance(fact, IndexConfiguration):
            yield _identified(fact, servers | versioned)
        elif isinstance(fact, StorageSettings):
            plugins = {family: identity for family, identity in indexed.items() if identity.version}
            yield _identified(fact, servers | plugins | versioned)
        else:
            yield fact


def _identified(fact: Identified, known: Mapping[Family, ServerIdentity]) -> Identified:
    """Return a configuration with the identity of another entry of the same file, if it has no version itself.

    Without product and version a family is assumed that stands for its kin, too.
    """
    family = fact.identity.family
    identity = known.get(family) or next((one for other, one in known.items() if other.kin is family), None)
    return fact if fact.identity.version or identity is None else replace(fact, identity=identity)


FORMAT = Format(name="ldif", title="entries of a directory in LDIF", recognises=recognises, read=read)
