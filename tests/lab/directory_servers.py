"""Real directory servers in hosts: 389 Directory Server and OpenLDAP's slapd, at the places where Debian has them.

`ds389(host, made)` needs what `make_389` leaves, which takes seconds once; then a server starts within a second.
Both have the suffix dc=example,dc=com, the accounts of APPLICATIONS below ou=services with the password `password`, and
LDAPI with EXTERNAL for root.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lab.host import End, Host, Process, wait_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lab.certificates import Certificate

PASSWORD = "password"  # noqa: S105  of servers that live for one test
SUFFIX = "dc=example,dc=com"
APPLICATIONS = ("application_xyz", "application_foo", "application_shizzle")

INSTANCE = "/etc/dirsrv/slapd-live"
DSE = f"{INSTANCE}/dse.ldif"
DATABASE_389, DATABASE_SLAPD = "/var/lib/dirsrv/slapd-live/db", "/var/lib/ldap"
"""Where a volume of its own is mounted before the server starts."""
STORAGE_ENTRY = "cn={storage},cn=config,cn=ldbm database,cn=plugins,cn=config"
SLAPD_FILE = "/etc/ldap/slapd.conf"
PID_389, PID_SLAPD = "/run/dirsrv/slapd-live.pid", "/run/slapd/slapd.pid"
KEPT = ("etc/dirsrv/slapd-live", "var/lib/dirsrv/slapd-live", "var/log/dirsrv/slapd-live")
LIVE_INF = f"""[general]
config_version = 2
full_machine_name = localhost
strict_host_checking = False
systemd = False
start = True
[slapd]
instance_name = live
port = 389
secure_port = 636
root_password = {PASSWORD}
self_sign_cert = False
db_lib = {{storage}}
[backend-userroot]
suffix = {SUFFIX}
create_suffix_entry = True
"""
PLACES_389 = "mkdir -p /run/dirsrv /run/lock/dirsrv/slapd-live; chown -R dirsrv:dirsrv /run/dirsrv /run/lock/dirsrv"
# Binding must cost nothing, for a laboratory binds two hundred times a second; the default hash is slow on purpose.
CHEAP_PASSWORDS = "dn: cn=config\nchangetype: modify\nreplace: passwordStorageScheme\npasswordStorageScheme: SSHA\n"
KEY_ENTRY = """dn: cn=RSA,cn=encryption,cn=config
objectClass: top
objectClass: nsEncryptionModule
cn: RSA
nsSSLPersonalitySSL: Server-Cert
nsSSLToken: internal (software)
nsSSLActivation: on
"""

SLAPD_CONF = """include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload back_monitor
pidfile {pid_file}
argsfile /run/slapd/slapd.args
loglevel stats
{more}
database config
rootpw {password}
access to * by dn.exact={root} manage by * none
database mdb
suffix {suffix}
rootdn cn=admin,{suffix}
rootpw {password}
directory /var/lib/ldap
maxsize 200000000
{database}
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact={root} manage by * read
"""
SLAPD_MONITOR = """database monitor
access to * by dn.exact={root} read by dn.exact=cn=admin,{suffix} read by * none
"""
ROOT = "gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth"


# Stands in for systemd: a restart ends the server, and starts it under the limit that a drop-in names.
SYSTEMCTL = """#!/bin/sh
case $1 in stop|restart)
    pid=$(cat {pid_file}); kill "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
