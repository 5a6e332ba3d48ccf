"""Index advice: how a server's indexes are added, built and taken away, in the words of its family."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import Kind, Remedy
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.servers.candidates import Change
    from ldapdiag.servers.products import IndexRemedies


def added(
    server: str,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    verify: str | None,
) -> tuple[Remedy, ...]:
    """Return how to add and build indexes: the commands, and the same as LDIF where the product takes that."""
    room = _room(configuration)
    if room is None:
        return ()
    remedy = room.add_indexes(server, backend, changes, configuration)
    remedy = replace(remedy, verify=verify or remedy.verify)
    ldif = room.add_indexes_ldif(server, backend, changes, configuration)
    if ldif is None:
        return (remedy,)
    return remedy, replace(remedy, title=f"{remedy.title}: the same as LDIF", kind=Kind.LDIF, text=ldif)


def built(
    server: str, backend: Backend, attributes: Sequence[str], configuration: IndexConfiguration
) -> tuple[Remedy, ...]:
    """Return how to build indexes that are configured."""
    room = _room(configuration)
    return (room.build_indexes(server, backend, attributes, configuration),) if room else ()


def dropped(
    server: str, backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration
) -> tuple[Remedy, ...]:
    """Return how to take indexes away."""
    room = _room(configuration)
    return (room.drop_indexes(server, backend, changes, configuration),) if room else ()


def _room(configuration: IndexConfiguration) -> IndexRemedies | None:
    product = product_of(configuration.identity.family)
    return product.index_remedies if product else None
