"""The directives of slapd.conf and of the .schema files that it includes.

    syncrepl rid=001 provider=ldap://a binddn="cn=replicator,dc=example,dc=com"
      bindmethod=simple credentials=…

A line that begins with a blank continues the previous line; comments are dropped after that. Source: slapd.conf(5).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.evidence.ldif import LONGEST_VALUE
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

DIRECTIVE = pattern(r"[A-Za-z][\w:#-]{0,80}(?=\s|$)", re.ASCII)
CHARACTERISTIC = frozenset({"database", "suffix", "rootdn", "argsfile", "moduleload", "modulepath", "idletimeout"})
"""Directives that occur in slapd.conf only, not in schema files."""
WITHHELD = "(a line that begins with no directive)"
"""Shown in place of a line that may contain a password."""


def directives(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the name of each directive in lower case, and its arguments; other lines are counted as misread."""
    for line in _continued(document):
        word = DIRECTIVE.match(line)
        if word:
            yield word[0].lower(), line[word.end() :].strip()
        elif not line.startswith("#"):
            document.misread(WITHHELD)


def words_of(text: str) -> list[str]:
    """Split arguments at blanks; a single quoted DN is one argument."""
    return [text] if text.startswith('"') and text.find('"', 1) == len(text) - 1 else text.split()


def _continued(document: Document) -> Iterator[str]:
    """Yield lines, joined with their continuation lines."""
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
