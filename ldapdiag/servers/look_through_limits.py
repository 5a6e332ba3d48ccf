"""Look-through limits of single accounts: how many candidates the server examines for one search of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where, is_distinguished_name, ldif_line
from ldapdiag.servers.ldap_tools import modify, shown
from ldapdiag.wording import counted, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.servers.server_address import ServerAddress

ATTRIBUTES = {
    Family.DS389: "nsLookThroughLimit",
    Family.DSEE: "nsLookThroughLimit",
    Family.OPENDJ: "ds-rlim-lookthrough-limit",
    Family.PING: "ds-rlim-lookthrough-limit",
}
"""Of the entry that an account binds as; another number applies to all accounts without one."""
HEADROOM = 2
"""The proposed limit is so many times the largest complete result."""
RISK = "One search of such an account may examine that many entries, and take as long. The change is replicated."


def raise_look_through_limit(
    server: ServerAddress | None, family: Family | None, accounts: Sequence[str], entries: int
) -> Remedy:
    """Raise the limit of accounts above `entries`, the largest complete result (0: unknown); else advice."""
    attribute = ATTRIBUTES.get(family) if family else None
    dns = [dn for dn in dict.fromkeys(accounts) if is_distinguished_name(dn)]
    if server is None or attribute is None or not dns or entries <= 0:
        return _advice(server, family, attribute, entries)
    value = entries * HEADROOM
    lines = [_modification(dn, f"replace: {attribute}\n{attribute}: {value}") for dn in dns]
    values = "\n".join(shown(server, attribute, entry=dn) for dn in dns)
    return Remedy(
        title=f"Raise the look-through limit of {counted(len(dns), 'account')} to {number(value)}",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=modify(server, *"\n\n".join(lines).split("\n")),
        changes="From their next bind on, these searches return their result. The largest complete result in the log "
        f"has {number(entries)} entries.",
        risk=RISK,
        undo=f"# Restore the values that these commands showed before the change:\n{values}",
        verify=values,
        family=family,
        needs=Needs.REBIND,
    )


def _modification(dn: str, change: str) -> str:
    return f"{ldif_line('dn', dn)}\nchangetype: modify\n{change}"


def _advice(server: ServerAddress | None, family: Family | None, attribute: str | None, entries: int) -> Remedy:
    """Advise which limit to raise."""
    of_all = "nsslapd-lookthroughlimit of cn=config,cn=ldbm database,cn=plugins,cn=config"
    where = {
        Family.DS389: f"nsLookThroughLimit of the entry it binds as, or {of_all} for all accounts",
        Family.OPENLDAP: 'olcLimits of the database, as in: {0}dn.exact="DN" size.unchecked=NUMBER',
    }.get(family or Family.DS389, f"{attribute or 'the look-through limit'} of the entry it binds as")
    enough = f" (at least {number(entries)})" if entries > 0 else "; how many, a search without limits shows"
    return Remedy(
        title="Raise the limit of the account, or narrow the search",
        target=server.name if server else "the server",
        where=Where.SERVER,
        kind=RemedyKind.ADVICE,
        text=f"The limit must exceed the number of candidates of the search{enough}: {where}. Or search for fewer "
        "entries: below a smaller base, or with a further part in the filter.",
        changes="These searches return their result.",
        risk=RISK,
        undo="Restore the former value.",
        verify="The search's RESULT in the access log has err=0.",
        family=family,
    )
