"""One connection in the list of OpenDS and its forks, in either of two notations.

    connID="14" connectTime="20261120090253Z" source="127.0.0.31:44997" destination="127.0.0.1:13489" ldapVersion="3"
        authDN="uid=application_xyz,ou=services,dc=example,dc=com" security="none" opsInProgress="0"
    {"connId":14,"connectTime":"20261120090253Z","source":"127.0.0.31:44997","destination":"127.0.0.1:13489",…}

Quotes within a value are not escaped, so the DN, the only value that a client chooses, is located from both ends. An
IPv6 address has no brackets before its port. The second notation is that of ForgeRock DS 6 and later, and of PingDS.
Source: LDAPClientConnection.getMonitorSummary() of OpenDJ; captured from OpenDJ 4.10.1. There is no public capture of
the JSON; its names are compared case-insensitively.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.monitor import MonitoredConnection, generalized_time
from ldapdiag.evidence.monitor.client_address import java_endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCOUNT = ' authDN="'
AFTER_ACCOUNT = '" security="'
PAIR = re.compile(r'(\w{1,40})="([^"]*)"', re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The content of one value: the connection, and the server's endpoint of it."""

    number: str
    """The connection's identifier, equal in all lists; the complete value where it has none."""
    connection: MonitoredConnection
    listener: tuple[str, int | None]
    is_ldap: bool
    """False: a connection of JMX or HTTP, which the server also lists."""


def parse_summary(value: str) -> Summary | None:
    """Return the content of a value; None if it is damaged."""
    fields = _json(value) if value.startswith("{") else _pairs(value)
    if "source" not in fields and "jmxconnid" not in fields:
        return None
    client, port = java_endpoint(fields.get("source", ""))
    return Summary(
        number=fields.get("connid") or value,
        connection=MonitoredConnection(
            account=fields.get("authdn", ""),
            client=client,
            client_port=port,
            opened=generalized_time.parse(fields.get("connecttime", "")),
            persistent_searches=whole_number(fields.get("persistentsearches", "")),
        ),
        listener=java_endpoint(fields.get("destination", "")),
        is_ldap=bool(fields.get("ldapversion")) or ("source" in fields and value.startswith("{")),
    )


def _pairs(value: str) -> Mapping[str, str]:
    """Return the fields of key="value" pairs; the DN is the text between its key and the next one.

    Empty if either key is missing, because the value was truncated.
    """
    head, _, rest = value.partition(ACCOUNT)
    account, closed, tail = rest.rpartition(AFTER_ACCOUNT)
    if not closed:
        return {}
    pairs = PAIR.findall(head) + PAIR.findall(f'security="{tail}')
    return {name.lower(): text for name, text in pairs} | {"authdn": account}


def _json(value: str) -> Mapping[str, str]:
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(fields, dict):
        return {}
    return {name.lower(): str(text) for name, text in fields.items() if isinstance(text, (str, int))}
