r"""Accounts and computers in exports of Windows events (evidence/log/event_exports.py), beside the names of any text.

<Computer>DC1.example.com</Computer> … <Data>EXAMPLE\jdoe</Data>       XML
{"MachineName": "DC1", "message": "Client:\r\n10.0.0.7:49152 …"}       JSON: a string is one text, without its escapes
DC1,11/20/2026 8:54:04 AM,…,EXAMPLE\jdoe                               CSV
"""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from ldapdiag.evidence.log.event_rows import SERVERS, SIGNATURE
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser

HEAD = 1 << 16
SIGNS = pattern(
    rf'<EventID\b|^[\[\s]*\{{(?=.{{0,65536}}?"(?i:event_?id|id|code)"\s*:)|{SIGNATURE}'
    r'|(?i:starting ?node|event ?id)["\s]*[,;\t]|[,;\t]"?(?:base|onelevel|subtree)"?[,;\t]',
    re.DOTALL,
)
ACCOUNT = pattern(
    r'(?m)(?P<before>(?:^|[>",;\t])[ \t]{0,9})(?P<domain>[\w.-]{1,64})\\(?P<name>[^\\<>",;\r\n]{1,104}?)'
    r'(?=[ \t]{0,9}(?:\r?$|[<",;\t]))'
)
"""A name with its domain, alone between tags, quotes or separators; a path of files or of the registry is none."""
COMPUTER = pattern(
    r'(?:<Computer>|"(?i:{})"\s*:\s*"|"host"\s*:\s*\{{\s*"name"\s*:\s*")([A-Za-z][\w.-]*)'.format(
        "|".join([*SERVERS, "computer_name"])
    )
)
FIRST = pattern(r'"?([A-Za-z][\w.-]*)"?[,;\t]"?\d{1,4}[./-]')
"""A row of a table without a header: the computer, and the time."""
STRING = pattern(r'("(?:[^"\\\n]|\\.)*")')
DATE = r"\/Date("
DELIMITERS = ",;\t"


def has_events(text: str) -> bool:
    """Return whether a text is an export of events, in whatever form."""
    return SIGNS.search(text[:HEAD]) is not None


def anonymised_events(text: str, anonymiser: TextAnonymiser) -> str:
    """Return an export with pseudonyms."""
    for computer in (*COMPUTER.findall(text), *_in_column(text)):
        anonymiser.add_host(computer)
    if text.lstrip()[:1] not in {"{", "["}:
        return _text(text, anonymiser)
    parts = STRING.split(text)
    return "".join(_string(part, anonymiser) if at % 2 else part for at, part in enumerate(parts))


def _text(text: str, anonymiser: TextAnonymiser) -> str:
    def renamed(found: re.Match[str]) -> str:
        return f"{found['before']}{anonymiser.value_of(found['domain'])}\\{anonymiser.value_of(found['name'])}"

    return anonymiser.text(ACCOUNT.sub(renamed, text))


def _string(literal: str, anonymiser: TextAnonymiser) -> str:
    """Return a string of JSON with pseudonyms."""
    with suppress(ValueError):
        return literal if literal[1:].startswith(DATE) else json.dumps(_text(json.loads(literal), anonymiser))
    return _text(literal, anonymiser)


def _in_column(text: str) -> Iterator[str]:
    """Yield the computers in a table, with a header or without."""
    table = text.partition("\n")[2] if text.startswith("#TYPE") else text
    header, _, rows = table.partition("\n")
    delimiter = max(DELIMITERS, key=header.count)
    names = ["".join(name.split()).strip('"').lower() for name in header.split(delimiter)]
    places = [at for at, name in enumerate(names) if name in SERVERS]
    if not places and FIRST.match(header):
        places, rows = [0], table
    with suppress(csv.Error):
        for row in csv.reader(io.StringIO(rows, newline=""), delimiter=delimiter) if places else ():
            yield from (row[at] for at in places if at < len(row) and row[at])
