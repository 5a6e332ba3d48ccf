"""A Samba in a host as a domain controller of Active Directory: dc1.ad.example.com, of the domain ADEX.

What it shares with Windows: root DSE, schema with searchFlags, LDAP policies and their idle timeout, ports, Kerberos.
It has no event 1644, and indexes what searchFlags say at once.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.directory_servers import Server
from lab.host import Host

if TYPE_CHECKING:
    from pathlib import Path

REALM, SUFFIX = "AD.EXAMPLE.COM", "DC=ad,DC=example,DC=com"
PASSWORD = "Passw0rd.lab"  # noqa: S105  of servers that live for one test; the domain's rules want four kinds of characters
ADMINISTRATOR = "Administrator@ad.example.com"
CONFIGURATION, DATABASE = "/etc/samba/smb.conf", "/var/lib/samba/private/sam.ldb"
KEPT = ("etc/samba", "var/lib/samba")
SIMPLE_BINDS = "ldap server require strong auth = no"
PROVISION = f"""
rm -rf /etc/samba /var/lib/samba; mkdir -p /etc/samba /var/lib/samba /var/cache/samba /var/log/samba
ip address add 10.77.1.2/32 dev lo
samba-tool domain provision --realm={REALM} --domain=ADEX --adminpass={PASSWORD} --server-role=dc \
    --dns-backend=NONE --host-name=dc1 --host-ip=10.77.1.2 \
    --option='server services = ldap, cldap, kdc, rpc'
samba-tool spn add ldap/dc1.ad.example.com 'DC1$'
"""


@dataclass(slots=True, kw_only=True)
class DomainController(Server):
    """A running domain controller, asked and changed over LDAP as its administrator."""

    def modify(self, ldif: str) -> str:
        """Apply LDIF."""
        return self.host.run(["ldapmodify", *self._bind], stdin=ldif)

    def search(self, base: str, *arguments: str) -> str:
        """Search, and return LDIF without folded lines."""
        return self.host.run(["ldapsearch", "-LLL", "-o", "ldif-wrap=no", *self._bind, "-b", base, *arguments])

    def indexed(self) -> set[str]:
        """Return the attributes that its database indexes."""
        shown = self.host.run(["ldbsearch", "-H", DATABASE, "-s", "base", "-b", "@INDEXLIST"])
        return set(re.findall(r"(?m)^@IDXATTR: (\S+)$", shown))

    @property
    def _bind(self) -> list[str]:
        return ["-x", "-H", "ldap://127.0.0.1", "-D", self.administrator, "-w", self.password]


def make_samba(folder: Path) -> Path:
    """Provision a domain, once, and keep it as an archive in this folder; a first start makes its keys for TLS."""
    made = folder / "samba.tar"
    with Host("dc1") as host:
        host.run(PROVISION)
        _start(host, folder).stop()
        host.run(["tar", "-C", "/", "-cf", made, *KEPT])
    return made


def samba(host: Host, made: Path, *, configuration: str = "") -> DomainController:
    """Start the domain controller in a host with the address 10.77.1.2; `configuration` are lines for [global]."""
    host.run(f"rm -rf /etc/samba /var/lib/samba; tar -C / -xf {shlex.quote(str(made))}; mkdir -p /var/cache/samba")
    more = f"{SIMPLE_BINDS}\n{configuration}".strip().replace("\n", "\\n")
    host.run(["sed", "-i", f"s/^.global.$/&\\n{more}/", CONFIGURATION])
    return _start(host, made.parent)


def _start(host: Host, folder: Path) -> DomainController:
    host.run("mkdir -p /run/samba /var/log/samba")
    controller = DomainController(
        host=host, argv=["samba", "--foreground", "--no-process-group"], administrator=ADMINISTRATOR, ldapi="",
        log=folder / f"samba-{host.pid}.log", pid_file="/run/samba/samba.pid", unit="samba-ad-dc.service",
        password=PASSWORD,
    )  # fmt: skip
    controller.start()
    return controller
