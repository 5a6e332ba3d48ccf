"""The directory products by family. The modules of a product are imported when it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family

if TYPE_CHECKING:
    from ldapdiag.servers.product import Product

FOLDERS = {
    Family.DS389: "ds389",
    Family.OPENLDAP: "openldap",
    Family.AD: "active_directory",
    Family.DSEE: "dsee",
    Family.OPENDJ: "opendj",
    Family.PING: "ping",
}
"""The package of each product, whose module `product` has its PRODUCT."""


def product_of(family: Family) -> Product | None:
    """Return the product of a family; None for IBM, of which only the monitor is read: its remedies are advice."""
    return _product(FOLDERS[family]) if family in FOLDERS else None


@cache
def _product(folder: str) -> Product:
    product: Product = import_module(f"{__package__}.{folder}.product").PRODUCT
    return product
