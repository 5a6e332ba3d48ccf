"""File paths and program names: names of people, customers and instances become pseudonyms, those of the system stay.

/home/jdoe/openldap/slapd.conf         /home/qkzb/openldap/slapd.conf
/etc/dirsrv/slapd-acme/dse.ldif        /etc/dirsrv/slapd-fhwu/dse.ldif
ldapi://%2Frun%2Fslapd-acme.socket     ldapi://%2Frun%2Fslapd-fhwu.socket
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOTS = re.findall(
    r"\S+",
    "etc var home opt usr srv root data export mnt media run tmp Users app apps local u01 u02 nfs backup storage vol",
)
"""First folders of a path. Those of /proc and /sys have no names of people; `/24` and `tcp/389` are no paths."""

KEPT = frozenset({"", "proc", "sys", "dev", "boot", "bin", "sbin", "lib", "lib64", *ROOTS})
"""Folders of `/` that every host has, or whose paths are known without it."""

SYSTEM = frozenset(
    re.findall(
        r"\S+",
        """
        etc var home opt usr srv root data export mnt media run tmp users app apps local u01 u02 nfs backup storage vol
        log logs lib lib32 lib64 libexec bin sbin share lock cache spool mail state systemd journal system default conf
        config dirsrv slapd ns openldap ldap ldapi ldaps sock socket haproxy dse ldif schema schemas db db4 mdb bdb hdb
        dbs databases database accesslog access audit auditfail errors error security stdout stderr stats pid pids args
        server servers client instance instances opendj opends pingdirectory ds ds389 dsee sun ibm oracle forgerock bak
        certs cert key keys tls ssl ca pem crt p12 p11 pki nss private ldapdiag syslog messages daemon txt json csv
        cfg d ini yaml yml xml gz bz2 xz zst tar tgz old new tmpfiles sysctl sysconfig sosreport proc net tcp tcp6
        udp fd limits status stat task nstat ss netstat lsof conntrack monitor cn snapshot snapshots sockets host java
        jre jdk jvm python python3 plugins plugin modules module overlays changelog changelogdb cldb replication repl
        admin userroot ldif2db db2ldif export import imports exports rotationinfo guardian
        """,
    )
)
"""Words of paths that any installation may have."""

PROGRAMS = frozenset(
    re.findall(
        r"\S+",
        """
        ns-slapd slapd haproxy java sshd ssh systemd init bash sh dash zsh sudo su cron nginx httpd apache2 nslcd sssd
        sssd_be sssd_nss sssd_pam nscd winbindd smbd nmbd samba named dovecot postfix postgres mysqld mariadbd squid
        radiusd freeradius ldapsearch ldapmodify ldapwhoami ldapdelete ldapadd perl ruby node php php-fpm python python2
        python3 docker dockerd containerd containerd-shim podman conmon kubelet rsyslogd chronyd ntpd dbus-daemon nc
        ncat socat curl wget openssl tail cat less ip ps lsof netstat ss unshare nsenter sleep timeout dsidm dsconf
        opendj pingdirectory start-ds imuled lsass.exe svchost.exe system idle
        """,
    )
)
"""Names of programs that many hosts have."""

INSTANCE = r"(?:(?<![\w-])|(?<=%2[Ff]))slapd-[A-Za-z\d_][\w-]*"
COMPONENT = r"[\w.@+~=:-][\w.@+~=:{}-]*"


def path_pattern(folders: Iterable[str] = ()) -> str:
    """Return the regular expression of a path in ROOTS, or in further folders of `/`."""
    roots = "|".join(ROOTS)
    more = "|".join(map(re.escape, sorted(folders, key=len, reverse=True)))
    others = rf"|(?<![\w/.%-])/(?:{more})(?![\w.@+~=:-])(?:/{COMPONENT})*" if more else ""
    return (
        rf"(?:(?<![\w/.%-])/(?:{roots})(?:/{COMPONENT})+"
        rf"|%2[Ff](?:{roots})(?:%2[Ff](?:(?!%2[Ff])[\w.@+~-])+)+{others})"
    )


SEPARATOR = re.compile(r"(%2[Ff]|/)")
PARTS = re.compile(r"([^A-Za-z\d]+)")
VERSION = re.compile(r"[a-z]{0,2}\d*(?:\.\d+)*")


def anonymised_path(path: str, word: Callable[[str], str]) -> str:
    """Return a path with `word` applied to the parts of its names that are not the system's."""
    return "".join(one if at % 2 or not one else _component(one, word) for at, one in enumerate(SEPARATOR.split(path)))


def anonymised_instance(name: str, word: Callable[[str], str]) -> str:
    """Return the name of an instance of 389-ds, as in slapd-acme."""
    return "slapd-" + _component(name.removeprefix("slapd-"), word)


def anonymised_program(name: str, word: Callable[[str], str]) -> str:
    """Return the name of a program, unless many hosts have it."""
    base = name.strip("()").lower()
    return name if base in PROGRAMS or re.sub(r"[\d.]+$", "", base) in PROGRAMS else word(name)


def _component(name: str, word: Callable[[str], str]) -> str:
    if name.startswith(("cn=", "olc")):  # a file of cn=config
        return name
    if name.lower() in SYSTEM:
        return name
    return "".join(
        part if at % 2 or part.lower() in SYSTEM or VERSION.fullmatch(part) else word(part)
        for at, part in enumerate(PARTS.split(name))
    )
