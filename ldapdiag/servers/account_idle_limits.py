"""An idle limit that accounts have of their own, on the entries they bind as: several products have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_distinguished_name, ldif_line
from ldapdiag.servers.ldap_tools import MANAGER, modify, shown

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountIdleLimit:
    """How a product names that limit."""

    family: Family
    attribute: str
    never: int
    """The value that means: never closed for resting."""
    exempt: tuple[str, ...]
    """Who needs none, because no limit holds for them."""


def limited(
    server: str, dns: tuple[str, ...], seconds: int, limit: AccountIdleLimit, *, manager: str = MANAGER
) -> Remedy | None:
    """Give accounts an idle limit of their own; None when no name can be pasted or none needs it."""
    exempt = {dn.casefold() for dn in limit.exempt}
    wanted = [dn for dn in dict.fromkeys(dns) if dn.casefold() not in exempt]
    entries = [dn for dn in wanted if is_distinguished_name(dn)]
    if not entries:
        return None
    left = len(wanted) - len(entries)
    value = limit.never if seconds < 0 else seconds
    setting = f"replace: {limit.attribute}\n{limit.attribute}: {value}"
    return Remedy(
        title=f"Give {len(entries)} account{'s' * (len(entries) > 1)} an idle limit of their own",
        target=server,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *_each(entries, setting), manager=manager),
        changes=(
            ("Their connections are never closed for resting" if seconds < 0 else f"Their limit is {seconds} s")
            + ", from their next bind on."
            + (f" Left out, to be done by hand: {left} whose names are no distinguished names." if left else "")
        ),
        risk=(
            "Dead connections of these accounts stay until keepalive ends them. A limit the entries had is replaced. "
            "The change is replicated."
        ),
        undo=modify(server, *_each(entries, f"delete: {limit.attribute}"), manager=manager),
        verify="\n".join(shown(server, limit.attribute, entry=dn, manager=manager) for dn in entries),
        family=limit.family,
        needs=Needs.RECONNECT,
    )


def _each(entries: list[str], change: str) -> list[str]:
    """Return the LDIF that makes one change to each of the entries."""
    return "\n\n".join(f"{ldif_line('dn', dn)}\nchangetype: modify\n{change}" for dn in entries).split("\n")
