"""Pseudonyms in any text, for each address, host name, mail address, DN and filter value in it.

Evidence has many grammars, so a name is recognised by its syntax and its context; a name that is known already (a host,
or a value from a DN) is replaced wherever it appears as a whole word.

File paths and program names: names of people, customers and instances become pseudonyms, those of the system stay.

/home/jdoe/openldap/slapd.conf         /home/qkzb/openldap/slapd.conf
/etc/dirsrv/slapd-acme/dse.ldif        /etc/dirsrv/slapd-fhwu/dse.ldif
ldapi://%2Frun%2Fslapd-acme.socket     ldapi://%2Frun%2Fslapd-fhwu.socket
"""

from __future__ import annotations

import ipaddress
import re
from functools import cache
from typing import TYPE_CHECKING

from ldapdiag.evidence.addresses import LONGEST_NAME
from ldapdiag.evidence.log.active_directory_1644 import HALVES
from ldapdiag.evidence.socket_formats.netstat_windows import WORDS as STATES
from ldapdiag.evidence.socket_formats.netstat_windows import in_ascii
from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.anonymising.directory_names import DN, FILTER, DirectoryNames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ldapdiag.sources.anonymising.pseudonyms import IpAddress, Pseudonyms

GRAMMAR = frozenset(
    re.findall(
        r"\S+",
        """
        ldap ldaps ldapi ssh local localhost localdomain server client host hosts tcp tcp4 tcp6 udp slapd ns-slapd java
        haproxy openldap opendj proxy firewall db app web www mail config monitor any none unknown root linux solaris
        aix windows default established listen listening standard input com org net edu gov sockets errors access
        """,
    )
)
"""Common words of evidence: a host may have such a name, but the word is not replaced in texts."""

MOST_FOLDERS = 1000
SHORTEST_HOST = 3
SHORTEST_VALUE = 4
"""Minimum length of a name that is replaced in any text."""

UNUSUAL = pattern(r"(?=.*[a-z])(?=.*[\d_.@-])[\w.@-]+", re.IGNORECASE | re.DOTALL)
"""A value that cannot be an ordinary word, so that it is replaced in any text: application_xyz, user00017."""

IPV4 = (
    r"(?<![\d.])(?<![A-Za-z]/)(?<!ersion )(?<!ersion=)(?:\d{1,3}\.){3}\d{1,3}"
    r"(?!\d)(?!\.\d{1,9}\.\d)(?!\.\d{6})(?!(?::=|=)(?!\d))"
)
"""Dotted decimal, also with a port after another dot; not an OID (more numbers), not a version after a slash."""

IPV6 = (
    r"(?<![\w:.])(?<!/[A-Z][a-z]{2}/)(?:[0-9A-Fa-f]{1,4}:|:(?=:))[0-9A-Fa-f:]{1,45}(?:\d{0,3}(?:\.\d{1,3}){3}(?::\d{1,5})?)?"
    r"(?:(?=:[a-z][a-z-])|(?![\w:])(?!\.\d{1,3}\.))"
)
"""Possible IPv6 addresses, with or without a port, not the time in 22/Nov/2026:10:24:45; the module ipaddress
decides."""

MAIL = r"[\w.+%-]{1,64}@[A-Za-z\d-]+(?:\.[A-Za-z\d-]+)+"
URL_HOST = r"(?<=://)(?:[\w.%-]+@)?[A-Za-z][\w.-]*"
SYSLOG = (
    r"(?m:(?<=^)(?:<\d{1,3}>(?:1 )?)?"
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d))"
    r" (?=[\w.-]+ (?:slapd|ns-slapd)))[\w.-]+"
)
"""The time and the host before a server's message."""

WORD = r"[^\W_][\w-]*(?:\.[\w-]+)*"

NAMESPACE = r"(?<=\bnet:\[)\d{1,20}(?=\])"
"""The inode of a network namespace."""


