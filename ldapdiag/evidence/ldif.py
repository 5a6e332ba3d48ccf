"""LDIF, read entry by entry, even if it is folded, commented or truncated.

    dn: cn=monitor
    connection:: MTI5OjIwMjYxMTIwMDg0NjQ2WjoyOjI6LTpjbj1qw7ZyZ1wyYyBtw7xsbGVyLG91PXNlcnZpY2Vz
     LGRjPWV4YW1wbGUsZGM9Y29tOjA6MDowOjEyOTppcD0xMjcuMC4wLjM2
    currentconnections: 44

Values that may be passwords are replaced by empty strings, and lines that were not understood are shown without their
values. Source: RFC 2849; OpenLDAP clients/tools/ldapsearch.c for its comments and `search:`/`result:` trailers.
"""

from __future__ import annotations

import base64
import re
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Fact

LONGEST_VALUE = 1 << 20
"""Characters of one attribute line after unfolding; longer lines are dropped."""
LARGEST_ENTRY = 1 << 26
"""Characters of all values of one entry: half a million connections. Further values are dropped, with a note."""

FOLD = (" ", "\t")
"""The first character of a continuation line. RFC 2849 defines the space; OpenLDAP also accepts the tab."""
WITHHELD = "(a line without an attribute name)"
"""Shown in place of a line that may be part of a password."""

DESCRIPTION = pattern(r"[a-z0-9][\w.#-]*(?:;[\w.=-]*)*", re.ASCII | re.IGNORECASE)
"""An attribute description with options (RFC 4512, 2.5); '#' for 389-ds' unhashed#user#password."""
LONGEST_DESCRIPTION = 255
LONGEST_NUMBER = 18

SECRETS = frozenset(
    {
        "authpassword",
        "dbcspwd",
        "krbprincipalkey",
        "lmpwdhistory",
        "nsds5replicabootstrapcredentials",
        "nsds5replicacredentials",
        "nsmultiplexorcredentials",
        "nsslapd-rootpw",
        "nssymmetrickey",
        "ntpwdhistory",
        "olcrootpw",
        "passwordhistory",
        "pwdhistory",
        "sambalmpassword",
        "sambantpassword",
        "supplementalcredentials",
        "unhashed#user#password",
        "unicodepwd",
        "userpassword",
    }
)
"""Attributes whose values are never kept."""

ASKED_BY = "# asked by "
"""The start of the comment in which ldapdiag's collector records its own connection."""

