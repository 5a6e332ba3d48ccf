"""binds-in-clear: passwords that BINDs sent over the network without TLS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.security import CountOfClient, Security, by_client
from ldapdiag.analysis.log.spellings import OTHER_NAME, UNKNOWN_NAME, folded_dn
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy
from ldapdiag.servers.client_settings.client_advice import bind_over_tls
from ldapdiag.wording import counted

TLS_REQUIRED = frozenset({8, 13})
"""strongerAuthRequired, confidentialityRequired (RFC 4511, appendix A)."""
NO_PASSWORD = frozenset({53})
"""unwillingToPerform: what servers answer to a DN without a password (RFC 4513, 5.1.2), and to locked accounts."""
MOST, NAMED = 20, 5
"""Accounts and clients in `observed`, and in the text."""
LOG_FROM_THE_START = "the log before this one, in which these connections begin"


@check(group="access log", number=MainNumber("binds", "BINDs without TLS", "logged"))
def judge(server: Instance, traffic: Traffic) -> Iterator[Verdict]:
    """Passwords that BINDs sent over the network without TLS.

    ## What it looks at
    The BINDs with a password (simple with a DN, or SASL PLAIN) in the access log, on connections without LDAPS and
    before StartTLS. Not those of the same host (loopback, ldapi), which are counted apart, nor anonymous ones. A
    connection that began before the log is not judged: what secured it is not in the log.

    Logs do not show whether a password was empty: servers answer such a BIND with 53, so those are left out.

    likely: lines of the log were lost or not understood, and one of them may be the one that shows TLS.

    ## Severity
    - medium: one such BIND or more. A password on the network can be read by every host and device on the path, works
      on every server with this account, and does so until it is changed. It is not high, as an attacker needs access
      to that path.
    - low: the server refused all of them because TLS is required (13, 8). The passwords were sent all the same, but
      such an application does not work, so its owner notices.

    ## Why it matters
    The account's password is often the same for mail, VPN and log-in, and that of a service account can read, or
    write, much of the directory. The searches of such a connection, and their results, are in the clear, too.

    ## What to do
    Change the applications on the clients named here to LDAPS or StartTLS, and then the passwords. Once the log shows
    no more of them, let the server refuse such BINDs: nsslapd-require-secure-binds (389-ds), olcSecurity or `security
    simple_bind=` (slapd), require-secure-authentication of the password policies (OpenDJ, PingDirectory), no port
    without TLS (DSEE), LDAPServerIntegrity (Active Directory, whose only logs of BINDs are its events 2889). In
    the other order every application that still binds in the clear stops working.

    ## When it is harmless
    The path is encrypted otherwise (VPN, IPsec, a tunnel), or a proxy on the same host ends TLS. Of a proxy or load
    balancer on another host the last part of the path is in the clear.
    """
    binds = traffic.workload.operations["bind"]
    security = traffic.workload.security
    if not binds:
        yield _not_judged(server.name, "there is no BIND in the access log", "an access log of a busy hour")
        return
    empty, found = _without_password(traffic)
    doubtful = traffic.lines_in_doubt if security.secured or security.start_tls else 0
    count = sum(one.count for one in found)
    if found and doubtful >= count:
        reason = (
            f"{counted(count, 'BIND')} without TLS, but {counted(doubtful, 'line')} of the log lost or not understood, "
            "which may have shown it"
        )
        yield _not_judged(server.name, reason, "a complete access log")
        return
    if found:
        yield _finding(server, traffic, found, doubtful)
    yield from _others(server, security, binds, empty, found=bool(found))


def _others(server: Instance, security: Security, binds: int, empty: int, *, found: bool) -> Iterator[Verdict]:
    """Yield the verdict on all BINDs without a finding."""
    subject = f"other connections to {server.name}" if found else server.name
    if security.maybe_clear:
        reason = (
            f"{counted(security.maybe_clear, 'connection')} with BINDs with a password began before the log, which "
            "does not show whether they have TLS"
        )
        yield _not_judged(subject, reason, LOG_FROM_THE_START)
    elif empty:
        reason = (
            f"{counted(empty, 'BIND')} without TLS ended with err=53, as those of locked accounts and those without a "
            "password do"
        )
        yield _not_judged(subject, reason, "the settings of these clients")
    elif not found:
        local = f"; {security.local_binds:,} did within the host (loopback, ldapi)" if security.local_binds else ""
        sent = f"none of {counted(binds, 'BIND')} sent a password over the network without TLS"
        yield Clear(subject=subject, reason=f"{sent}{local}")


def _not_judged(subject: str, reason: str, how: str) -> NotJudged:
    return NotJudged.without(AccessLog, subject, reason, how=how)


def _without_password(traffic: Traffic) -> tuple[int, list[CountOfClient]]:
    """Return how many BINDs may have had no password, and the others by client and DN."""
    maybe = _failed(traffic, NO_PASSWORD)
    found, empty = [], 0
    for bind in traffic.workload.security.clear_binds:
        without = min(bind.count, maybe[bind.client, folded_dn(bind.what.encode())])
        empty += without
        if bind.count > without:
            found.append(CountOfClient(client=bind.client, what=bind.what, count=bind.count - without))
    return empty, found


def _failed(traffic: Traffic, errors: frozenset[int]) -> Counter[tuple[str, bytes]]:
    """Return the BINDs that ended with these codes, by client and DN."""
    failed = Counter[tuple[str, bytes]]()
    for bind in traffic.workload.failed_binds:
        if bind.err in errors:
            failed[bind.client, folded_dn(bind.dn.encode())] += bind.count
    return failed


def _finding(server: Instance, traffic: Traffic, found: list[CountOfClient], doubtful: int) -> Finding:
    security = traffic.workload.security
    accounts, clients = _by_account(found), by_client(found)
    count = sum(clients.values())
    required = _failed(traffic, TLS_REQUIRED)
    refused = sum(min(one.count, required[one.client, folded_dn(one.what.encode())]) for one in found)
    listed = [name for name in clients if name not in {OTHER_NAME, UNKNOWN_NAME}]
    requiring = _require_tls(server) if refused < count else ()
    where = listed[0] if len(clients) == len(listed) == 1 else "the clients"
    return Finding(
        subject=server.name,
        severity=Severity.LOW if refused >= count else Severity.MEDIUM,
        confidence=Confidence.LIKELY if doubtful else Confidence.CERTAIN,
        title=_title(server, accounts, clients),
        detail="\n".join(_sentences(accounts, clients, refused, security.local_binds, doubtful)),
        observed={
            "server": server.name,
            "binds": count,
            "accounts": list(accounts)[:MOST],
            "account_count": len(accounts),
            "clients": list(clients)[:MOST],
            "client_count": len(clients),
            "refused": refused,
            "same_host": security.local_binds,
            "unjudged_connections": security.maybe_clear,
        },
        server=server.name,
        hosts=(server.host,),
        remedies=(bind_over_tls(where, server.name), *requiring),
        origins=traffic.origins,
    )


def _by_account(found: Iterable[CountOfClient]) -> dict[str, int]:
    accounts = Counter[str]()
    for one in found:
        accounts[one.what] += one.count
    return dict(sorted(accounts.items(), key=lambda each: (-each[1], each[0])))


def _title(server: Instance, accounts: Mapping[str, int], clients: Mapping[str, int]) -> str:
    count = sum(clients.values())
    return (
        f"{counted(count, 'BIND')} sent a password to {server.name} without TLS, as {_first(accounts, 'account')}, "
        f"from {_first(clients, 'client')}"
    )


def _first(counts: Mapping[str, int], what: str) -> str:
    others = len(counts) - 1
    more = f" and {counted(others, f'other {what}')}" if others else ""
    return f"{next(iter(counts))}{more}"


def _sentences(
    accounts: Mapping[str, int], clients: Mapping[str, int], refused: int, local: int, doubtful: int
) -> Iterator[str]:
    yield f"Accounts: {_named(accounts)}."
    yield f"Clients: {_named(clients)}. Behind a NAT or a proxy, this is the middlebox's address."
    if refused:
        yield f"The server refused {refused:,} of them because it requires TLS; the password was sent all the same."
    if local:
        yield f"Not counted: {counted(local, 'BIND')} within the host (loopback, ldapi), which no network carries."
    if doubtful:
        yield f"{counted(doubtful, 'line')} of the log lost or not understood; some of them may have shown TLS."


def _named(counts: Mapping[str, int]) -> str:
    names = ", ".join(f"{name} ({count:,})" for name, count in list(counts.items())[:NAMED])
    return f"{names} and {len(counts) - NAMED:,} more" if len(counts) > NAMED else names


def _require_tls(server: Instance) -> tuple[Remedy, ...]:
    if server.product is None:
        return ()
    identity = server.identity
    remedy = server.product.remedies.require_secure_binds(server.address, identity.version if identity else ())
    return (server.address.adapt(remedy),)
