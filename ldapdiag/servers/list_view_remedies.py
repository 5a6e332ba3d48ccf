"""Remedies for virtual list views: a VLV index where the product has one, else advice for the application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where
from ldapdiag.servers.products import product_of

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.servers.product_interfaces import ListViewRemedies
    from ldapdiag.servers.server_address import ServerAddress
    from ldapdiag.servers.wanted_view import WantedView


def add_vlv_index(server: ServerAddress, backend: Backend, wanted: WantedView, family: Family) -> Remedy:
    """Add and build a VLV index, with the access that its accounts need."""
    if (module := _module(family)) is not None:
        return module.add_vlv_index(server, backend, wanted)
    return Remedy(
        title=f"Add a VLV index of {wanted.filter} below {wanted.base} sorted by {wanted.keys}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=(
            f"Add an entry of the class vlvSearch below the entry of {backend.name}, with vlvBase, vlvScope, vlvFilter "
            "and an aci that lets the accounts read it; below it one of the class vlvIndex with vlvSort: "
            f"{wanted.keys}. Then build it with dsadm reindex -l while the server is stopped. "
            "This follows the manual and was not tested."
        ),
        changes="Virtual list views of this base, scope, filter and order read one page, and sort nothing.",
        risk="Accounts that may not read the entry of the VLV search are refused (err=50) once the index is used.",
        undo="",
        verify="Its RESULT in the access log has no notes=U.",
        family=family,
        needs=Needs.REINDEX,
    )


def allow_reading(server: ServerAddress, wanted: WantedView, family: Family) -> tuple[Remedy, ...]:
    """Let accounts use the indexes of a configured VLV search; nothing for a product whose commands were not tested."""
    module = _module(family)
    return () if module is None else (module.allow_reading(server, wanted),)


def _module(family: Family) -> ListViewRemedies | None:
    product = product_of(family)
    return product.list_view_remedies if product else None
