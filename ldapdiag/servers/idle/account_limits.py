"""Idle limits of single accounts, set on the entries they bind as; several products have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_distinguished_name, ldif_line
from ldapdiag.servers.commands.ldap_tools import modify, shown
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.evidence.family import Family
    from ldapdiag.servers.commands.server_address import ServerAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountIdleLimit:
    """The attribute of an account's entry in which a product keeps the limit."""

    family: Family
    attribute: str
    never: int
    """The value for: never close an idle connection."""
    exempt: tuple[str, ...]
    """Bind DNs that no idle limit applies to."""


def set_account_limit(
    server: ServerAddress, dns: tuple[str, ...], seconds: int, limit: AccountIdleLimit, *, manager: str = ""
) -> Remedy | None:
    """Set the idle limit of accounts; negative seconds: none. None when no DN is valid or all are exempt anyway."""
    exempt = {dn.casefold() for dn in limit.exempt}
    wanted = [dn for dn in dict.fromkeys(dns) if dn.casefold() not in exempt]
    entries = [dn for dn in wanted if is_distinguished_name(dn)]
    if not entries:
        return None
    left_out = len(wanted) - len(entries)
    value = limit.never if seconds < 0 else seconds
    setting = f"replace: {limit.attribute}\n{limit.attribute}: {value}"
    return Remedy(
        title=f"Give {counted(len(entries), 'account')} an idle limit",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *_modifications(entries, setting), manager=manager),
        changes=(
            (
                "Their connections are never closed for being idle"
                if seconds < 0
                else f"Their idle limit is {seconds:,} s"
            )
            + ", from their next bind on."
            + (f" Left out: {left_out} whose names are not distinguished names; set them by hand." if left_out else "")
        ),
        risk=(
            "Dead connections of these accounts stay open until keepalive ends them. An existing limit of these "
            "entries is replaced. The change is replicated."
        ),
        undo=modify(server, *_modifications(entries, f"delete: {limit.attribute}"), manager=manager),
        verify="\n".join(shown(server, limit.attribute, entry=dn, manager=manager) for dn in entries),
        family=limit.family,
        needs=Needs.REBIND,
    )


def _modifications(entries: list[str], change: str) -> list[str]:
    """Return the lines of an LDIF that makes the same change to each entry."""
    return "\n\n".join(f"{ldif_line('dn', dn)}\nchangetype: modify\n{change}" for dn in entries).split("\n")
