"""The lines of slapd.conf, and of the .schema files that it includes, as directives.

    syncrepl rid=001 provider=ldap://a binddn="cn=replicator,dc=example,dc=com"
      bindmethod=simple credentials=…

A line that begins with a blank continues the one before, and only then comments are dropped. Source: slapd.conf(5).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.ldif import LONGEST_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

DIRECTIVE = re.compile(r"[A-Za-z][\w:#-]{0,80}(?=\s|$)", re.ASCII)
CHARACTERISTIC = frozenset({"database", "suffix", "rootdn", "argsfile", "moduleload", "modulepath", "idletimeout"})
"""Directives that only slapd.conf itself has."""
WITHHELD = "(a line that begins with no directive)"


def directives(document: Document) -> Iterator[tuple[str, str]]:
    """Yield each directive, its word in lower case and what follows it; anything else is counted as misread."""
    for line in _continued(document):
        word = DIRECTIVE.match(line)
        if word:
            yield word[0].lower(), line[word.end() :].strip()
        elif not line.startswith("#"):
            document.misread(WITHHELD)


def words_of(text: str) -> list[str]:
    """Split arguments at blanks; a DN in quotes stays whole where it is an argument of its own."""
    return [text] if text.startswith('"') and text.find('"', 1) == len(text) - 1 else text.split()


def _continued(document: Document) -> Iterator[str]:
    """Yield lines with those that continue them."""
    parts: list[str] = []
    length = 0
    for line in document.lines:
        if line[:1] in {" ", "\t"} and parts:
            length += len(line)
            if length <= LONGEST_VALUE:
                parts.append(line)
            continue
        if parts:
            yield " ".join(parts)
        parts = [line] if line.strip() else []
        length = len(line)
    if parts:
        yield " ".join(parts)
