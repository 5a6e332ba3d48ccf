"""failed-binds: accounts and clients whose BINDs fail again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.log.failed_binds import GUESSED_ACCOUNTS, GUESSES, Failures, grouped_failures
from ldapdiag.analysis.log.spellings import ANONYMOUS, OTHER_NAME
from ldapdiag.analysis.log.traffic import Traffic
from ldapdiag.check import MainNumber, check
from ldapdiag.check_setting import Exempt, Threshold
from ldapdiag.evidence.access_log import AccessLog
from ldapdiag.exempt_accounts import NO_ACCOUNTS, ExemptAccounts
from ldapdiag.finding import NO_COMMAND, Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.servers.client_settings.client_advice import renew_password
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

GUESSED = {
    True: ": password guessing, or an old password on all of them",
    False: ": an old password on all of them, or password guessing",
}
"""By whether others succeed as this account."""

NAMELESS = "without a DN (anonymous, or SASL)"

SHORTEST_HOUR = 3600.0
MOST = 20
"""Findings, and clients named of an account."""


@check(
    group="access log",
    number=MainNumber(
        "failures", "failed BINDs", "logged", up_to="medium", signs=(("never_accepted", 10), ("accounts", 20))
    ),
)
def judge(
    server: Instance,
    traffic: Traffic,
    *,
    medium_failures: Annotated[
        int, Threshold("BINDs", "so many or more of one account are medium, if they are frequent")
    ] = 100,
    low_failures: Annotated[int, Threshold("BINDs", "so many or more of one account are low")] = 10,
    medium_per_hour: Annotated[float, Threshold("/h", "so many an hour are frequent")] = 10.0,
    exempt_accounts: Annotated[
        ExemptAccounts, Exempt("their failures are not judged by account; how many there are is stated")
    ] = NO_ACCOUNTS,
) -> Iterator[Verdict]:
    """Accounts and clients whose BINDs fail again and again.

    ## What it looks at
    BINDs in the access log that ended with a wrong password or an unknown account (result 49, 32, 48) or with a
    locked account (19, 53), by account and by client. A step of a SASL BIND (14) is no failure; BINDs that failed
    for other reasons (the server was busy, or requires TLS) are counted, and not judged.

    Guesses differ from typing errors by who is never accepted. People who mistype succeed later, and most users of a
    front end do not mistype at all: its accounts that were refused and never accepted are few beside those that were
    accepted. A service with an old or expired password fails often on each of its hosts, and mostly was accepted there
    before. So these count, whatever the number of failures:

    - one client, 10 or more accounts that were never accepted from there, at least as many as were accepted;
    - one account, 10 or more clients that it was never accepted from, with fewer than 10 failures each on average.

    Were one user in five refused and never accepted, a front end would look like the first in fewer than one log of
    300.

    ## Severity
    By default:

    - high: one client failed 100 times or more, with 20 accounts or more, and at least as many accounts were never
      accepted from there as were: password guessing, or a broken front end.
    - medium: one client failed as 10 accounts as above; or one account failed from 10 clients as above, while others
      succeed with it.
    - medium: one account failed 100 times or more, and 10 times an hour.
    - low: one account failed 10 times or more; or one client 100 times with 20 accounts, while more accounts succeed
      from there.

    ## Why it matters
    A service with an old password retries for ever: it locks the account for all its users, and each attempt costs
    the server a slow hash. Password guessing looks the same except for the number of accounts.

    ## What to do
    One account: find the program with the old password on the clients named here. Many accounts: ask the client's
    operator, and check whether it is a log-in page that is open to the public.

    ## When it is harmless
    Typing errors. A front end (a log-in portal, a mail server, a NAT) fails for all of its users under one address. A
    migration of accounts whose passwords were not taken along looks like guesses.
    """
    failed = [bind for bind in traffic.workload.failed_binds if bind.err in REFUSED]
    binds = traffic.workload.operations["bind"]
    if not binds:
        reason = "there is no BIND in the access log"
        yield NotJudged.without(AccessLog, server.name, reason, how="an access log of a busy hour")
        return
    groups = [
        failure for failure in grouped_failures(failed, traffic.workload.accepted_binds) if failure.name != OTHER_NAME
    ]
    exempt = [group for group in groups if not group.of_client and group.name in exempt_accounts]
    groups = [group for group in groups if group not in exempt]
    limits = (medium_failures, medium_per_hour, low_failures)
    judged = [(severity, group) for group in groups if (severity := severity_of(group, traffic, limits)) is not None]
    judged.sort(key=lambda each: (-each[0], -each[1].count, each[1].name))
    findings = [
        _of_client(server, traffic, one, severity) if one.of_client else _of_account(server, traffic, one, severity)
        for severity, one in judged
    ]
    yield from findings[:MOST]
    if len(findings) > MOST:
        reason = f"{counted(len(findings) - MOST, 'similar finding')} not reported one by one{_left_out(exempt)}"
        yield NotJudged(subject=f"others at {server.name}", reason=reason, how="ldapdiag log --format json")
    else:
        most = max((group.count for group in groups if severity_of(group, traffic, limits) is None), default=0)
        yield _of_other_accounts(server, traffic, binds, (most, low_failures), exempt, findings=bool(findings))


def _of_other_accounts(
    server: Instance, traffic: Traffic, binds: int, counts: tuple[int, int], exempt: list[Failures], *, findings: bool
) -> Verdict:
    """Return the verdict on all accounts without a finding: the most failures of one, and those that are a finding."""
    most, some = counts
    left_out = _left_out(exempt)
    subject = f"others at {server.name}" if findings else server.name
    unlisted = traffic.workload.unlisted_failed_binds
    if unlisted and most + unlisted >= some:
        reason = (
            f"{counted(unlisted, 'failed BIND')} of more accounts and clients than are counted separately{left_out}"
        )
        return NotJudged.without(AccessLog, subject, reason, how="the log of a shorter period")
    failed = traffic.workload.failed_binds
    other = Counter[int]()
    for one in failed:
        if one.err not in REFUSED:
            other[one.err] += one.count
    refused = sum(one.count for one in failed) - other.total()
    if 2 * other.total() >= binds:
        reason = f"{other.total():,} of {binds:,} BINDs failed, none for a wrong password ({_errors(other)}){left_out}"
        how = "an access log of a period in which accounts could bind"
        return NotJudged.without(AccessLog, subject, reason, how=how)
    besides = f"; {other.total():,} failed for other reasons ({_errors(other)})" if other else ""
    return Clear(
        subject=subject,
        reason=f"{refused:,} of {binds:,} BINDs were refused{' in total' * findings}{besides}{left_out}",
    )


def _left_out(exempt: list[Failures]) -> str:
    """Return what is not judged by account, as a clause; empty without exempt accounts."""
    if not exempt:
        return ""
    failures = counted(sum(one.count for one in exempt), "failure")
    return f"; {failures} of {counted(len(exempt), 'account')} that this site has exempted"


def _errors(errors: Counter[int]) -> str:
    return ", ".join(f"err={err}" for err, _ in errors.most_common(3))


def severity_of(failures: Failures, traffic: Traffic, limits: tuple[int, float, int]) -> Severity | None:
    """Return how bad it is, by the numbers of the manual page; None for typing errors."""
    count, (many, hourly, some) = failures.count, limits
    if failures.of_client and not failures.are_guesses:
        return Severity.LOW
    if failures.of_client:
        often = count >= GUESSES and len(failures.accounts) >= GUESSED_ACCOUNTS
        return Severity.HIGH if often else Severity.MEDIUM
    if (failures.are_guesses and failures.accepted) or (count >= many and per_hour(count, traffic) >= hourly):
        return Severity.MEDIUM
    return Severity.LOW if count >= some else None


def per_hour(count: int, traffic: Traffic) -> float:
    """Return the number per hour; a log of minutes is not extrapolated to an hour."""
    return count * 3600 / max(traffic.seconds, SHORTEST_HOUR)


def _words(failures: Failures) -> str:
    return "; ".join(
        f"{counted(count, 'time')} {REFUSED[err]} (err={err})" for err, count in failures.errors.most_common()
    )


def _of_client(server: Instance, traffic: Traffic, failures: Failures, severity: Severity) -> Finding:
    client, count, accounts = failures.name, failures.count, len(failures.accounts)
    most = ", ".join(f"{dn} ({times:,})" for dn, times in failures.accounts.most_common(3))
    why = "password guessing, or a broken front end"
    if not failures.are_guesses:
        why = "typing errors of a front end's users, or guesses among them"
    accepted = counted(len(failures.accepted), "account")
    return Finding(
        subject=f"{client} -> {server.name}",
        severity=severity,
        confidence=Confidence.LIKELY,
        title=f"{client} failed to bind {count:,} times as {accounts:,} accounts: {why}",
        detail=f"{_words(failures)}.\nMost often as {most}.\n{failures.never_accepted:,} of these accounts were never "
        f"accepted from there in this log, and {accepted} in all were.\nBehind a NAT or a proxy, this is the "
        f"middlebox's address.\n{NO_COMMAND}ask the operator of {client} which program or log-in page it "
        "is, and block it where it has none.",
        observed=_observed(server, traffic, failures) | {"client": client},
        server=server.name,
        hosts=(server.host,),
        origins=traffic.origins,
    )


def _of_account(server: Instance, traffic: Traffic, failures: Failures, severity: Severity) -> Finding:
    dn, where = failures.name, list(failures.clients)
    clients = where[0] if len(where) == 1 else f"{len(where):,} clients"
    who = NAMELESS if dn == ANONYMOUS else f"as {dn}"
    most = ", ".join(f"{client} ({times:,})" for client, times in failures.clients.most_common(3))
    guessed = GUESSED[bool(failures.accepted)] if failures.are_guesses else ""
    is_stale = failures.errors.keys() != NOT_SO and not (failures.are_guesses and failures.accepted)
    renewal = renew_password(where[0] if len(where) == 1 else "the clients", server.name)
    return Finding(
        subject=f"{dn} at {server.name}",
        severity=severity,
        confidence=Confidence.CERTAIN,
        title=f"BINDs {who} were refused {failures.count:,} times, from {clients}{guessed}",
        detail=f"{_words(failures)}.\nMost often from {most}.\n{_explained(failures)}"
        + ("" if is_stale else f"\n{NO_COMMAND}ask the owner of the account, and the operator of {most}."),
        observed=_observed(server, traffic, failures) | {"account": dn},
        server=server.name,
        hosts=(server.host,),
        remedies=(renewal,) if is_stale else (),
        origins=traffic.origins,
    )


def _explained(failures: Failures) -> str:
    """Return what the failures of one account probably are, as a sentence."""
    if failures.errors.keys() == NOT_SO:
        return NO_WAY_IN
    if failures.are_guesses:
        others = counted(len(failures.accepted), "other client") if failures.accepted else "no other client"
        return f"None of these clients was accepted with this account in the log; {others} succeeded with it."
    if both := len(failures.accepted & failures.clients.keys()):
        return (
            f"{both:,} of these clients also succeeded with it in this log: between, its password was changed or "
            "expired, or the account was locked."
        )
    return "Regular failures of one account are a job with an old password."


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
        "accepted": len(failures.accepted),
        "never_accepted": failures.never_accepted,
        "errors": {str(err): times for err, times in sorted(failures.errors.items())},
    }
