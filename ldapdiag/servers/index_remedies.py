"""Index advice: how a server's indexes are added, built and taken away, and what shows it, in its family's words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import Remedy, RemedyKind
from ldapdiag.servers.missing_names import is_host
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.product_interfaces import IndexRemedies


def add_indexes(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
    verify: str | None,
) -> tuple[Remedy, ...]:
    """Return how to add and build indexes: the commands, and the same as LDIF where the product takes that."""
    room = _room(configuration.identity.family)
    if room is None:
        return ()
    remedy = room.add_indexes(server, backend, changes, configuration, schema)
    remedy = replace(remedy, verify=verify or remedy.verify)
    ldif = room.add_indexes_ldif(server, backend, changes, configuration, schema)
    if ldif is None:
        return (remedy,)
    return remedy, replace(remedy, title=f"{remedy.title}: the same as LDIF", kind=RemedyKind.LDIF, text=ldif)


def build_indexes(
    server: str, backend: Backend, attributes: Sequence[str], configuration: IndexConfiguration, schema: Schema
) -> tuple[Remedy, ...]:
    """Return how to build indexes that are configured."""
    room = _room(configuration.identity.family)
    return (room.build_indexes(server, backend, attributes, configuration, schema),) if room else ()


def drop_indexes(
    server: str, backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> tuple[Remedy, ...]:
    """Return how to take indexes away."""
    room = _room(configuration.identity.family)
    return (room.drop_indexes(server, backend, changes, configuration, schema),) if room else ()


def ldapsearch_command(server: str, configuration: IndexConfiguration) -> str:
    """Return ldapsearch with what it takes to ask a server for anything; empty where there is no way to tell."""
    room = _room(configuration.identity.family)
    return room.ldapsearch_command(server, configuration.identity.version) if room and is_host(server) else ""


def expected_in_log(family: Family | None) -> str:
    """Return a sentence: what the log says of a search that an index answers."""
    room = _room(family) if family else None
    return room.EXPECTED_IN_LOG if room else "It must be answered within milliseconds."


def without_ldif(configuration: IndexConfiguration) -> str:
    """Return why there is no LDIF that changes indexes."""
    if configuration.file:
        return f"the indexes are set in {configuration.file}: --script tells how to edit it, and what to run then"
    return f"{configuration.identity.family.product} takes no LDIF for its indexes: see --script"


def _room(family: Family) -> IndexRemedies | None:
    product = product_of(family)
    return product.index_remedies if product else None
