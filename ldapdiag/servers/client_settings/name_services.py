"""SSSD and nslcd: the daemons that look up users for a whole host."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import RemedyKind
from ldapdiag.servers.client_settings.values import SHOW_SOCKETS, ClientSoftware, ClientValues, client_remedy

if TYPE_CHECKING:
    from ldapdiag.remedy import Remedy

SSSD_FILE = "/etc/sssd/conf.d/90-ldapdiag.conf"
NSLCD_FILE = "/etc/nslcd.conf"
FORMER_NSLCD_FILE = "/etc/nslcd.conf.before-ldapdiag"
RECONNECTS = "A look-up after a pause opens a new connection, which takes some milliseconds longer."
SSSD_SOURCE = "from sssd-ldap(5) of 2.8.2 and the release notes of 2.8.0; not tested"
NSLCD_SOURCE = "measured with nslcd 0.9.12 (Debian 12)"


def set_sssd(values: ClientValues) -> Remedy:
    """Close idle connections in SSSD; its default is 900 s, too long for most firewalls."""
    seconds = values.longest_idle
    remedy = client_remedy(
        values,
        "SSSD",
        text=f"# {SSSD_FILE}, of root, mode 0600; EXAMPLE: the name of the domain in sssd.conf\n"
        f"[domain/EXAMPLE]\nldap_connection_idle_timeout = {seconds}",
        changes=f"SSSD closes a connection that was idle for {seconds:,} s; the default is 900 s. "
        f"Before 2.8.0 it has no such setting: use ldap_connection_expire_timeout = {seconds}, which ends each "
        "connection at that age and must be longer than ldap_opt_timeout (8 s by default).",
        risk=RECONNECTS,
        undo=f"rm {SSSD_FILE}\nsystemctl restart sssd",
    )
    return replace(remedy, verify=f"sssctl config-check\n{SHOW_SOCKETS}")


def set_nslcd(values: ClientValues) -> Remedy:
    """Close idle connections in nslcd; its default is never."""
    seconds = values.longest_idle
    remedy = client_remedy(
        values,
        "nslcd",
        text=f"[ -e {FORMER_NSLCD_FILE} ] || cp -p {NSLCD_FILE} {FORMER_NSLCD_FILE}\n"
        f"sed -i '/^idle_timelimit/d' {NSLCD_FILE}\n"
        f"printf '\\nidle_timelimit {seconds}\\n' >> {NSLCD_FILE}\n"  # it may end without a newline
        "systemctl restart nslcd",
        changes=f"nslcd (nss-pam-ldapd) closes a connection that was idle for {seconds:,} s; by default it never does. "
        "It does so in time since 0.8.0; before, at the next look-up.",
        risk=RECONNECTS,
        undo=f"mv {FORMER_NSLCD_FILE} {NSLCD_FILE}\nsystemctl restart nslcd",
    )
    return replace(remedy, kind=RemedyKind.SHELL, verify=f"grep idle_timelimit {NSLCD_FILE}\n{SHOW_SOCKETS}")


SSSD = ClientSoftware(
    name="SSSD",
    programs=frozenset({"sssd", "sssd_be"}),
    setting="ldap_connection_idle_timeout",
    source=SSSD_SOURCE,
    remedy=set_sssd,
)
NSLCD = ClientSoftware(
    name="nslcd", programs=frozenset({"nslcd"}), setting="idle_timelimit", source=NSLCD_SOURCE, remedy=set_nslcd
)
