"""The output of dsconfig list-backend-indexes (OpenDJ) and list-local-db-indexes (PingDirectory, OpenDJ 2, OUD).

    Backend Index : index-type          : index-entry-limit : index-extensible-matching-rule : confidentiality-enabled
    --------------:---------------------:-------------------:--------------------------------:------------------------
    aci           : presence            : 4000              : -                              : false
    cn            : equality, substring : 4000              : -                              : false

It names neither the backend nor its suffix. A long cell continues in the next row, whose first cell is empty.
Captured from OpenDJ 4.10.1; for PingDirectory, as in its administration guide.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
from ldapdiag.evidence.indexes.opends_index_types import LOCAL_DB, OF_PING, is_system, types_of
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ldapdiag.evidence.document import Document

RULE = pattern(r"-+(?::-+)+\s*")
HEADING = pattern(r"(?P<kind>Backend|Local DB) Index\s*:(?P<columns>.*\bindex-type\b.*)")
NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9._;-]{0,254}")
NONE = "-"
MOST_INDEXES = 10_000
LONGEST_CELL = 1024


def recognises(head: Head) -> bool:
    """Recognise the list by the heading of its table and the rule below it."""
    return any(HEADING.fullmatch(line) and RULE.fullmatch(rule) for line, rule in pairwise(head.lines))


def read(document: Document) -> Iterator[IndexConfiguration]:
    """Read the tables, each of one backend, and yield one configuration of all."""
    tables: list[tuple[str, dict[str, dict[str, str]]]] = []
    columns: list[str] = []
    name = ""
    for line in document.lines:
        if heading := HEADING.fullmatch(line):
            columns = [one.strip() for one in heading["columns"].split(":")]
            tables.append((heading["kind"], {}))
            name = ""
            continue
        if not line.strip() or RULE.fullmatch(line):
            continue
        first, *cells = (cell.strip() for cell in line.split(":"))
        rows = tables[-1][1] if tables else {}
        fits = bool(tables) and len(cells) == len(columns) and (NAME.fullmatch(first) or (not first and name))
        if not fits or len(rows) >= MOST_INDEXES:
            document.misread(line)
            continue
        name = first or name
        row = rows.setdefault(name, {})
        for column, cell in zip(columns, cells, strict=True):
            row[column] = f"{row.get(column, '')} {cell}".strip()[:LONGEST_CELL]
    backends = tuple(_backend(kind, rows) for kind, rows in tables if rows)
    if backends:
        of_ping = any(
            definition.attribute.lower() in OF_PING for backend in backends for definition in backend.definitions
        )
        identity = ServerIdentity(family=Family.PING if of_ping else Family.OPENDJ)
        yield IndexConfiguration(origin=document.origin(), identity=identity, backends=backends)
    else:
        document.note("The list is empty: this backend has no indexes, or the account may not read them.")


def _backend(kind: str, rows: Mapping[str, Mapping[str, str]]) -> Backend:
    return Backend(
        name="",
        suffixes=(),
        definitions=tuple(_definition(attribute, row) for attribute, row in rows.items()),
        kind=LOCAL_DB if kind == "Local DB" else "",
    )


def _definition(attribute: str, row: Mapping[str, str]) -> IndexDefinition:
    rules = row.get("index-extensible-matching-rule", NONE).replace(",", " ").split()
    return IndexDefinition(
        attribute=attribute,
        types=types_of(row.get("index-type", "").replace(",", " ").split()),
        rules=tuple(rule for rule in rules if rule != NONE),
        entry_limit=whole_number(row.get("index-entry-limit", "")),
        system=is_system(attribute),
    )


FORMAT = Format(
    name="dsconfig-indexes", title="the indexes of a backend as dsconfig lists them", recognises=recognises, read=read
)
