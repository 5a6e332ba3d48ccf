"""One connection as OpenDS and all that grew out of it summarise it, in either of two spellings.

    connID="14" connectTime="20261120090253Z" source="127.0.0.31:44997" destination="127.0.0.1:13489" ldapVersion="3"
        authDN="uid=application_xyz,ou=services,dc=example,dc=com" security="none" opsInProgress="0"
    {"connId":14,"connectTime":"20261120090253Z","source":"127.0.0.31:44997","destination":"127.0.0.1:13489",…}

Quotes inside a value are not escaped, so the DN, the one value a client chooses, is read from both ends. An IPv6
address stands without brackets before its port. The second spelling is that of ForgeRock DS 6 and later, and of PingDS.
Source: LDAPClientConnection.getMonitorSummary() of OpenDJ; captured from OpenDJ 4.10.1. No capture of the JSON was to
be had: its names are compared without case.
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
    """What a value says: the connection, and the server's end of it."""

    number: str
    """The connection's id, by which it is the same in all lists; the whole value where it has none."""
    connection: MonitoredConnection
    listener: tuple[str, int | None]
    is_ldap: bool
    """False for JMX and HTTP, which the server lists with the others."""


def parse_summary(value: str) -> Summary | None:
    """Return what a value says; None for damage."""
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
    """Return the fields of key="value" pairs; the DN is what stands between its own key and the one after it.

    None of them where either is missing: the value was cut.
    """
    head, _, rest = value.partition(ACCOUNT)
    account, closed, tail = rest.rpartition(AFTER_ACCOUNT)
    if not closed:
        return {}
    pairs = PAIR.findall(head) + PAIR.findall(f'security="{tail}')
    return {name.lower(): text for name, text in pairs} | {"authdn": account}


def _json(value: str) -> Mapping[str, str]:
    try:
        told = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(told, dict):
        return {}
    return {name.lower(): str(text) for name, text in told.items() if isinstance(text, (str, int))}
