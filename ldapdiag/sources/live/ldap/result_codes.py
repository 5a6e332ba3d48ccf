"""LDAP result codes: the reason of a failure in plain words, and what to do next.

Source: RFC 4511, section 4.1.9 and appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldapdiag.sources.live.ldap.connecting import QueryFailed

SUCCESS, REFERRAL = 0, 10
NO_SUCH_OBJECT, INSUFFICIENT_ACCESS = 32, 50
NOT_SHOWN = frozenset({NO_SUCH_OBJECT, INSUFFICIENT_ACCESS})
"""Servers return either code for an entry that the account may not see."""
LIMITS = frozenset({3, 4, 11})
"""timeLimitExceeded, sizeLimitExceeded, adminLimitExceeded: the result is incomplete."""
MAX_MESSAGE = 200
"""Characters of a server's message to repeat."""

NAME_THE_OTHER = "referrals are not followed: name the server of that URL, or an account's own server, as target"
ENCRYPT = "use ldaps://, or add -ZZ (StartTLS)"
BIND_ADVICE = {
    7: "use another -Y, or -D with -W; supportedSASLMechanisms in the root DSE lists the mechanisms",
    8: ENCRYPT,
    REFERRAL: NAME_THE_OTHER,
    13: ENCRYPT,
    19: "the account may be locked or its password expired; unlock it, or bind as another account",
    32: "check the DN after -D",
    48: "this server requires a bind: -D DN -W, or as root on the server itself ldapi:// with -Y EXTERNAL",
    49: "check the DN after -D and the password (-W prompts for it)",
    51: "the server is busy; try again, or read its sockets with ssh://HOST",
    52: "the server is unavailable; read its sockets with ssh://HOST",
    53: "this server requires a bind with a password: -D DN -W",
}


def bind_refused(result: Mapping[str, Any], account: str) -> QueryFailed:
    """Return the reason of a failed bind, which ends the session."""
    return QueryFailed(
        f"the bind as {account} failed: {result_text(result)}",
        BIND_ADVICE.get(result["result"], "try the same bind with ldapwhoami; its message may say more"),
    )


def search_refused(result: Mapping[str, Any], subject: str) -> QueryFailed:
    """Return the reason of a failed search; with advice only for codes that have some."""
    return QueryFailed(f"{subject}: {result_text(result)}", BIND_ADVICE.get(result["result"]))


def referred_elsewhere(result: Mapping[str, Any], subject: str) -> QueryFailed | None:
    """Return the reason why an answer is at another server, in whole or in part; None where it is here."""
    if not (references := result.get("references")):
        return None
    return QueryFailed(f"{subject}: the server refers to {', '.join(references)}", NAME_THE_OTHER)


def list_cut(result: Mapping[str, Any], base: str, count: int) -> QueryFailed | None:
    """Return the reason of an incomplete list; None for any other result."""
    if result["result"] not in LIMITS:
        return None
    return QueryFailed(
        f"{base}: the server stopped after {count:,} entries ({result_text(result)}); the incomplete list is not used",
        "bind as an account without this limit (389-ds: Directory Manager; slapd: olcLimits, or the rootdn)",
    )


def result_text(result: Mapping[str, Any]) -> str:
    """Return a result as name, number and the server's message."""
    message = " ".join(str(result["message"]).split())[:MAX_MESSAGE]
    urls = ", ".join(str(url) for url in result.get("referrals") or ())[:MAX_MESSAGE]
    to = f" to {urls}" if urls else ""
    return f"{result['description']} ({result['result']}){to}{': ' if message else ''}{message}"
