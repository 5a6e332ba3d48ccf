"""Close reasons in slapd's log: servers/slapd/connection.c and result.c pass them to connection_closing().

conn=1001 fd=16 closed                  after an UNBIND
conn=1002 fd=17 closed (idletimeout)
"""

from __future__ import annotations

from ldapdiag.servers.close_reasons import CloseKind, CloseReason

CLOSE_REASONS = {
    "": CloseReason("the client sent UNBIND", CloseKind.CLEAN),
    "idletimeout": CloseReason("idle for longer than idletimeout", CloseKind.IDLE),
    "connection lost": CloseReason(
        "the client closed or reset it without UNBIND, or sent data that is not LDAP", CloseKind.CLIENT_GONE
    ),
    "connection lost on write": CloseReason("the client had closed it when a result was sent", CloseKind.CLIENT_GONE),
    "connection lost on writewait": CloseReason("the client closed it while slapd waited to send", CloseKind.NETWORK),
    "writetimeout": CloseReason("the client did not read for longer than writetimeout", CloseKind.NETWORK),
    "writer blocked and pool pause pending": CloseReason(
        "the client did not read, and slapd could not wait: its configuration changed", CloseKind.NETWORK
    ),
    "operations error": CloseReason("slapd could not decode a request", CloseKind.PROTOCOL),
    "TLS negotiation failure": CloseReason("the TLS negotiation failed", CloseKind.PROTOCOL),
    "SASL layer install failure": CloseReason("the SASL layer could not be installed", CloseKind.PROTOCOL),
    "slapd shutdown": CloseReason("slapd was stopped", CloseKind.SERVER),
    "dropping": CloseReason("slapd dropped all idle clients", CloseKind.SERVER),
}
