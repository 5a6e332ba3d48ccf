"""The directory products by family. The modules of a product are imported when it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ldapdiag.servers.traits import FOLDERS

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.product import Product


UNTESTED = "Not certain: the product's use of indexes is taken from its manual, and was not tested."


def product_of(family: Family) -> Product | None:
    """Return the product of a family; None for IBM, of which only the monitor is read: its remedies are advice."""
    return _product(FOLDERS[family]) if family in FOLDERS else None


def is_tested(family: Family | None) -> bool:
    """Return whether the simulation of a product's indexes was compared with a server of it."""
    product = product_of(family) if family else None
    return product is not None and product.candidates_tested


def rewritten(family: Family | None, part: str, *, negated: bool) -> str:
    """Return what to search for at a product in place of a part of a filter; empty: what is true of every product."""
    product = product_of(family) if family else None
    return product.rewrite(part, negated=negated) if product is not None else ""


@cache
def _product(folder: str) -> Product:
    product: Product = import_module(f"{__package__}.{folder}.product").PRODUCT
    return product
