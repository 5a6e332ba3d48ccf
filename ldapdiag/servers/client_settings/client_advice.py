"""Advice for the owner of a client application; none of it changes the server."""

from __future__ import annotations

from dataclasses import replace

from ldapdiag.remedy import Needs, Remedy, RemedyKind, Where


def pool_connections(client: str, server: str) -> Remedy:
    """Advise a connection pool."""
    advice = _advice(
        client,
        "Reuse connections in the application",
        text="Use the connection pool of the application's LDAP library (JNDI: com.sun.jndi.ldap.connect.pool=true; "
        "for ldaps com.sun.jndi.ldap.connect.pool.protocol='plain ssl'), or keep one connection in each process.",
        changes="Operations use connections that are already open and bound: no handshake and no BIND for each.",
        risk="A pool must detect dead connections: let it validate them, and close those that are idle for longer than "
        "the firewall's timeout.",
        verify=f"connection-churn no longer lists it in the access log of {server}.",
    )
    return replace(advice, undo="Disable the pool.", needs=Needs.RESTART)


def unbind_first(client: str, server: str) -> Remedy:
    """Advise an unbind before each close."""
    return _advice(
        client,
        "Unbind in the application before it closes a connection",
        text="Close connections with the LDAP library (unbind, close of the context), also after a failed operation "
        "and at the end of the process. Then a close without UNBIND shows a fault.",
        changes="The log separates normal closes from lost connections.",
        verify=f"unclean-closes no longer lists it in the access log of {server}.",
    )


def retire_before_server(client: str, server: str, seconds: int) -> Remedy:
    """Advise a pool that closes idle connections before the server does, after so many seconds, and tests them."""
    at_most = f"below {seconds} s" if seconds > 1 else "below the server's"
    advice = _advice(
        client,
        "Retire connections in the application before the server closes them",
        text=f"Set a maximum idle time {at_most} in the application's pool (JNDI, in milliseconds: "
        "com.sun.jndi.ldap.connect.pool.timeout; UnboundID: setHealthCheckIntervalMillis), let it test a connection "
        "before use, and let it repeat a request once on a new connection.",
        changes="No request is sent on a connection that the server is about to close.",
        verify=f"idle-timeout-too-low no longer lists it in the access log of {server}.",
        risk="The application reconnects as often as before.",
    )
    return replace(advice, undo="Restore the former settings.", needs=Needs.RESTART)


def close_at_end_of_file(client: str, server: str) -> Remedy:
    """Advise to close a connection that the other end has closed."""
    advice = _advice(
        client,
        "Close connections in the application when the other end has closed them",
        text="The socket of such a connection is readable and returns end of file. Let the pool test a connection "
        "before use and while it is idle (JNDI: com.sun.jndi.ldap.connect.pool.timeout; UnboundID: "
        "setHealthCheckIntervalMillis), with a maximum idle time below the shortest timeout of the proxy. Until the "
        "application is changed, a restart closes them.",
        changes=f"The proxy closes its connections to {server} as soon as the application closes its own.",
        verify=f"ss -tan state close-wait no longer lists them on {client}.",
    )
    return replace(advice, needs=Needs.RESTART)


def renew_password(client: str, server: str) -> Remedy:
    """Advise a search for the job that still has an old password."""
    return _advice(
        client,
        "Find the job that still uses the old password",
        text="Ask the owner of the account when its password was changed. Then look on the client for a service, cron "
        "job, monitoring script or second copy of the configuration that still has the old one.",
        changes="The failed binds stop, and with them the risk that they lock the account.",
        risk="Until it is found, a lockout policy may lock the account for all its users.",
        verify=f"failed-binds no longer lists it in the access log of {server}.",
    )


def bind_over_tls(clients: str, server: str) -> Remedy:
    """Advise clients to bind over TLS."""
    return _advice(
        clients,
        "Use LDAPS or StartTLS in the applications, then change the passwords",
        text="In each application: an ldaps:// URL, or StartTLS before the BIND (ldapsearch -ZZ; nslcd and sssd: "
        "ldap_id_use_start_tls; JNDI: StartTlsRequest), with the certificate of the CA, and its check switched on. "
        "Passwords that were sent in the clear may be known to others.",
        changes="Passwords and data are encrypted on the network.",
        risk="An application that does not trust the certificate cannot bind: test one first.",
        verify=f"binds-in-clear no longer lists them in the access log of {server}.",
    )


def _advice(client: str, title: str, *, text: str, changes: str, verify: str, risk: str = "None.") -> Remedy:
    return Remedy(
        title=title,
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text=text,
        changes=changes,
        risk=risk,
        undo="None needed.",
        verify=verify,
    )
