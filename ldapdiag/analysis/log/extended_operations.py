"""Names of extended operations by their OID (RFC 4511, 4.12).

Sources: the RFCs named below; 389-ds, ldap/servers/plugins/replication/repl5.h and plugins/dna/dna.c; OpenLDAP,
include/ldap.h; FreeIPA, util/ipa_krb5.h (KEYTAB_SET_OID, KEYTAB_GET_OID), daemons/ipa-slapi-plugins/ipa-enrollment/
ipa_enrollment.c (JOIN_OID) and ipa-extdom-extop/ipa_extdom.h (EXOP_EXTDOM_OID, EXOP_EXTDOM_V1_OID).
"""

from __future__ import annotations

START_TLS = "1.3.6.1.4.1.1466.20037"

NAMES = {
    START_TLS: "StartTLS",  # RFC 4511, 4.14
    "1.3.6.1.4.1.4203.1.11.1": "password modify",  # RFC 3062
    "1.3.6.1.4.1.4203.1.11.3": "who am I",  # RFC 4532
    "1.3.6.1.1.8": "cancel",  # RFC 3909
    "1.3.6.1.1.21.1": "start transaction",  # RFC 5805
    "1.3.6.1.1.21.3": "end transaction",
    "1.3.6.1.4.1.1466.101.119.1": "dynamic refresh",  # RFC 2589
    "1.3.6.1.1.17.1": "start LBURP",  # RFC 4373
    "1.3.6.1.1.17.3": "end LBURP",
    "1.3.6.1.1.17.5": "LBURP update",
    "1.3.6.1.4.1.4203.666.6.5": "verify credentials",  # OpenLDAP
    "2.16.840.1.113730.3.5.3": "replication start",  # 389-ds, from here on
    "2.16.840.1.113730.3.5.12": "replication start",
    "2.16.840.1.113730.3.5.5": "replication end",
    "2.16.840.1.113730.3.5.6": "replication entry",
    "2.16.840.1.113730.3.5.9": "replication entry",
    "2.16.840.1.113730.3.5.7": "bulk import start",
    "2.16.840.1.113730.3.5.8": "bulk import end",
    "2.16.840.1.113730.3.5.10": "number range request",
    "2.16.840.1.113730.3.6.5": "clean RUV",
    "2.16.840.1.113730.3.6.6": "abort clean RUV",
    "2.16.840.1.113730.3.6.7": "clean RUV: highest CSN",
    "2.16.840.1.113730.3.6.8": "clean RUV: status",
    "2.16.840.1.113730.3.6.9": "replication session abort",
    "2.16.840.1.113730.3.8.10.1": "set keytab",  # FreeIPA
    "2.16.840.1.113730.3.8.10.3": "enrol host",
    "2.16.840.1.113730.3.8.10.4": "look up trusted domain",
    "2.16.840.1.113730.3.8.10.4.1": "look up trusted domain",
    "2.16.840.1.113730.3.8.10.5": "get keytab",
}


def name_of(oid: str) -> str | None:
    """Return the name of an extended operation; None for an unknown OID."""
    return NAMES.get(oid)