BETWEEN = frozenset({"control", "include", "matcheddn", "pagedresults", "ref", "search", "text", "time", "version"})
"""Lines allowed outside entries: LDIF's header, ldapsearch's trailer, 389-ds' audit log, Debian's include."""
RESULT = "result"
NOISE = ("SASL", "Enter LDAP Password", "ldap_", "additional info", "# ")
"""Messages of ldapsearch on stderr, where stdout and stderr were written to one file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry: attribute names in lower case without options, values in order."""

    dn: str
    """As written."""
    attributes: Mapping[str, tuple[str, ...]]
    changetype: str = ""
    """Empty for a content record; 'add', 'modify'… for a change record. Only 'add' has attributes."""
    closed: bool = True
    """A blank line or another entry follows, so the text does not end within this entry."""
    key: str = field(init=False)
    """The DN for comparison: in lower case, without blanks around separators."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", comparable(self.dn))

    def __contains__(self, attribute: str) -> bool:
        return attribute.lower() in self.attributes

    def values(self, attribute: str) -> tuple[str, ...]:
        """Return all values of an attribute."""
        return self.attributes.get(attribute.lower(), ())

    def first(self, attribute: str) -> str:
        """Return the first value of an attribute; empty if there is none."""
        return next(iter(self.values(attribute)), "")

    def number(self, attribute: str) -> int | None:
        """Return the first value as an integer; None if it is missing or not a number."""
        return whole_number(self.first(attribute))


class EntryReader(Protocol):
    """Makes facts from entries: one reader for each product family and kind of fact."""

    def take(self, entry: Entry) -> None:
        """Read an entry; entries of other kinds are ignored."""

    def facts(self) -> Iterable[Fact]:
        """Return the facts; called after the last entry."""


def whole_number(text: str) -> int | None:
    """Return the integer a text consists of, `-1` included; None for any other text."""
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_NUMBER:
        return int(text)
    return None


@lru_cache(maxsize=1024)
def comparable(dn: str) -> str:
    """Return a DN for comparison: in lower case, without blanks around `,` and `=`."""
    parts = (part.partition("=") for part in dn.lower().split(","))
    return ",".join(f"{name.strip()}{equals}{value.strip()}" for name, equals, value in parts)


def entries(document: Document) -> Iterator[Entry]:
    """Yield the entries of an LDIF text; lines that are not LDIF are counted as misread. Never raises."""
    record: _Record | None = None
    for line in _unfolded(document):
        if not line:
            if record:
                yield record.entry(closed=True)
            record = None
            continue
        attribute = _attribute(line)
        if attribute and attribute[0] == "dn":
            if record:
                yield record.entry(closed=True)
            record = _Record(attribute[1])
        elif record:
            record.take(line, attribute, document)
        else:
            _between(line, attribute, document)
    if record:
        yield record.entry(closed=False)


def shown(line: str) -> str:
    """Return the part of a line that may be shown: its attribute name, if it has one."""
    description, colon, _ = line.partition(":")
    return f"{description}:" if colon and _is_description(description) else WITHHELD


class _Record:
    """One entry while its lines are read."""

    __slots__ = ("attributes", "changetype", "dn", "room")

    def __init__(self, dn: str) -> None:
        self.dn = dn
        self.attributes: dict[str, list[str]] = {}
        self.changetype = ""
        self.room = LARGEST_ENTRY

    def take(self, line: str, attribute: tuple[str, str] | None, document: Document) -> None:
        """Add an attribute line, or count it as misread."""
        if attribute is None:
            if not (line == "-" and self.changetype):
                document.misread(shown(line))
            return
        name, value = attribute
        self.room -= len(name) + len(value)
        if name == "changetype":
            self.changetype = value.lower()
        elif self.room < 0:
            document.note("An entry is too large; its last values were dropped.")
        else:
            self.attributes.setdefault(name, []).append("" if name in SECRETS else value)

    def entry(self, *, closed: bool) -> Entry:
        """Return the finished entry."""
        content = self.attributes if self.changetype in {"", "add"} else {}
        return Entry(
            dn=self.dn,
            attributes={name: tuple(values) for name, values in content.items()},
            changetype=self.changetype,
            closed=closed,
        )


def _unfolded(document: Document) -> Iterator[str]:
    """Yield unfolded lines without comments; an empty string is a blank line. Only ASKED_BY is read of comments."""
    parts: list[str] = []
    room = 0
    dropping = False
    for line in document.lines:
        if line.startswith(FOLD):
            if not parts and not dropping:
                document.misread(WITHHELD)
            elif parts:
                parts.append(line[1:])
                room -= len(line)
                if room < 0:
                    document.misread(shown(parts[0]))
                    parts = []
                    dropping = True
            continue
        if parts:
            yield "".join(parts)
            parts = []
        dropping = line.startswith("#")
        _keep_asker(line, document)
        if not line:
            yield ""
        elif not dropping:
            parts = [line]
            room = LONGEST_VALUE - len(line)
    if parts:
        yield "".join(parts)


def _keep_asker(line: str, document: Document) -> None:
    """Read the collector's own comment; other comments are ignored."""
    if line.startswith(ASKED_BY):
        document.asked_by = line.removeprefix(ASKED_BY)


def _attribute(line: str) -> tuple[str, str] | None:
    """Return the name and value of an attribute line; None for another line or invalid base64."""
    description, colon, rest = line.partition(":")
    if not colon or not _is_description(description):
        return None
    name = description.partition(";")[0].lower()
    if rest.startswith("<"):
        return name, ""
    if not rest.startswith(":"):
        return name, rest.strip()
    try:
        decoded = base64.b64decode(rest[1:].strip(), validate=True)
    except ValueError:
        return None
    return name, decoded.decode("utf-8", errors="backslashreplace")


def _is_description(text: str) -> bool:
    return len(text) <= LONGEST_DESCRIPTION and _fits_description(text)


@lru_cache(maxsize=4096)
def _fits_description(text: str) -> bool:
    return DESCRIPTION.fullmatch(text) is not None


def _between(line: str, attribute: tuple[str, str] | None, document: Document) -> None:
    """Read a line outside an entry."""
    if attribute and attribute[0] == RESULT:
        if not attribute[1].startswith("0"):
            document.note(f"The search failed ('result: {attribute[1][:80]}'): entries may be missing.")
    elif not (attribute and attribute[0] in BETWEEN) and not line.startswith(NOISE):
        document.misread(shown(line))