@cache
def names_pattern(folders: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of all names; `folders` of `/` are those that only these hosts have."""
    return re.compile(
        rf"(?P<filter>{FILTER})|(?P<path>{path_pattern(folders)})|(?P<instance>{INSTANCE})|(?P<namespace>{NAMESPACE})"
        rf"|(?P<dn>(?i:{DN}))|(?P<mail>{MAIL})|(?P<url>{URL_HOST})|(?P<syslog>{SYSLOG})"
        rf"|(?P<six>{IPV6})|(?P<four>{IPV4})(?P<prefix>/\d{{1,2}}(?![\d.]))?|(?P<word>{WORD})"
    )


USER_NUMBER = pattern(r"uid=\d+")
"""A Unix user ID, which looks like a DN with one RDN."""

HALF_DAY = pattern(rf"(?:{HALVES})(?!\D)")
"""In a time, before the hour: 下午3:04."""
DOMAIN_COMPONENT = pattern(r"dc\s?=\s?([\w-]+)", re.IGNORECASE)
JOINT = pattern(r"([.-])")
BEFORE_INTERFACE = pattern(r"(?:\b(?:dev|master|[io]if(?:name)?|scope \w{1,8})(?: !=)? \"?|%|\b\d{1,5}: )$")
"""What stands before the name of a network interface: `dev`, a scope, the percent sign of an address, its number."""
LETTERS = r"[a-z]{3,}"
OF_INTERFACES = frozenset(
    re.findall(
        r"\S+",
        """
        all default eth ens eno enp enx bond team bridge veth wlan wlp docker virbr vnet vlan vxlan tun tap
        dummy ifb ipvlan macvlan geneve gre cali cni flannel cilium podman lxc lxcbr lxdbr usb ppp
        """,
    )
)
"""What the names of the interfaces of many hosts are made of; two letters (lo, br, ib, wg) name nothing."""
OF_INTERFACE = frozenset({"conf", "neigh"})
"""What stands before it in the name of a kernel parameter: net.ipv4.conf.veth-app1.forwarding."""
CUT_LINE = pattern(r'["\[]')
"""Start of another record within a line, in a log that was cut."""

DOMAIN = pattern(r"(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)*[a-z]{2,63}")
FILE_TYPES = frozenset(
    {"txt", "ldif", "log", "conf", "cfg", "json", "gz", "xz", "zst", "pid", "args", "socket", "sock"}
)
"""Last parts of names of files: `app1.txt` is no domain name."""

MAPPED = pattern(r"(.*:\d+\.\d+\.\d+\.\d+)(:\d+)?")


class TextAnonymiser:
    """Replaces names in texts; a name found in one text is known in the following ones."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms
        self._directory = DirectoryNames(self._value, self._addresses_only)
        self._hosts: set[str] = set()
        self._own: set[str] = set()
        """Names of hosts, those in GRAMMAR included: where only a host can be named, they are replaced."""
        self._values: set[str] = set()
        self._folders: set[str] = set()
        self._labels = (0, re.compile(r"(?!)"))
        """How many names of hosts were known, and the pattern of their labels."""
        self._names: re.Pattern[str] | None = None
        """None: a folder was added since."""
        self._port_follows = False
        self._by_people = False

    def add_host(self, name: str) -> None:
        """Add a host name, and its first label, to the known names."""
        folded = name.casefold().strip(".")
        self._own.add(folded)
        if not _address(folded) and folded not in GRAMMAR and len(folded) >= SHORTEST_HOST:
            first, _, domain = folded.partition(".")
            parts = [first] if len(first) >= SHORTEST_HOST and not first.isdigit() else []
            parts += [domain] if "." in domain and DOMAIN.fullmatch(domain) else []
            self._hosts |= {folded, *parts} - GRAMMAR

    def add_folder(self, name: str) -> None:
        """Add a folder of `/` in which paths lie, unless they are known without it."""
        if name not in KEPT and len(self._folders) < MOST_FOLDERS:
            self._folders.add(name)
            self._names = None

    def host(self, name: str) -> str:
        """Return the pseudonym of a host's name, label by label; of an address, its own."""
        address = _address(name)
        if address:
            return str(self._pseudonyms.address(address))
        if name.casefold() == "localhost":
            return name
        return ".".join(self._pseudonyms.word(label) for label in name.split("."))

    def address(self, address: IpAddress) -> IpAddress:
        """Return the pseudonym of an address."""
        return self._pseudonyms.address(address)

    def dn(self, text: str) -> str:
        """Return a DN with pseudonyms."""
        return self._in_dn(text)

    def filter(self, text: str) -> str:
        """Return a filter with pseudonyms for its values."""
        return self._directory.filter(text)

    def value(self, kind: str, text: str) -> str:
        """Return the pseudonym of a naming attribute's value."""
        return self._directory.value(kind, text)

    def text(self, text: str, *, port_follows: bool = False, by_people: bool = False) -> str:
        """Return a text with pseudonyms; with `port_follows`, an IPv6 address without brackets ends in a port.

        With `by_people`, each word has a pseudonym unless it is the system's.
        """
        self._port_follows, self._by_people = port_follows, by_people
        parts = []
        at = 0
        names = self._names = self._names or names_pattern(frozenset(self._folders))
        while found := names.search(text, at):
            parts.append(text[at : found.start()])
            at = found.end()
            if found.lastgroup == "filter":
                end = _end_of_filter(text, at)
                parts += (found[0], self._directory.filter(text[at:end]))
                at = end
                continue
            new = self._replaced(found)
            at += _padding(text, at, len(new) - len(found[0]), new, parts)
        parts.append(text[at:])
        return "".join(parts)

    def _replaced(self, found: re.Match[str]) -> str:
        """Return the replacement of one match."""
        whole = found[0]
        if found["path"] or found["instance"] or found["namespace"]:
            return self._on_its_host(found)
        if found["dn"]:
            return self._in_dn(whole)
        if found["mail"] or found["url"]:
            user, at, host = whole.rpartition("@")
            self.add_host(host)
            return (self._pseudonyms.word(user) if user else "") + at + self.host(host)
        if found["syslog"]:
            time, blank, host = whole.rpartition(" ")
            if host.casefold() in GRAMMAR - self._own:
                return whole
            self.add_host(host)
            return time + blank + self.host(host)
        if found["four"]:
            return self._four(found["four"], found["prefix"] or "")
        if found["six"]:
            before = found.string[found.start() - 1 : found.start()]
            after = found.string[found.end() : found.end() + 1]
            alone = before == "[" or after in {":", "%"}
            return self._six(whole, port_follows=self._port_follows and not alone)
        before = found.string[max(0, found.start() - 16) : found.start()]
        name = self.interface(whole) if BEFORE_INTERFACE.search(before) else whole
        new = self._known(whole) if name == whole else name
        return _component(whole, self._in_path) if self._by_people and new == whole else new

    def interface(self, name: str) -> str:
        """Return the name of a network interface; its words get pseudonyms: veth_app1, app1lan, partners0."""
        if len(self._hosts) > self._labels[0]:
            labels = {label for host in self._hosts for label in host.split(".") if len(label) >= SHORTEST_HOST}
            known = sorted(labels - GRAMMAR, key=len, reverse=True)
            self._labels = len(self._hosts), re.compile("|".join([*map(re.escape, known), LETTERS]), re.IGNORECASE)
        return self._labels[1].sub(
            lambda found: found[0] if found[0] in OF_INTERFACES else self._pseudonyms.word(found[0]), name
        )

    def _on_its_host(self, found: re.Match[str]) -> str:
        """Return the replacement of a path, an instance or a network namespace."""
        if found["path"]:
            return self.path(found[0])
        return self._pseudonyms.word(found[0]) if found["namespace"] else anonymised_instance(found[0], self._in_path)

    def _in_dn(self, text: str) -> str:
        """Return a DN with pseudonyms; its domain components become a known domain."""
        if USER_NUMBER.fullmatch(text):
            return text
        components = DOMAIN_COMPONENT.findall(text)
        if len(components) > 1:
            self.add_host(".".join(components))
        return self._directory.dn(text)

    def _four(self, text: str, prefix: str) -> str:
        address = _address(text)
        if not address:
            return text + prefix
        mapped = self._pseudonyms.address(address)
        if prefix and int(prefix[1:]) < 32 and not int(address) & (bits := (1 << 32 - int(prefix[1:])) - 1):
            mapped = ipaddress.IPv4Address(int(mapped) & ~bits)  # a network, not a host
        return str(mapped) + prefix

    def _six(self, text: str, *, port_follows: bool) -> str:
        bare, port = text, ""
        if mapped_form := MAPPED.fullmatch(text):
            bare, port = mapped_form[1], mapped_form[2] or ""
        elif port_follows:
            bare, colon, digits = text.rpartition(":")
            port = colon + digits
        address = _address(bare)
        if not isinstance(address, ipaddress.IPv6Address):
            return self._cut_six(bare) + port if port_follows else text
        mapped = self._pseudonyms.address(address)
        if mapped == address:
            return text
        inner = mapped.ipv4_mapped if isinstance(mapped, ipaddress.IPv6Address) else None
        return (f"::ffff:{inner}" if inner else str(mapped)) + port

    def _cut_six(self, text: str) -> str:
        """Return the pseudonym of an address that its table cut, cut to the same length."""
        address = _address(f"{text.rstrip(':')}::")
        if not isinstance(address, ipaddress.IPv6Address):
            return text
        return self._pseudonyms.address(address).exploded[: len(text)].rstrip(":")

    def value_of(self, text: str) -> str:
        """Return the pseudonym of a value that is replaced as a whole, and add it to the known names."""
        return self._value(text)

    def path(self, text: str) -> str:
        """Return a file path with pseudonyms for all names that are not the system's."""
        return anonymised_path(text, self._in_path)

    def program(self, name: str) -> str:
        """Return the pseudonym of a program's name, unless many hosts have it."""
        return anonymised_program(name, self._pseudonyms.word)

    def _in_path(self, word: str) -> str:
        """Return the pseudonym of a part of a file path; common words of evidence stay."""
        return word if word.casefold() in GRAMMAR - self._own else self._pseudonyms.word(word)

    def _known(self, word: str) -> str:
        """Return a word with pseudonyms for the known names in it.

        Formats are in ASCII, but for states and times of Windows: a word with another letter is a name.
        """
        if not word.isascii():
            stays = in_ascii(word).upper() in STATES or HALF_DAY.match(word)
            return word if stays else self._pseudonyms.word(word)
        if len(word) > LONGEST_NAME:
            return word
        folded = word.casefold()
        if folded in self._values:
            return self._pseudonyms.word(word)
        if folded in self._hosts:
            return self.host(word)
        if "." in word:
            first, _, rest = folded.partition(".")
            if first in self._hosts and DOMAIN.fullmatch(rest) and rest.rpartition(".")[2] not in FILE_TYPES:
                return self.host(word)
            labels = folded.split(".")
            if any(".".join(labels[at:]) in self._hosts for at in range(1, len(labels) - 1)):
                return self.host(word)
        if word.count(".") >= 3 and not word[0].isdigit():
            word = self._addresses_only(word)
        if "." in word or "-" in word:
            parts = JOINT.split(word)
            after = ("", "", *parts)
            return "".join(
                self._pseudonyms.word(part)
                if self._is_known(part)
                else self.interface(part)
                if before in OF_INTERFACE
                else part
                for before, part in zip(after, parts, strict=False)
            )
        return word

    def _is_known(self, part: str) -> bool:
        folded = part.casefold()
        return folded in self._values or folded in self._hosts

    def _value(self, value: str) -> str:
        """Return the pseudonym of a value in a DN or a filter, and add it to the known names."""
        if len(value) >= SHORTEST_VALUE and UNUSUAL.fullmatch(value) and value.casefold() not in GRAMMAR:
            self._values.add(value.casefold())
        return self._pseudonyms.word(value)

    def _addresses_only(self, text: str) -> str:
        return re.sub(IPV4, lambda found: self._four(found[0], ""), text)


def _address(text: str) -> IpAddress | None:
    try:
        return ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None


def _end_of_filter(text: str, at: int) -> int:
    """Return the end of the filter at `at`: its closing bracket, or the place where its line was cut."""
    depth = 0
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    cut = CUT_LINE.search(text, at, end)
    while at < end:
        if text[at] == "\\":
            at += 1
        elif text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return cut.start() if cut else end


def _padding(text: str, at: int, longer: int, new: str, parts: list[str]) -> int:
    """Keep the columns of a table by blanks after a replacement. Return how many blanks to skip."""
    parts.append(new)
    if longer < 0 and text.startswith("  ", at):
        parts.append(" " * -longer)
    if longer <= 0:
        return 0
    blanks = re.compile(" *").match(text, at)
    spare = len(blanks[0]) - 1 if blanks else 0
    return max(0, min(longer, spare))


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
        slice service scope unreachable
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
        opendj pingdirectory start-ds imuled lsass lsass.exe svchost svchost.exe system idle
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


SEPARATOR = pattern(r"(%2[Ff]|/)")
PARTS = pattern(r"([\W_]+)")
"""What is between the words of a name, which may be in any script."""
VERSION = pattern(r"[a-z]{0,2}\d*(?:\.\d+)*")


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
