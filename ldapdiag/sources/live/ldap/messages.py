"""Messages of a directory server: envelope, kind and result, checked before ldap3 decodes them.

ldap3 2.9.1 descends into nested elements without a limit, fails on a result code that it does not know, and takes an
answer of any kind for a result. Source: RFC 4511, sections 4.1.1 (LDAPMessage), 4.1.9 (LDAPResult), 4.1.10 (Referral)
and 4.4.1 (Notice of Disconnection).

LDAP result codes: the reason of a failure in plain words, and what to do next.

Source: RFC 4511, section 4.1.9 and appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.sources.live.ldap.connecting import QueryFailed
from ldapdiag.sources.live.ldap.entries import (
    ENTRY,
    INTEGER,
    OCTETS,
    REFERENCE,
    SEQUENCE,
    MalformedMessage,
    element,
    operation_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

BIND, SEARCH_DONE, EXTENDED, INTERMEDIATE = 0x61, 0x65, 0x78, 0x79
ENUMERATED, REFERRAL, SASL_CREDENTIALS, NAME, VALUE, CONTROLS = 0x0A, 0xA3, 0x87, 0x8A, 0x8B, 0xA0
OPTIONAL = frozenset({REFERRAL, SASL_CREDENTIALS, NAME, VALUE})
ANSWERS = {
    "bindRequest": frozenset({BIND}),
    "searchRequest": frozenset({SEARCH_DONE, ENTRY, REFERENCE, INTERMEDIATE}),
    "extendedReq": frozenset({EXTENDED, INTERMEDIATE}),
}
"""Kinds of answers by the request, in the words of ldap3."""
REQUESTS = {"bindRequest": "a bind", "searchRequest": "a search", "extendedReq": "an extended operation"}
KINDS = {
    BIND: "a bind response",
    ENTRY: "an entry",
    SEARCH_DONE: "a search result",
    REFERENCE: "a search reference",
    EXTENDED: "an extended response",
    INTERMEDIATE: "an intermediate response",
}
DISCONNECTION = b"1.3.6.1.4.1.1466.20036"
MOST_NUMBER_BYTES = 4
"""Of a message number or a result code."""
DEEPEST = 12
"""Levels of elements; a result with referrals and controls has 6."""
CONSTRUCTED, LONG_TAG = 0x20, 0x1F
MAX_TEXT = 200
"""Characters of a server's text to repeat."""
NAME_THE_SERVER = (
    "a proxy or load balancer may answer in its place: name the directory server itself; ssh://HOST reads its sockets "
    "without a query"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result in a message."""

    code: int
    text: str
    """The server's message; neutralised and bounded."""
    referrals: tuple[str, ...] = ()
    """URLs of other servers; neutralised and bounded."""
    name: bytes = b""
    """Of an extended response."""


def check_envelope(message: bytes, number: int, request: str) -> tuple[int, int]:
    """Return kind and offset of the operation in the answer to request `number`, of this kind.

    Raises MalformedMessage for what is no LDAP message, and QueryFailed for one that answers something else.
    """
    kind, at = operation_of(message)
    first, end = element(message, element(message, 0, len(message), SEQUENCE)[0], at, INTEGER)
    if end - first > MOST_NUMBER_BYTES:
        raise MalformedMessage
    answered = int.from_bytes(message[first:end], "big", signed=True)
    if answered == 0:
        raise _unsolicited(message, at, kind)
    if answered != number:
        reason = f"the server answered message {answered}, but message {number} was sent"
        raise QueryFailed(reason, NAME_THE_SERVER)
    if kind not in ANSWERS.get(request, KINDS):
        reason = (
            f"the server answered {REQUESTS[request]} with {KINDS.get(kind, f'a message of unknown kind {kind:#x}')}"
        )
        raise QueryFailed(reason, NAME_THE_SERVER)
    return kind, at


def check_result(message: bytes, at: int, known: Collection[int]) -> Answer:
    """Return the result at an offset. Raises QueryFailed if it cannot be decoded, or its code is not `known`."""
    try:
        check_depth(message)
        answer = read_result(message, at)
    except MalformedMessage:
        raise QueryFailed(
            "cannot decode the server's answer: its elements are nested or cut in a way that no result is (RFC 4511)",
            NAME_THE_SERVER,
        ) from None
    if answer.code not in known:
        said = f": {answer.text}" if answer.text else ""
        raise QueryFailed(
            f"cannot decode the server's answer: unknown result code {answer.code}{said}",
            "look the code up in the manual of the server; ssh://HOST reads its sockets without a query",
        )
    return answer


def read_result(message: bytes, at: int) -> Answer:
    """Return the result at an offset of a message. Raises MalformedMessage for one that is none."""
    start, end = element(message, at, len(message), message[at])
    first, at = element(message, start, end, ENUMERATED)
    if not 0 < at - first <= MOST_NUMBER_BYTES:
        raise MalformedMessage
    code = int.from_bytes(message[first:at], "big", signed=True)
    _, at = element(message, at, end, OCTETS)
    text, at = element(message, at, end, OCTETS)
    rest = dict(_optional(message, at, end))
    referrals = tuple(_shown(url) for url in texts_of(rest.get(REFERRAL, b"")))
    return Answer(code, _shown(message[text:at]), referrals, rest.get(NAME, b""))


def texts_of(content: bytes) -> Iterator[bytes]:
    """Yield the strings in a sequence of strings: the URLs of a referral."""
    at = 0
    while at < len(content):
        start, at = element(content, at, len(content), OCTETS)
        yield content[start:at]


def referred(message: bytes, at: int) -> list[str]:
    """Return the URLs of a search reference."""
    start, end = element(message, at, len(message), REFERENCE)
    return [_shown(url) for url in texts_of(message[start:end])]


def check_depth(message: bytes) -> None:
    """Raise MalformedMessage if elements are nested too deep, or end after the one that contains them."""
    ends = [len(message)]
    at = 0
    while at < len(message):
        tag = message[at]
        if tag & LONG_TAG == LONG_TAG:
            raise MalformedMessage
        start, stop = element(message, at, ends[-1], tag)
        if tag & CONSTRUCTED and stop > start:
            ends.append(stop)
            if len(ends) > DEEPEST:
                raise MalformedMessage
        at = start if tag & CONSTRUCTED else stop
        while len(ends) > 1 and at == ends[-1]:
            ends.pop()


def _optional(message: bytes, at: int, end: int) -> Iterator[tuple[int, bytes]]:
    while at < end:
        tag = message[at]
        if tag not in OPTIONAL:
            raise MalformedMessage
        start, at = element(message, at, end, tag)
        yield tag, message[start:at]


def _unsolicited(message: bytes, at: int, kind: int) -> QueryFailed:
    """Return the reason why the server ended the session by a message that answers none."""
    try:
        answer = read_result(message, at) if kind == EXTENDED else None
    except MalformedMessage:
        answer = None
    if answer is None or answer.name != DISCONNECTION:
        return QueryFailed("the server sent a message that answers no request (message 0)", NAME_THE_SERVER)
    said = f": {answer.text}" if answer.text else ""
    return QueryFailed(
        f"the server announced the end of the session (notice of disconnection, result code {answer.code}{said})",
        "its log has the reason; try again, or read its sockets with ssh://HOST",
    )


def _shown(text: bytes) -> str:
    """Return a server's text on one line, without control characters, bounded."""
    decoded = text[: 4 * MAX_TEXT].decode(errors="replace")
    return " ".join("".join(one if one.isprintable() else " " for one in decoded).split())[:MAX_TEXT]


SUCCESS, REFERRED = 0, 10
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
    REFERRED: NAME_THE_OTHER,
    13: ENCRYPT,
    19: "the account may be locked or its password expired; unlock it, or bind as another account",
    32: "check the DN after -D",
    48: "this server requires a bind: -D DN -W, or as root on its host, if it has a local socket, ldapi:// -Y EXTERNAL",
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
