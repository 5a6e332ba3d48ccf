r"""Access logs as JSON: of each string, its key decides whether it stays, is replaced by its grammar, or is withheld.

{"operation":"BIND","bind_dn":"uid=jane,dc=acme","msg":"no Jane","new":["Jane"]}
{"operation":"BIND","bind_dn":"uid=qkzb,dc=fhwu","msg":"(withheld)","new":["(withheld)"]}
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.anonymising.fields import MECHANISMS, WITHHELD, phrase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser

    Action = Callable[[str, TextAnonymiser], str]

FORMATS = ("389-json", "opendj-json", "ping-json")
TOKEN = pattern(r'(?m)(?P<text>"(?>(?:[^"\\\n]|\\[^\n])*))(?:"(?P<colon>\s{0,9}:)?|\\?$)|(?P<word>[^\s"{}\[\],:]++)')
WORD = pattern(r"-?\d[\d.eE+-]*|true|false|null")
NUMBER = pattern(r"[\d.,:+TZ -]*|-?\d+")
MECHANISM = pattern(
    rf"simple|sasl|none|sslclientauth|tls|internal|unboundid-[a-z-]{{1,40}}|{MECHANISMS}",
    re.IGNORECASE,
)
NO_CLIENT = frozenset({"", "local", "Internal", "Unknown", "unknown"})
IDENTITY = pattern(r"(?P<form>u:|dn:)?(?P<name>.*)", re.DOTALL)


def anonymised_json(text: str, anonymiser: TextAnonymiser) -> str:
    """Return a log with pseudonyms. Keys stay: they are the server's."""
    action: Action = _withheld

    def token(found: re.Match[str]) -> str:
        nonlocal action
        if found["word"]:
            return found[0] if WORD.fullmatch(found["word"]) else WITHHELD
        if found["colon"]:
            action = ACTIONS.get(re.sub("[_-]", "", found["text"][1:]).lower(), _withheld)
            return found[0]
        with suppress(ValueError):
            value = json.loads(found["text"] + '"')
            return json.dumps(action(value, anonymiser), ensure_ascii=False)[: -1 if found[0][-1:] != '"' else None]
        return f'"{WITHHELD}"'

    return TOKEN.sub(token, text)


def _withheld(value: str, anonymiser: TextAnonymiser) -> str:
    return anonymiser.text(value) if NUMBER.fullmatch(value) else WITHHELD


def _stays(value: str, anonymiser: TextAnonymiser) -> str:
    return anonymiser.text(value)


def _name(value: str, anonymiser: TextAnonymiser) -> str:
    found = IDENTITY.match(value)
    return f"{found['form'] or ''}{anonymiser.dn(found['name'])}" if found else WITHHELD


def _filter(value: str, anonymiser: TextAnonymiser) -> str:
    return anonymiser.filter(value) if value.startswith("(") else _value(value, anonymiser)


def _client(value: str, anonymiser: TextAnonymiser) -> str:
    new = anonymiser.text(value)
    return anonymiser.host(value) if new == value and value not in NO_CLIENT else new


def _value(value: str, anonymiser: TextAnonymiser) -> str:
    return anonymiser.value_of(value) if value else value


def _mechanism(value: str, _: TextAnonymiser) -> str:
    return value if MECHANISM.fullmatch(value) or value.isdigit() else WITHHELD


def _phrase(value: str, _: TextAnonymiser) -> str:
    return phrase(value)


def _items(value: str, _: TextAnonymiser) -> str:
    return " unindexed" if "unindexed" in value.split() else WITHHELD


ACTIONS: Mapping[str, Action] = {
    key: action
    for action, keys in {
        _stays: """
            localtime date utctime event version key operation tlsversion cipher attrs sortattrs statattr statkey
            closeerror closereason targetop note eventname protocol scope status elapsedtimeunits timestamp
            messagetype operationtype product requestedattributes
            """,
        _name: """
            binddn basedn base dn targetdn clientdn newrdn newsup newsuperior requesterdn authenticationdn authdn
            authzdn authorizationdn userid runas subject issuer issuerdn autoauthenticatedas authzid authcid
            peersubject issuersubject peersubjectdn certificatesubjectdn
            """,
        _filter: "filter",
        _client: "clientip serverip haproxyip ip fromaddress toaddress requesterip host hostname",
        _value: "instance instancename startupid statkeyvalue",
        _phrase: "description reason disconnectreason",
        _mechanism: "mech method authtype authenticationtype saslmechanism saslmechanismname",
        _items: "additionalitems",
    }.items()
    for key in keys.split()
}
"""What becomes of a string, by its key in lower case, without hyphens and underscores; others are withheld."""
