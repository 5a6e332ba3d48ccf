"""Advice for whoever runs an application that asks the directory: none of it changes the server."""

from __future__ import annotations

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where


def pool_connections(client: str, server: str) -> Remedy:
    """Let an application keep its connections."""
    return Remedy(
        title="Let the application keep its connections",
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text="Use the connection pool of the application's LDAP library (JNDI: com.sun.jndi.ldap.connect.pool=true; "
        "for ldaps com.sun.jndi.ldap.connect.pool.protocol='plain ssl'), or keep one connection in each process.",
        changes="Operations share connections that are open and bound already: no handshake, no BIND for each.",
        risk="A pool must notice connections that died: let it test them, and end those that rest longer than the "
        "firewall remembers.",
        undo="Switch the pool off.",
        verify=f"connection-churn no longer names it in the access log of {server}.",
        needs=Needs.RESTART,
    )


def unbind_first(client: str, server: str) -> Remedy:
    """Let an application say goodbye."""
    return Remedy(
        title="Let the application unbind before it closes",
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text="Close connections through the LDAP library (unbind, close of the context), also where an operation fails "
        "or the process ends; then a close without it means that something went wrong.",
        changes="The log tells wanted ends from lost connections.",
        risk="None.",
        undo="Nothing to take back.",
        verify=f"unclean-closes no longer names it in the access log of {server}.",
    )


def renew_password(client: str, server: str) -> Remedy:
    """Find the job that has an old password."""
    return Remedy(
        title="Find the job that still has the old password",
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text="Ask the account's owner when its password was changed, and look on the client for what still has the old "
        "one: services, cron jobs, monitoring, a second copy of the configuration.",
        changes="The failures end, and so does the risk that they lock the account.",
        risk="Until it is found, a lockout policy may lock the account for everybody who uses it.",
        undo="Nothing to take back.",
        verify=f"failed-binds no longer names it in the access log of {server}.",
    )
