"""What the result codes of a directory mean for somebody who wants an answer: why not, and what to do next.

Source: RFC 4511, section 4.1.9 and appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldapdiag.sources.live.ldap.connecting import Unanswered

SUCCESS = 0
NO_SUCH_OBJECT, INSUFFICIENT_ACCESS = 32, 50
NOT_SHOWN = frozenset({NO_SUCH_OBJECT, INSUFFICIENT_ACCESS})
"""A server says either of what this account may not see."""
LIMITS = frozenset({3, 4, 11})
"""timeLimitExceeded, sizeLimitExceeded, adminLimitExceeded: what came is a part."""
LONGEST_MESSAGE = 200

ENCRYPT = "write ldaps://, or add -ZZ (StartTLS)"
BIND_ADVICE = {
    7: "choose another -Y, or -D with -W; supportedSASLMechanisms of the root DSE lists what it has",
    8: ENCRYPT,
    13: ENCRYPT,
    19: "the account may be locked, or its password expired; unlock it, or bind as another",
    32: "check the DN after -D",
    48: "this server wants a name: -D DN -W, or as root on the server itself ldapi:// with -Y EXTERNAL",
    49: "check the DN after -D, and the password; -W asks for it",
    51: "it is busy; try again, or read its sockets with ssh://HOST",
    52: "it is not available now; read its sockets with ssh://HOST",
    53: "this server wants a name and a password: -D DN -W",
}


def bind_refused(result: Mapping[str, Any], who: str) -> Unanswered:
    """Return why a bind failed, as what ends the session."""
    return Unanswered(
        f"the bind as {who} was refused: {told(result)}",
        BIND_ADVICE.get(result["result"], "try the same bind with ldapwhoami; its message may say more"),
    )


def search_refused(result: Mapping[str, Any], what: str) -> Unanswered:
    """Return why a search failed; without advice where the code asks for none of its own."""
    return Unanswered(f"{what}: {told(result)}", BIND_ADVICE.get(result["result"]))


def list_cut(result: Mapping[str, Any], base: str, came: int) -> Unanswered | None:
    """Return why only a part of a list came; None for any other result."""
    if result["result"] not in LIMITS:
        return None
    return Unanswered(
        f"{base}: the server ends the list after {came} entries ({told(result)}), and a part of it would mislead",
        "bind as an account that its limits spare (389-ds: Directory Manager; slapd: olcLimits, or the rootdn)",
    )


def told(result: Mapping[str, Any]) -> str:
    """Return a result in its own words: name, number, and what the server adds."""
    message = " ".join(str(result["message"]).split())[:LONGEST_MESSAGE]
    return f"{result['description']} ({result['result']}){': ' if message else ''}{message}"
