"""Index remedies for a server of any family: add, build, drop and verify indexes."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import Remedy, RemedyKind, alternative
from ldapdiag.servers.commands.ldap_tools import preceded
from ldapdiag.servers.indexes.index_answers import COST
from ldapdiag.servers.products import product_of
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.filter_tree import Node
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.schema import Schema
    from ldapdiag.servers.commands.server_address import ServerAddress
    from ldapdiag.servers.indexes.candidates import Change, IndexPlace
    from ldapdiag.servers.product import IndexRemedies

Rate = tuple[int, int]
"""Entries per second, at least and at most."""


def add_indexes(
    place: IndexPlace, changes: Sequence[Change], search: str | None, *, verifies: bool = True
) -> tuple[Remedy, ...]:
    """Return the remedies that add and build indexes: commands, and the same as LDIF where the product takes it.

    `search` is an example of the searches; `verifies`: it alone verifies the remedy.
    """
    module = _module(place.configuration.identity.family)
    if module is None:
        return ()
    remedy = module.add_indexes(place, changes)
    if search and remedy.brief:
        verified = f"printf '%s\\n' {shlex.quote(f'verify with such a search: {module.EXPECTED_IN_LOG}')}\n{search}"
        remedy = replace(remedy, brief=f"{remedy.brief}\n{verified}")
    remedy = _ready(replace(remedy, verify=search if search and verifies else remedy.verify), place.server)
    ldif = module.add_indexes_ldif(place, changes)
    if ldif is None:
        return (remedy,)
    tool = "ldifde" if without_script(place.configuration.identity.family) else "ldapmodify"
    title = f"{remedy.title} by LDIF for {tool}"
    return remedy, alternative(replace(remedy, title=title, kind=RemedyKind.LDIF, text=ldif, brief=""))


def indexes_set(
    backend: Backend, changes: Sequence[Change], configuration: IndexConfiguration, schema: Schema
) -> tuple[IndexDefinition, ...]:
    """Return what the commands of add_indexes write."""
    module = _module(configuration.identity.family)
    return module.indexes_set(backend, changes, configuration, schema) if module is not None else ()


def build_indexes(place: IndexPlace, attributes: Sequence[str]) -> tuple[Remedy, ...]:
    """Return the remedies that build configured indexes."""
    module = _module(place.configuration.identity.family)
    if module is None:
        return ()
    return (_ready(module.build_indexes(place, attributes), place.server),)


def raise_scan_limit(
    server: ServerAddress,
    backend: Backend,
    filter_: Node | None,
    entries: int,
    configuration: IndexConfiguration,
    schema: Schema,
) -> tuple[Remedy, ...]:
    """Return the remedies that raise the limit of the ID lists of one index."""
    product = product_of(configuration.identity.family)
    if product is None or product.raise_scan_limit is None or entries <= (configuration.scan_limit or 0):
        return ()
    remedy = product.raise_scan_limit(server, backend, filter_, entries, schema)
    return (_ready(remedy, server),) if remedy is not None else ()


def drop_indexes(place: IndexPlace, changes: Sequence[Change]) -> tuple[Remedy, ...]:
    """Return the remedies that remove indexes."""
    module = _module(place.configuration.identity.family)
    if module is None:
        return ()
    return (_ready(module.drop_indexes(place, changes), place.server),)


def ldapsearch_command(server: ServerAddress, configuration: IndexConfiguration) -> str:
    """Return ldapsearch with the options to connect and bind; empty if the product is not known."""
    module = _module(configuration.identity.family)
    return module.ldapsearch_command(server, configuration.identity.version) if module is not None else ""


def expected_in_log(family: Family | None) -> str:
    """Return a sentence: what the access log shows of a search that an index answers."""
    module = _module(family) if family else None
    return module.EXPECTED_IN_LOG if module else "It must be answered within milliseconds."


def libraries_of(families: Iterable[Family | None]) -> list[str]:
    """Return the functions of the shell that blocks of commands of these products share, each once."""
    modules = (_module(family) for family in families if family)
    return list(dict.fromkeys(library for module in modules if module for library in module.LIBRARIES))


def between_ldif(family: Family | None) -> str:
    """Return what must have ended before the LDIF of another database of a server is applied; empty: nothing."""
    module = _module(family) if family else None
    return module.BETWEEN_LDIF if module else ""


def without_script(family: Family | None) -> str:
    """Return why no shell script changes indexes, as a sentence; empty: one does."""
    product = product_of(family) if family else None
    return product.without_script if product else ""


def without_ldif(configuration: IndexConfiguration) -> str:
    """Return why there is no LDIF that changes indexes."""
    if configuration.monitored is False:
        return (
            "this server has no monitor database, so the end of a build that ldapmodify starts would not be visible: "
            "--script builds the indexes while the server is stopped"
        )
    if (product := product_of(configuration.identity.family)) is not None and product.without_ldif:
        return product.without_ldif
    if configuration.file:
        return f"the indexes are configured in {configuration.file}: --script shows how to edit it and what to run then"
    return f"{configuration.identity.family.product} takes no LDIF for its indexes: use --script"


def _ready(remedy: Remedy, server: ServerAddress) -> Remedy:
    """Return a remedy for this server alone, its commands preceded by what they need."""
    adapted = server.adapt(remedy)
    if adapted.kind is not RemedyKind.SHELL:
        return adapted
    if "\ncheck_answers " in adapted.text:
        subject = "The script (--script) checks the answers: it" if adapted.brief else "The check of the answers"
        adapted = replace(adapted, risk=f"{adapted.risk} {subject} {COST}")
    parts = (adapted.text, adapted.undo, adapted.verify, adapted.brief)
    text, undo, verify, brief = (preceded(server, part) for part in parts)
    return replace(adapted, text=text, undo=undo, verify=verify, brief=brief)


def _module(family: Family) -> IndexRemedies | None:
    product = product_of(family)
    return product.index_remedies if product else None


def build_seconds(entries: int, rates: Iterable[Rate]) -> tuple[int, int]:
    """Return for how many seconds builds run one after another, at least and at most; a rate for each."""
    counts = Counter(rates)
    return (
        sum(count * entries // fast for (_, fast), count in counts.items()),
        sum(-(-count * entries // slow) for (slow, _), count in counts.items()),
    )


def interval(bounds: tuple[int, int]) -> str:
    """Return bounds in words."""
    return f"{number(bounds[0])} to {number(bounds[1])}"
