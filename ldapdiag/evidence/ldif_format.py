"""The LDIF format: entries of any directory server, dealt out to those who make facts of them.

One file may hold cn=monitor and cn=config of one server; it is read once. Another family is one module and
one line here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ldapdiag.evidence.configuration import Configuration, active_directory
from ldapdiag.evidence.configuration import ds389 as ds389_configuration
from ldapdiag.evidence.configuration import opendj as opendj_configuration
from ldapdiag.evidence.configuration import openldap as openldap_configuration
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.indexes import (
    IndexConfiguration,
    entry_count,
    explanations,
    index_status,
    opends,
    opends_entry_count,
)
from ldapdiag.evidence.indexes import ds389 as ds389_indexes
from ldapdiag.evidence.indexes import openldap as openldap_indexes
from ldapdiag.evidence.ldif import EntryReader, entries
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.monitor import ds389 as ds389_monitor
from ldapdiag.evidence.monitor import dsee as dsee_monitor
from ldapdiag.evidence.monitor import ibm as ibm_monitor
from ldapdiag.evidence.monitor import opendj as opendj_monitor
from ldapdiag.evidence.monitor import openldap as openldap_monitor
from ldapdiag.evidence.monitor import ping as ping_monitor
from ldapdiag.evidence.schema import ldif as schema_ldif

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.family import ServerIdentity
    from ldapdiag.evidence.origin import Fact

ENTRY_READERS: tuple[Callable[[Document], EntryReader], ...] = (
    ds389_monitor.Ds389Monitor,
    openldap_monitor.OpenldapMonitor,
    dsee_monitor.DseeMonitor,
    opendj_monitor.OpendjMonitor,
    ping_monitor.PingMonitor,
    ibm_monitor.IbmMonitor,
    ds389_configuration.Ds389Configuration,
    openldap_configuration.OpenldapConfiguration,
    opendj_configuration.OpendjConfiguration,
    active_directory.ActiveDirectoryConfiguration,
    ds389_indexes.Ds389Indexes,
    openldap_indexes.OpenldapIndexes,
    entry_count.OpenldapEntryCount,
    opends.OpendsIndexes,
    opends_entry_count.OpendsEntryCount,
    index_status.OpendjIndexStatus,
    explanations.OpendjExplanations,
    schema_ldif.LdifSchema,
)

Told = TypeVar("Told", Configuration, IndexConfiguration)

ALIKE = {Family.DS389: Family.DSEE, Family.OPENDJ: Family.PING}
"""Families whose configuration may be taken for another's, when it names neither product nor version."""

DN = re.compile(r"dn::? ?\S|dn:$")


def recognises(head: Head) -> bool:
    """Tell LDIF by a line that names an entry."""
    return any(DN.match(line) for line in head.lines)


def read(document: Document) -> Iterator[Fact]:
    """Read every entry once and yield what the readers made of them."""
    readers = [reader(document) for reader in ENTRY_READERS]
    for entry in entries(document):
        if entry.changetype not in {"", "add"}:
            document.note("Records that change something are passed over: they do not say what holds now.")
            continue
        for reader in readers:
            reader.take(entry)
    facts = [fact for reader in readers for fact in reader.facts()]
    if not facts:
        document.note("No entry here is cn=monitor or cn=config of a directory server we read.")
    monitors = {fact.identity.family: fact.identity for fact in facts if isinstance(fact, Monitor)}
    servers = {fact.identity.family: fact.identity for fact in facts if isinstance(fact, Configuration)}
    told = {family: identity for family, identity in monitors.items() if identity.version}
    for fact in facts:
        if isinstance(fact, Configuration):
            yield _identified(fact, told)
        elif isinstance(fact, IndexConfiguration):
            yield _identified(fact, servers | told)
        else:
            yield fact


def _identified(fact: Told, known: Mapping[Family, ServerIdentity]) -> Told:
    """Give a configuration that names no version the identity that another entry of the same file told."""
    family = fact.identity.family
    identity = known.get(family) or known.get(ALIKE.get(family, family))
    return fact if fact.identity.version or identity is None else replace(fact, identity=identity)


FORMAT = Format(name="ldif", title="entries of a directory in LDIF", recognises=recognises, read=read)
