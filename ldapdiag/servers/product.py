"""Product: what ldapdiag has of one directory product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.candidates import Candidates
    from ldapdiag.servers.defaults import ProductDefaults
    from ldapdiag.servers.product_interfaces import IndexRemedies, ServerRemedies


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One directory product: what it does when nothing is configured, and the commands that change it."""

    family: Family
    defaults: ProductDefaults
    remedies: ServerRemedies
    candidates: Candidates | None = None
    """None: its index lookup is not simulated."""
    candidates_tested: bool = True
    """False: the simulation follows the product's manual, and was not compared with a server."""
    index_remedies: IndexRemedies | None = None
    never_dropped: frozenset[str] = frozenset()
    """Attributes (primary names, lower case) whose indexes are never dropped, even if no search in a log uses them."""
