"""failed-binds: accounts and clients whose BINDs fail again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.failed_binds import Failures, grouped_failures
from ldapdiag.analysis.log.spellings import ANONYMOUS, OTHER_NAME
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.check import check
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.client_advice import renew_password
from ldapdiag.wording import counted

REFUSED = {
    49: "wrong password or unknown account",
    32: "no such entry",
    48: "this account cannot bind this way",
    19: "locked after too many failures",
    53: "locked, inactive, or no password given",
}
"""Result codes (RFC 4511, appendix A) of refused credentials; 389-ds answers 19 and 53 for locked accounts."""

NOT_SO = {48}
"""If an account got no other result, its password is not wrong."""
NO_WAY_IN = "A bind that is not allowed: anonymous, or as an entry without a password."

NAMELESS = "without a DN (anonymous, or SASL)"

MANY, SOME = 100, 10
HOURLY = 10.0
SHORTEST_HOUR = 3600.0
MOST = 20
"""Findings, and clients named of an account."""


@check
def judge(server: Instance, traffic: Traffic) -> Iterator[Verdict]:
    """Accounts and clients whose BINDs fail again and again.

    ## What it looks at
    BINDs in the access log that ended with a wrong password or an unknown account (result 49, 32, 48) or with a
    locked account (19, 53), by account and by client. A step of a SASL BIND (14) is no failure; BINDs that failed
    for other reasons (the server was busy, or requires TLS) are counted, and not judged.

    ## Severity
    - high: one client failed 100 times or more, with 20 accounts or more: password guessing, or a broken front end.
    - medium: one account failed 100 times or more, and 10 times an hour.
    - low: one account failed 10 times or more.

    ## Why it matters
    A service with an old password retries for ever: it locks the account for all its users, and each attempt costs
    the server a slow hash. Password guessing looks the same except for the number of accounts.

    ## What to do
    One account: find the program with the old password on the clients named here. Many accounts: ask the client's
    operator, and check whether it is a log-in page that is open to the public.

    ## When it is harmless
    Typing errors. A front end (a log-in portal, a mail server, a NAT) fails for all of its users under one address.
    """
    failed = [one for one in traffic.workload.failed_binds if one.err in REFUSED]
    binds = traffic.workload.operations["bind"]
    if not binds:
        reason = "there is no BIND in the access log"
        yield NotJudged(
            subject=server.name, reason=reason, missing=(AccessLog.kind,), how="an access log of a busy hour"
        )
        return
    groups = [one for one in grouped_failures(failed) if one.name != OTHER_NAME]
    judged = [(severity, one) for one in groups if (severity := severity_of(one, traffic)) is not None]
    judged.sort(key=lambda each: (-each[0], -each[1].count, each[1].name))
    findings = [
        _guessed(server, traffic, one) if one.of_client else _stale(server, traffic, one, severity)
        for severity, one in judged
    ]
    yield from findings[:MOST]
    if len(findings) > MOST:
        reason = f"{counted(len(findings) - MOST, 'similar finding')} not reported one by one"
        yield NotJudged(subject=f"others at {server.name}", reason=reason, how="ldapdiag log --format json")
    else:
        most = max((one.count for one in groups if severity_of(one, traffic) is None), default=0)
        yield _of_other_accounts(server, traffic, binds, most, findings=bool(findings))


def _of_other_accounts(server: Instance, traffic: Traffic, binds: int, most: int, *, findings: bool) -> Verdict:
    """Return the verdict on all accounts without a finding, each of which failed `most` times or less."""
    subject = f"others at {server.name}" if findings else server.name
    unlisted = traffic.workload.unlisted_failed_binds
    if unlisted and most + unlisted >= SOME:
        reason = f"{counted(unlisted, 'failed BIND')} of more accounts and clients than are counted separately"
        return NotJudged(subject=subject, reason=reason, missing=(AccessLog.kind,), how="the log of a shorter period")
    failed = traffic.workload.failed_binds
    other = Counter[int]()
    for one in failed:
        if one.err not in REFUSED:
            other[one.err] += one.count
    refused = sum(one.count for one in failed) - other.total()
    if 2 * other.total() >= binds:
        reason = f"{other.total():,} of {binds:,} BINDs failed, none for a wrong password ({_errors(other)})"
        how = "an access log of a period in which accounts could bind"
        return NotJudged(subject=subject, reason=reason, missing=(AccessLog.kind,), how=how)
    besides = f"; {other.total():,} failed for other reasons ({_errors(other)})" if other else ""
    return Clear(
        subject=subject, reason=f"{refused:,} of {binds:,} BINDs were refused{' in total' * findings}{besides}"
    )


def _errors(errors: Counter[int]) -> str:
    return ", ".join(f"err={err}" for err, _ in errors.most_common(3))


def severity_of(failures: Failures, traffic: Traffic) -> Severity | None:
    """Return how bad it is, by the numbers of the manual page; None for typing errors."""
    if failures.of_client:
        return Severity.HIGH
    count = failures.count
    if count >= MANY and per_hour(count, traffic) >= HOURLY:
        return Severity.MEDIUM
    return Severity.LOW if count >= SOME else None


def per_hour(count: int, traffic: Traffic) -> float:
    """Return the number per hour; a log of minutes is not extrapolated to an hour."""
    return count * 3600 / max(traffic.seconds, SHORTEST_HOUR)


def _words(failures: Failures) -> str:
    return "; ".join(
        f"{counted(count, 'time')} {REFUSED[err]} (err={err})" for err, count in failures.errors.most_common()
    )


def _guessed(server: Instance, traffic: Traffic, failures: Failures) -> Finding:
    client, count, accounts = failures.name, failures.count, len(failures.accounts)
    most = ", ".join(f"{dn} ({times:,})" for dn, times in failures.accounts.most_common(3))
    return Finding(
        subject=f"{client} -> {server.name}",
        severity=Severity.HIGH,
        confidence=Confidence.LIKELY,
        title=f"{client} failed to bind {count:,} times as {accounts:,} accounts: password guessing, or a broken "
        "front end",
        detail=f"{_words(failures)}.\nMost often as {most}.\nBehind a NAT or a proxy, this is the middlebox's address.",
        observed=_observed(server, traffic, failures) | {"client": client},
        server=server.name,
        hosts=(server.host,),
        origins=traffic.origins,
    )


def _stale(server: Instance, traffic: Traffic, failures: Failures, severity: Severity) -> Finding:
    dn, where = failures.name, list(failures.clients)
    clients = where[0] if len(where) == 1 else f"{len(where):,} clients"
    who = NAMELESS if dn == ANONYMOUS else f"as {dn}"
    most = ", ".join(f"{client} ({times:,})" for client, times in failures.clients.most_common(3))
    stale = failures.errors.keys() != NOT_SO
    likely = "Regular failures of one account are a job with an old password." if stale else NO_WAY_IN
    return Finding(
        subject=f"{dn} at {server.name}",
        severity=severity,
        confidence=Confidence.CERTAIN,
        title=f"BINDs {who} were refused {failures.count:,} times, from {clients}",
        detail=f"{_words(failures)}.\nMost often from {most}.\n{likely}",
        observed=_observed(server, traffic, failures) | {"account": dn},
        server=server.name,
        hosts=(server.host,),
        remedies=(renew_password(where[0] if len(where) == 1 else "the clients", server.name),) if stale else (),
        origins=traffic.origins,
    )


def _observed(server: Instance, traffic: Traffic, failures: Failures) -> dict[str, object]:
    count = failures.count
    return {
        "server": server.name,
        "account": None,
        "client": None,
        "accounts": len(failures.accounts),
        "clients": [client for client, _ in failures.clients.most_common(MOST)],
        "failures": count,
        "per_hour": round(per_hour(count, traffic), 3),
        "errors": {str(err): times for err, times in sorted(failures.errors.items())},
    }
