"""unreleased-connections: an application keeps far more connections open than it uses."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.accounts import Accounts
from ldapdiag.analysis.descriptors import Descriptors
from ldapdiag.analysis.direction import Direction
from ldapdiag.analysis.pairing import Pairing
from ldapdiag.analysis.story import clients_of
from ldapdiag.check import check
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Kind, Remedy, Where
from ldapdiag.servers.paste import host_name

MANY = 100
QUARTER, HALF = 0.25, 0.5
IDLE_SHARE = 0.9


@check
def judge(
    pairing: Pairing, accounts: Accounts | None = None, descriptors: Descriptors | None = None
) -> Iterator[Verdict]:
    """Applications that keep far more connections open than they use.

    ## What it looks at
    Connections that both ends agree on. An application keeps too many when there are 100 or more, or 25 % of the
    server's descriptor limit, and at least 90 % of them have rested for more than 60 s.

    high: half of the descriptor limit. medium: otherwise.

    ## Why it matters
    They look like ghosts in a count at the server, but the application still owns every one: no firewall is to blame,
    and no idle timeout mends the program that opens them and never unbinds.

    ## What to do
    Tell the application's owner the account, the host and the number. An idle timeout on the server limits the damage.

    ## When it is harmless
    A pool that is sized for a peak rests at night. Compare with the same hour of a working day.
    """
    paired = [direction for direction in pairing.directions if direction.missing is None and direction.server_count]
    for direction in pairing.directions:
        if direction.missing is not None and direction.server_count:
            missing = direction.missing
            yield NotJudged(subject=direction.subject, reason=missing.reason, missing=missing.lacks, how=missing.how)
    for direction in paired:
        if not is_many(direction.matched, descriptors):
            yield Clear(subject=direction.subject, reason=f"{direction.matched} connections that both ends agree on")
        elif direction.resting is None:
            yield NotJudged(
                subject=direction.subject,
                reason=f"both ends agree on {direction.matched} connections, but no table tells how long they rest",
                missing=("ages",),
                how="ss -tanoi at either end",
            )
        elif direction.resting < IDLE_SHARE * direction.matched:
            busy = direction.matched - direction.resting
            yield Clear(subject=direction.subject, reason=f"{busy} of {direction.matched} were used in the last minute")
        else:
            yield _finding(direction, pairing.host, accounts, descriptors)
    if not any(direction.server_count for direction in pairing.directions):
        yield Clear(subject=pairing.host, reason="no connection is established at the server")


def is_many(connections: int, descriptors: Descriptors | None) -> bool:
    """Tell whether one application holds a number worth asking about."""
    limit = descriptors.limit if descriptors else None
    return connections >= MANY or bool(limit and connections >= QUARTER * limit)


def _finding(direction: Direction, server: str, accounts: Accounts | None, descriptors: Descriptors | None) -> Finding:
    clients = clients_of(direction)
    limit = descriptors.limit if descriptors else None
    owners = accounts.of_all(direction) if accounts else None
    who = f"{' and '.join(owners)} on {clients}" if owners else clients
    return Finding(
        subject=direction.subject,
        key=direction.key,
        severity=Severity.HIGH if limit and direction.matched >= HALF * limit else Severity.MEDIUM,
        confidence=Confidence.CERTAIN if direction.resting == direction.matched else Confidence.LIKELY,
        title=f"{who} keeps {direction.matched} connections open and uses hardly any",
        detail=(
            f"Both ends agree on {direction.matched} connections, so none of them is a ghost; {direction.resting} have "
            f"rested for more than a minute, the longest for {direction.longest_rest or 0:.0f} s.\n"
            f"The application opens connections and does not release them. No box on the path is to blame."
        ),
        observed={
            "server": direction.server,
            "client": direction.client,
            "connections": direction.matched,
            "idle": direction.resting,
            "accounts": owners,
        },
        server=server,
        hosts=tuple(sorted({*direction.client_hosts, server})),
        remedies=(_release(direction, clients),),
        origins=direction.origins,
    )


def _release(direction: Direction, clients: str) -> Remedy:
    return Remedy(
        title=f"release: let the application on {clients} close what it does not use",
        target=clients,
        where=Where.CLIENT,
        kind=Kind.ADVICE,
        text=(
            f"Ask the owner of the application on {clients} for a pool with a maximum size and a maximum idle time, "
            "and for an unbind on every path that leaves the code, errors included."
        ),
        changes="The application holds as many connections as it uses.",
        risk="A pool that is too small makes requests wait.",
        undo="Restore the former size of the pool.",
        verify=f"ss -Htn dst {host_name(direction.server_address)} | wc -l",
    )
