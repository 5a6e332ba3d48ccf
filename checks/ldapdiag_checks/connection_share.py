"""connection-share: the server's connections by account and by client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ldapdiag.analysis.hosts.host import Host
from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.hosts.listeners import unfit_because
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.analysis.log.spellings import ranked
from ldapdiag.check import check
from ldapdiag.evidence.monitor import Monitor
from ldapdiag.evidence.sockets import SocketTable
from ldapdiag.finding import Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.wording import counted, number


@check(group="connections")
def judge(server: Instance, host: Host, accounts: Accounts | None = None) -> Iterator[Verdict]:
    """The server's connections by account and by client.

    ## What it looks at
    The connections that cn=monitor lists, counted by bind DN and by client address; without cn=monitor, the
    server's established sockets by client address, with the accounts that events 2889 of a domain controller name for
    the same port. DNs that differ only in case are one account.

    ## Severity
    - info: always.

    ## Why it matters
    It answers the first question when descriptors run short: who has them? If one account is far ahead of the
    others, its owner is the person to ask, whatever the reason.

    ## What to do
    Ask the owners of the first rows; the other checks report whether their connections are live, used, or dead.

    ## When it is harmless
    A proxy or a shared front end has most of the connections by design.
    """
    by_client = accounts.by_client if accounts else clients_in_table(host, server.ports)
    if by_client is None:
        yield NotJudged(
            subject=server.name,
            reason="neither cn=monitor with its connections nor the server's socket table",
            missing=(Monitor.kind, SocketTable.kind),
            how=Accounts.how,
        )
        return
    by_account = accounts.by_account if accounts else {}
    total = sum(by_client.values())
    first = next(iter(by_account or by_client), None)
    connections = (by_account or by_client).get(first, 0) if first is not None else 0
    yield Finding(
        subject=server.name,
        severity=Severity.INFO,
        confidence=Confidence.CERTAIN if accounts is None or accounts.is_listed else Confidence.LIKELY,
        title=_title(server, accounts, first, connections, total),
        detail=_detail(accounts, total),
        observed={
            "server": server.name,
            "by_account": [{"bind_dn": account, "connections": count} for account, count in by_account.items()],
            "by_client": [{"client": client, "connections": count} for client, count in by_client.items()],
        },
        server=server.name,
        hosts=(server.host,),
        origins=accounts.origins if accounts else host.latest.origins if host.latest else (),
    )


def clients_in_table(host: Host, ports: frozenset[int]) -> dict[str, int] | None:
    """Return the established connections at the server's end by client address; None without a table."""
    if host.latest is None or unfit_because(host.latest.sockets, ports):
        return None
    table = host.latest.sockets
    return ranked(Counter(table.remote_address[row] for row in table.established_at(ports)))


def _title(server: Instance, accounts: Accounts | None, first: str | None, connections: int, total: int) -> str:
    if first is None:
        return "no connection is open"
    where = ("" if server.is_only else f" to {server.name}") + (f" {accounts.source}" if accounts else "")
    return f"{first} has {number(connections)} of the {counted(total, 'connection')}{where}"


def _detail(accounts: Accounts | None, total: int) -> str:
    if accounts is None:
        return "By client address only, from the socket table; cn=monitor contains the accounts."
    owners = counted(len(accounts.by_account), "account")
    clients = counted(len(accounts.by_client), "address", "addresses")
    if accounts.is_listed:
        return f"{counted(total, 'connection')} of {owners} from {clients}, including the one that read cn=monitor."
    named = number(sum(accounts.by_account.values()))
    return (
        f"{counted(total, 'connection')} from {clients}; {named} of them of {owners}, by the last event 2889 of "
        "the same address and port. The others bound with signing or TLS, or before the log began."
    )
