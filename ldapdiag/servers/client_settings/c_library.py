"""libldap, the C library of OpenLDAP that most programs in C, PHP and Python use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.client_settings.values import (
    CONNECT_TIMEOUT,
    KEEPALIVE_PROBES,
    ClientSoftware,
    ClientValues,
    client_remedy,
)

if TYPE_CHECKING:
    from ldapdiag.remedy import Remedy

FIND_FILE = "file=/etc/ldap/ldap.conf; [ -e /etc/openldap/ldap.conf ] && file=/etc/openldap/ldap.conf"
BEGIN, END = "# ldapdiag begins", "# ldapdiag ends"
PROGRAMS = frozenset(
    {
        "apache2",
        "auth",
        "automount",
        "basic_ldap_auth",
        "dovecot",
        "freeradius",
        "httpd",
        "ldapsearch",
        "php",
        "php-fpm",
        "proxymap",
        "radiusd",
        "saslauthd",
        "slapd",
        "smbd",
        "winbindd",
    }
)


def set_libldap(values: ClientValues) -> Remedy:
    """Send keepalive probes from every program that opens its connections with libldap.

    init.c of 2.5.13 passes the number where ldap_set_option() takes its address: any program that reads such a line
    crashes (measured: ldapsearch and python-ldap). Newer sources pass the address; the release that changed it is not
    known, so the commands try it first.
    """
    seconds = values.probe_seconds
    remedy = client_remedy(
        values,
        "libldap",
        text="\n".join(
            [
                FIND_FILE,
                f"if LDAPKEEPALIVE_IDLE={seconds} ldapsearch -VV >/dev/null 2>&1; then cat >> $file <<'CONF'",
                "",  # the file may end without a newline
                BEGIN,
                f"KEEPALIVE_IDLE {seconds}",
                f"KEEPALIVE_PROBES {KEEPALIVE_PROBES}",
                f"KEEPALIVE_INTERVAL {values.probe_interval}",
                f"NETWORK_TIMEOUT {CONNECT_TIMEOUT}",
                END,
                "CONF",
                "else echo 'not set: this libldap crashes on it, or there is no ldapsearch to try it with'; fi",
            ]
        ),
        changes=f"Programs that open connections with libldap probe the server after {seconds:,} s of idle time, and "
        "wait 10 s for a connection. They must be started again. Without these lines libldap uses the kernel's "
        "keepalive time. Do not add the lines by hand: all programs crash on them with libldap 2.5.13, so the "
        "commands test that first. SSSD opens its connections itself and ignores them. No setting of libldap ends "
        "idle connections: the application must.",
        risk="One small packet in each direction per idle connection and probe.",
        undo=f"{FIND_FILE}\nsed -i '/^{BEGIN}$/,/^{END}$/d' $file",
    )
    return replace(remedy, kind=RemedyKind.SHELL)


LIBLDAP = ClientSoftware(
    name="libldap",
    programs=PROGRAMS,
    setting="KEEPALIVE_IDLE in ldap.conf",
    source="measured with libldap 2.5.13, which crashes on it; the names are from ldap.conf(5)",
    remedy=set_libldap,
)
