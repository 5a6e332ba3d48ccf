"""The terms on which targets are asked, from the options of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.cli.binding import binding_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ldapdiag.sources.live import Terms


def terms_of(
    bind_dn: str | None,
    *,
    sudo: bool,
    timeout: int,
    apart: float,
    ldap_ports: Iterable[int] = (),
    **binding: Any,  # noqa: ANN401  binding.py's own options
) -> Terms:
    """Return the terms; UsageError says which options do not go together."""
    from ldapdiag.sources.live import Terms  # noqa: PLC0415  import late

    return Terms(
        binding=binding_of(bind_dn, **binding),
        sudo=sudo,
        seconds=timeout,
        apart=apart,
        ldap_ports=frozenset(ldap_ports),
    )
