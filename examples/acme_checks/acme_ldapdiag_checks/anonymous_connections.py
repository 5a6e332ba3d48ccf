"""anonymous-connections: connections on which no client has bound."""

from __future__ import annotations

from collections.abc import Iterator

from ldapdiag.analysis.hosts.instances import Instance
from ldapdiag.analysis.load.accounts import Accounts
from ldapdiag.analysis.log.spellings import ANONYMOUS
from ldapdiag.check import check
from ldapdiag.finding import Clear, Confidence, Finding, Severity, Verdict
from ldapdiag.remedy import Remedy, RemedyKind, Where

MANY = 0.5


@check
def judge(server: Instance, accounts: Accounts) -> Iterator[Verdict]:
    """Connections on which no client has bound.

    ## What it looks at
    The bind DN of each connection that cn=monitor lists.

    ## Severity
    - medium: half of the connections or more are anonymous.

    ## Why it matters
    At Acme every application has an account of its own; an anonymous connection cannot be assigned to an owner.

    ## What to do
    Ask the owners of the clients to bind with the account of their application.

    ## When it is harmless
    Address books.
    """
    total = sum(accounts.by_account.values())
    anonymous = accounts.by_account.get(ANONYMOUS, 0)
    if anonymous < max(1, MANY * total):
        yield Clear(subject=server.host, reason=f"{anonymous} of {total} connections are anonymous")
        return
    yield Finding(
        subject=server.host,
        severity=Severity.MEDIUM,
        confidence=Confidence.CERTAIN,
        title=f"{anonymous} of the {total} connections to {server.host} are anonymous",
        detail="cn=monitor lists no bind DN for them.",
        observed={"server": server.host, "anonymous": anonymous, "connections": total},
        server=server.host,
        hosts=(server.host,),
        remedies=(
            Remedy(
                title="Bind with the account of the application",
                target=server.host,
                where=Where.CLIENT,
                kind=RemedyKind.ADVICE,
                text="Set bind DN and password in the configuration of each application that connects anonymously.",
                changes="The connections appear under the account of their application.",
                risk="None.",
                undo="Remove the bind DN again.",
                verify="ldapdiag diagnose: connection-share names the account.",
            ),
        ),
        origins=accounts.origins,
    )
