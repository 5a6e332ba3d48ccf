"""IndexStatus: which indexes of a suffix are valid, and how many of their keys are over the entry limit (OpenDJ).

    Index Name          Raw DB Name                            Valid  Confidential  Record Count  Over Entry Limit  95%
    ------------------------------------------------------------------------------------------------------------------
    cn.caseIgnoreMatch  /dc=com,dc=example/cn.caseIgnoreMatch  true   false         20601         0                 0

    Index: /dc=com,dc=example/givenName.caseIgnoreSubstringsMatch:6
    Over index-entry-limit keys: [a] [na]

This is the output of backendstat show-index-status, with the server stopped; an invalid index has `-` in place of
numbers. A running server with its index filter analyzer on also lists the invalid indexes: need-reindex of
cn=… Storage,cn=monitor. Captured from OpenDJ 4.10.1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.indexes.opends_index_types import type_of_key
from ldapdiag.evidence.ldif import whole_number
from ldapdiag.evidence.origin import Origin
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.ldif import Entry

HEADING = pattern(r"Index Name\s{2,}Raw DB Name\s{2,}Valid\b.*")
LIST_HEADING = pattern(r"Index Name\s{2,}Raw DB Name\s{2,}Type\b.*")
RAW_NAME = pattern(r"(?P<suffix>/.*)/(?P<attribute>[A-Za-z0-9][A-Za-z0-9._-]*)\.(?P<index>[^./\s][^/\s]*)")
COMMA = pattern(r"(?<!\\),")
INDEX, KEYS = "Index: ", "Over index-entry-limit keys: "
KEY = pattern(r"\[(.*?)\](?=$| \[)")
TOTAL = pattern(r"Total: \d+")
RULE = pattern(r"-+")
NONE = "-"
NEED_REINDEX = "need-reindex"
MOST_INDEXES = 10_000
MOST_KEYS, LONGEST_KEY = 1000, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """The state of one index."""

    attribute: str
    index: str
    """The server's name of it: `caseIgnoreMatch`, `caseIgnoreSubstringsMatch:6`, `presence`."""
    valid: bool
    """False: it must be rebuilt before it is used."""
    keys: int | None = None
    """Number of keys; None: unknown."""
    over_limit: int | None = None
    """Number of keys with more entries than the entry limit; None: unknown."""
    over: tuple[str, ...] = ()
    """Some of those keys, as normalised by the server."""

    @property
    def type(self) -> str:
        """Return the type of index."""
        return type_of_key(self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatus:
    """The states of the indexes of one suffix."""

    kind: ClassVar[str] = "index-status"
    how: ClassVar[str] = (
        "OpenDJ, with the server stopped: backendstat show-index-status -n userRoot -b dc=example,dc=com > status.txt"
    )

    origin: Origin
    suffix: str
    """The DN."""
    states: tuple[IndexState, ...]

    def state(self, attribute: str, type_: str) -> IndexState | None:
        """Return the state of the index of this type of an attribute; None: unknown."""
        wanted = (attribute.lower(), type_)
        return next((state for state in self.states if (state.attribute.lower(), state.type) == wanted), None)

    @property
    def over_limit(self) -> Mapping[str, tuple[str, ...]]:
        """Return, by attribute, the values whose keys in the equality index are over the entry limit."""
        return {state.attribute: state.over for state in self.states if state.type == "equality" and state.over}


def recognises(head: Head) -> bool:
    """Recognise the status by the heading of its table."""
    return any(HEADING.fullmatch(line) for line in head.lines)


def read(document: Document) -> Iterator[IndexStatus]:
    """Read the table, and below it the keys over the limit, and yield one fact per suffix."""
    states: dict[str, IndexState] = {}
    over: dict[str, tuple[str, ...]] = {}
    columns: list[str] = []
    named = ""
    for line in document.lines:
        cells = line.split()
        if HEADING.fullmatch(line):
            columns = re.split(r"\s{2,}", line.strip())
        elif line.startswith(INDEX):
            named = line.removeprefix(INDEX).strip()
        elif line.startswith(KEYS):
            found = KEY.findall(line, len(KEYS))
            over[named] = tuple(key[:LONGEST_KEY] for key in found[:MOST_KEYS])
        elif not cells or RULE.fullmatch(line.strip()) or TOTAL.match(line):
            continue
        elif len(cells) == len(columns) and len(states) < MOST_INDEXES and (state := _state(columns, cells)):
            states[cells[1]] = state
        else:
            document.misread(line)
    yield from _by_suffix(document, states, over)


def _state(columns: list[str], cells: list[str]) -> IndexState | None:
    """Return the state in a row; None if its name or its validity is malformed."""
    row = dict(zip(columns, cells, strict=True))
    found = RAW_NAME.fullmatch(cells[1])
    if found is None or row.get("Valid") not in {"true", "false"}:
        return None
    return IndexState(
        attribute=found["attribute"],
        index=found["index"],
        valid=row["Valid"] == "true",
        keys=whole_number(row.get("Record Count", NONE)),
        over_limit=whole_number(row.get("Over Entry Limit", NONE)),
    )


def _by_suffix(
    document: Document, states: Mapping[str, IndexState], over: Mapping[str, tuple[str, ...]]
) -> Iterator[IndexStatus]:
    suffixes: dict[str, list[IndexState]] = {}
    for raw, state in states.items():
        with_keys = IndexState(
            attribute=state.attribute,
            index=state.index,
            valid=state.valid,
            keys=state.keys,
            over_limit=state.over_limit,
            over=over.get(raw, ()),
        )
        suffixes.setdefault(_suffix(raw), []).append(with_keys)
    if not suffixes:
        document.note("It lists no indexes.")
    for suffix, states_of_suffix in suffixes.items():
        yield IndexStatus(origin=document.origin(), suffix=suffix, states=tuple(states_of_suffix))


def _suffix(raw: str) -> str:
    """Return the DN in the name of a tree: dc=example,dc=com in `/dc=com,dc=example/cn.presence`."""
    return ",".join(reversed(COMMA.split(raw.rpartition("/")[0].removeprefix("/"))))


class OpendjIndexStatus:
    """Makes an IndexStatus of the indexes listed for rebuilding in cn=monitor; of repeated entries the last counts."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.invalid: dict[str, dict[str, IndexState]] = {}
        """By monitor entry and name of the tree."""

    def take(self, entry: Entry) -> None:
        """Read need-reindex of a backend's monitor entry."""
        states: dict[str, IndexState] = {}
        for raw in entry.values(NEED_REINDEX)[:MOST_INDEXES]:
            found = RAW_NAME.fullmatch(raw.strip())
            if found is not None:
                states[raw.strip()] = IndexState(attribute=found["attribute"], index=found["index"], valid=False)
        if states:
            self.invalid[entry.key] = states

    def facts(self) -> Iterator[IndexStatus]:
        """Return one status per suffix; indexes that are not in it are of unknown state."""
        merged = {raw: state for states in self.invalid.values() for raw, state in states.items()}
        if merged:
            yield from _by_suffix(self.document, merged, {})


FORMAT = Format(
    name="backendstat-index-status",
    title="the state of indexes as backendstat shows it",
    recognises=recognises,
    read=read,
)
LIST = Format(
    name="backendstat-list-indexes",
    title="the names of indexes as backendstat lists them: show-index-status also shows their state",
    recognises=lambda head: any(LIST_HEADING.fullmatch(line) for line in head.lines),
    read=None,
)
FORMATS = (FORMAT, LIST)
