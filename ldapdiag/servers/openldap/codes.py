"""Reasons for a close in slapd's log: servers/slapd/connection.c and result.c hand them to connection_closing().

conn=1001 fd=16 closed                  an UNBIND came
conn=1002 fd=17 closed (idletimeout)
"""

from __future__ import annotations

from ldapdiag.servers.nature import Close, Nature

CLOSES = {
    "": Close("the client said UNBIND", Nature.CLEAN),
    "idletimeout": Close("idle for longer than idletimeout", Nature.IDLE),
    "connection lost": Close("the client closed or reset it without UNBIND, or sent no LDAP", Nature.CLIENT_GONE),
    "connection lost on write": Close("the client was gone when a result was sent", Nature.CLIENT_GONE),
    "connection lost on writewait": Close("the client was gone while slapd waited to send", Nature.NETWORK),
    "writetimeout": Close("the client did not read for longer than writetimeout", Nature.NETWORK),
    "writer blocked and pool pause pending": Close(
        "the client did not read, and slapd could not wait: its configuration changed", Nature.NETWORK
    ),
    "operations error": Close("slapd could not make sense of a request", Nature.PROTOCOL),
    "TLS negotiation failure": Close("TLS could not be agreed upon", Nature.PROTOCOL),
    "SASL layer install failure": Close("the SASL layer could not be had", Nature.PROTOCOL),
    "slapd shutdown": Close("slapd was stopped", Nature.SERVER),
    "dropping": Close("slapd dropped all clients that were idle", Nature.SERVER),
}