esac
case $1 in start|restart) ;; *) exit 0 ;; esac
limit=$(cat /etc/systemd/system/{unit}.d/*.conf 2>/dev/null | sed -n s/LimitNOFILE=//p)
[ -z "$limit" ] || ulimit -n "$limit"
rm -f {pid_file}
setsid {start} < /dev/null >> {log} 2>&1 &
for i in $(seq 500); do [ -s {pid_file} ] && ss -Hltn | grep -q ':389 ' && exit 0; sleep 0.02; done
exit 1
"""


@dataclass(slots=True, kw_only=True)
class Server:
    """A directory server in a host."""

    host: Host
    argv: list[str]
    administrator: str
    ldapi: str
    log: Path
    pid_file: str
    unit: str
    descriptors: int | None = None
    process: Process | None = None
    password: str = field(default=PASSWORD, repr=False)
    port: int = 389

    @property
    def pid(self) -> int:
        """The server's process number in its host."""
        return int(self.host.run(["cat", self.pid_file]))

    def start(self) -> Server:
        """Start it, under the limit of descriptors it has, and wait until it listens."""
        limit = f"ulimit -n {self.descriptors}; " if self.descriptors else ""
        stand_in = SYSTEMCTL.format(
            pid_file=self.pid_file, unit=self.unit, start=shlex.join(self.argv), log=shlex.quote(str(self.log))
        )
        self.host.run(f"rm -f {self.pid_file}; cat > /run/bin/systemctl; chmod 755 /run/bin/systemctl", stdin=stand_in)
        self.process = self.host.start(["sh", "-c", f"{limit}exec {shlex.join(self.argv)}"], log=self.log)
        wait_for(self._listens, f"{self.argv[0]} does not listen")
        return self

    def stop(self) -> None:
        """End it as an administrator does."""
        self.host.run(f"p={self.pid}; kill $p; while kill -0 $p 2>/dev/null; do sleep 0.02; done")
        self.process.end()

    def restart(self) -> Server:
        """Stop and start it."""
        self.stop()
        return self.start()

    def modify(self, ldif: str) -> str:
        """Apply LDIF as root through LDAPI."""
        return self.host.run(["ldapmodify", "-Q", "-Y", "EXTERNAL", "-H", f"ldapi://{self.ldapi}"], stdin=ldif)

    def search(self, base: str, *arguments: str) -> str:
        """Search as root through LDAPI, and return LDIF without folded lines."""
        asked = [
            "ldapsearch",
            "-Q",
            "-LLL",
            "-o",
            "ldif-wrap=no",
            "-Y",
            "EXTERNAL",
            "-H",
            f"ldapi://{self.ldapi}",
            "-b",
            base,
        ]
        return self.host.run([*asked, *arguments])

    def is_building(self) -> bool:
        """Tell whether a slapd with a monitor database builds an index."""
        return "dn: " in self.search("cn=Threads,cn=Monitor", "-s", "one", "(monitoredInfo=*online_index*)", "1.1")

    def held(self) -> set[End]:
        """Return the clients' ends, address and port, of the connections it holds, as its kernel tells it."""
        return self.host.ends("ESTAB", "CLOSE-WAIT")

    def _listens(self) -> bool:
        assert not self.process.poll(), f"{self.argv[0]} failed: {self.log.read_text()}"
        running = self.host.attempt(["test", "-s", self.pid_file]).returncode == 0
        ends = (row[3] for row in self.host.sockets(self.port) if row[0] == "LISTEN")
        return running and any(end.endswith(f":{self.port}") for end in ends)


def make_389(folder: Path, *, storage: str = "bdb") -> Path:
    """Make an instance of 389 Directory Server, once, and keep it as an archive in this folder.

    `storage`: bdb or mdb (LMDB).
    """
    made = folder / f"389-{storage}.tar"
    with Host("maker") as host:
        host.run("sed 's/^with_systemd = 1/with_systemd = 0/' /usr/share/dirsrv/inf/defaults.inf > /run/defaults.inf")
        host.run(f"mount --bind /run/defaults.inf /usr/share/dirsrv/inf/defaults.inf; {PLACES_389}")
        host.run("cat > /run/live.inf; dscreate from-file /run/live.inf", stdin=LIVE_INF.format(storage=storage))
        bind = ["-x", "-H", "ldap://127.0.0.1", "-D", "cn=Directory Manager", "-w", PASSWORD]
        host.run(["ldapmodify", *bind], stdin=CHEAP_PASSWORDS)
        host.run(["ldapadd", *bind], stdin=accounts())
        host.run(f"p=$(cat {PID_389}); kill $p; while kill -0 $p 2>/dev/null; do sleep 0.05; done")
        host.run("rm -f /var/log/dirsrv/slapd-live/*")
        host.run(["tar", "--exclude=__db.*", "-C", "/", "-cf", made, *KEPT])
    return made


def ds389(
    host: Host, made: Path, *, settings: Mapping[str, str] | None = None, database: Mapping[str, str] | None = None,
    storage: str = "bdb", descriptors: int | None = None, certificate: Certificate | None = None, port: int = 389,
) -> Server:  # fmt: skip
    """Start a 389 Directory Server in a host.

    `settings` are attributes of cn=config, `database` those of the entry of `storage`: bdb or mdb, as it was made.
    `descriptors` is its `ulimit -n`; a certificate opens port 636 and StartTLS.
    """
    host.run(f"tar -C / -xf {shlex.quote(str(made))}; {PLACES_389}")
    chosen = {"nsslapd-port": str(port), "nsslapd-idletimeout": "0", "nsslapd-accesslog-logbuffering": "off"} | dict(
        settings or {}
    )
    if certificate:
        chosen |= {"nsslapd-security": "on"}
        host.run(
            f"openssl pkcs12 -export -in {certificate.certificate} -inkey {certificate.key} -name Server-Cert "
            f"-passout pass:x -out /run/server.p12; cd {INSTANCE}; "
            "pk12util -i /run/server.p12 -d . -k pwdfile.txt -W x; "
            f"certutil -A -d . -n authority -t CT,, -a -i {certificate.authority} -f pwdfile.txt; rm /run/server.p12"
        )
    text = with_settings(host.run(["cat", DSE]), chosen)
    if database:
        text = with_settings(text, database, entry=STORAGE_ENTRY.format(storage=storage))
    host.run(["tee", DSE], stdin=f"{text.rstrip()}\n\n{KEY_ENTRY}" if certificate else text)
    argv = ["ns-slapd", "-D", INSTANCE, "-i", PID_389]
    return Server(
        host=host, argv=argv, administrator="cn=Directory Manager", ldapi="%2Frun%2Fslapd-live.socket",
        log=made.with_name(f"389-{host.pid}.log"), pid_file=PID_389, unit="dirsrv@.service", descriptors=descriptors,
        port=port,
    ).start()  # fmt: skip


def slapd(
    host: Host,
    folder: Path,
    *,
    configuration: str = "",
    database: str = "index objectClass,uid eq",
    entries: str = "",
    level: str = "stats",
    by_file: bool = False,
    descriptors: int | None = None,
    certificate: Certificate | None = None,
    further: Mapping[str, tuple[str, str]] | None = None,
    monitor: bool = True,
    user: str = "",
    port: int = 389,
    tls_port: int = 636,
) -> Server:
    """Start OpenLDAP's slapd in a host; its log, at this level, goes to a file in this folder.

    `configuration` are lines of slapd.conf, `database` those of its database; `entries` are LDIF beside the accounts.
    `by_file`: slapd.conf stays its configuration, which else is cn=config.
    `descriptors` is `ulimit -n`; a certificate opens port 636 and StartTLS.
    `further` are more databases by suffix: the lines of each, and its entries. `monitor`: there is a monitor database.
    It runs as `user`, by default as root.
    """
    tls = (
        f"TLSCACertificateFile {certificate.authority}\nTLSCertificateFile {certificate.certificate}\n"
        f"TLSCertificateKeyFile {certificate.key}\n"
    ) if certificate else ""  # fmt: skip
    text = (SLAPD_CONF + SLAPD_MONITOR * monitor).format(
        pid_file=PID_SLAPD, more=tls + configuration, database=database, password=PASSWORD, suffix=SUFFIX, root=ROOT
    )
    host.run("mkdir -p /etc/ldap/slapd.d /var/lib/ldap /run/slapd")
    host.run("find /etc/ldap/slapd.d /var/lib/ldap -mindepth 1 -delete")  # a volume may be mounted there
    for suffix, (lines, _) in (further or {}).items():
        stored = f"/var/lib/ldap-{suffix.partition('=')[2]}"
        text += f"database mdb\nsuffix {suffix}\ndirectory {stored}\n{lines}"
        host.run(["mkdir", "-p", stored])
    host.run(["tee", "/run/slapd/slapd.conf"], stdin=text)
    root_entry = f"dn: {SUFFIX}\nobjectClass: organization\nobjectClass: dcObject\no: example\ndc: example\n\n"
    host.run("slapadd -q -f /run/slapd/slapd.conf", stdin=f"{root_entry}{accounts()}\n{entries}")
    for suffix, (_, ldif) in (further or {}).items():
        host.run(["slapadd", "-q", "-b", suffix, "-f", "/run/slapd/slapd.conf"], stdin=ldif)
    if by_file:
        host.run(f"rm -r /etc/ldap/slapd.d; mv /run/slapd/slapd.conf {SLAPD_FILE}")
    else:
        host.run("slaptest -f /run/slapd/slapd.conf -F /etc/ldap/slapd.d; rm /run/slapd/slapd.conf")
    urls = f"ldap://:{port}/ ldapi:///" + (f" ldaps://:{tls_port}/" if certificate else "")
    place = ["-f", SLAPD_FILE] if by_file else ["-F", "/etc/ldap/slapd.d"]
    account = ["-u", user] if user else []
    if user:
        host.run(f"chown -R {user} /run/slapd /var/lib/ldap* /etc/ldap/slapd.d")
    return Server(
        host=host, argv=["slapd", *place, "-h", urls, "-d", level, *account],
        administrator=f"cn=admin,{SUFFIX}", ldapi="%2Frun%2Fslapd%2Fldapi", log=folder / f"slapd-{host.pid}.log",
        pid_file=PID_SLAPD, unit="slapd.service", descriptors=descriptors, port=port,
    ).start()  # fmt: skip


def account(application: str) -> str:
    """Return the DN of an application's account."""
    return f"uid={application},ou=services,{SUFFIX}"


def accounts() -> str:
    """Return the accounts as LDIF."""
    unit = f"dn: ou=services,{SUFFIX}\nobjectClass: organizationalUnit\nou: services\n"
    entries = [
        f"dn: {account(name)}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name}\nsn: {name}\n"
        f"userPassword: {PASSWORD}\n"
        for name in APPLICATIONS
    ]
    return "\n".join([unit, *entries])


def with_settings(dse: str, settings: Mapping[str, str], *, entry: str = "cn=config") -> str:
    """Return a stopped server's dse.ldif with these attributes of an entry."""
    head, start, rest = dse.partition(f"dn: {entry}\n")
    assert start, f"dse.ldif has no {entry}"
    lines, blank, others = rest.partition("\n\n")
    for name in settings:
        lines = re.sub(rf"(?im)^{re.escape(name)}:.*\n(?: .*\n)*", "", lines + "\n").rstrip("\n")
    return head + start + "\n".join([lines, *(f"{name}: {value}" for name, value in settings.items())]) + blank + others
