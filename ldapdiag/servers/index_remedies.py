"""Index remedies for a server of any family: add, build, drop and verify indexes."""

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
    from ldapdiag.servers.server_address import ServerAddress


def add_indexes(
    server: ServerAddress,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
    verify: str | None,
) -> tuple[Remedy, ...]:
    """Return the remedies that add and build indexes: commands, and the same as LDIF where the product takes it."""
    module = _module(configuration.identity.family)
    if module is None:
        return ()
    remedy = module.add_indexes(server.endpoint, backend, changes, configuration, schema)
    remedy = server.adapt(replace(remedy, verify=verify or remedy.verify))
    ldif = module.add_indexes_ldif(server.endpoint, backend, changes, configuration, schema)
    if ldif is None:
        return (remedy,)
    return remedy, replace(remedy, title=f"{remedy.title}: the same as LDIF", kind=RemedyKind.LDIF, text=ldif)


def build_indexes(
    server: ServerAddress,
    backend: Backend,
    attributes: Sequence[str],
    configuration: IndexConfiguration,
    schema: Schema,
) -> tuple[Remedy, ...]:
    """Return the remedies that build configured indexes."""
    module = _module(configuration.identity.family)
    if module is None:
        return ()
    return (server.adapt(module.build_indexes(server.endpoint, backend, attributes, configuration, schema)),)


def drop_indexes(
    server: ServerAddress,
    backend: Backend,
    changes: Sequence[Change],
    configuration: IndexConfiguration,
    schema: Schema,
) -> tuple[Remedy, ...]:
    """Return the remedies that remove indexes."""
    module = _module(configuration.identity.family)
    if module is None:
        return ()
    return (server.adapt(module.drop_indexes(server.endpoint, backend, changes, configuration, schema)),)


def ldapsearch_command(server: ServerAddress, configuration: IndexConfiguration) -> str:
    """Return ldapsearch with the options to connect and bind; empty if the product or host name is not known."""
    module = _module(configuration.identity.family)
    if module is None or not is_host(server.endpoint):
        return ""
    return server.rewritten(module.ldapsearch_command(server.endpoint, configuration.identity.version))


def expected_in_log(family: Family | None) -> str:
    """Return a sentence: what the access log shows of a search that an index answers."""
    module = _module(family) if family else None
    return module.EXPECTED_IN_LOG if module else "It must be answered within milliseconds."


def without_ldif(configuration: IndexConfiguration) -> str:
    """Return why there is no LDIF that changes indexes."""
    if configuration.file:
        return f"the indexes are configured in {configuration.file}: --script shows how to edit it and what to run then"
    return f"{configuration.identity.family.product} takes no LDIF for its indexes: use --script"


def _module(family: Family) -> IndexRemedies | None:
    product = product_of(family)
    return product.index_remedies if product else None
