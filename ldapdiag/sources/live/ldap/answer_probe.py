"""The probe of `--probe-answers`: whether each index finds entries by the values that they have. Read-only.

Entries spread over each database are read first, without an index: `(!(!(entryUUID>=…)))` makes a server test entries
in the order of their numbers, and stops at the first match. Each of their values is then searched below its own entry,
where only that entry can match and the index must yield it; if it does not, the same search of the entry alone shows
whether the entry matches. Each search ends after one entry or some seconds; values are neither written nor kept. The
indexes that were changed last come first: where the time does not suffice, the likeliest to be incomplete are compared.

The filters of the probe: those that use the indexes of a definition, filled in with a value of an entry.
"""

from __future__ import annotations

import time
from dataclasses import field
from datetime import UTC, datetime
from math import ceil
from typing import TYPE_CHECKING

from ldapdiag.evidence.document import Document, lines_of
from ldapdiag.evidence.index_answers import ProbedIndex
from ldapdiag.evidence.ldif import SECRETS, comparable, entries
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import is_attribute_type
from ldapdiag.servers.indexes.index_answers import VALUE, assertions_of
from ldapdiag.servers.queries import Query, Scope
from ldapdiag.sources.live.ldap.connecting import QueryFailed
from ldapdiag.sources.live.ldap.entries import EntryBuffer
from ldapdiag.sources.live.ldap.messages import LIMITS, SUCCESS
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.evidence.ldif import Entry
    from ldapdiag.sources.live.ldap.connecting import TimeLimit
    from ldapdiag.sources.live.ldap.ldap3_connection import LdapConnection

KEYS = ("entryUUID", "nsUniqueId")
"""Attributes that every entry of a server has, with a value of its own; the first word is 32 bits in hexadecimal."""
SUBORDINATES = ("numSubordinates", "hasSubordinates")
WORD = 1 << 32
STEPS = tuple(range(3, 32, 4))
"""Powers of two from the first entry on; servers number the entries of one load in sequence."""
HALVINGS = 6
MOST_SAMPLES = 8
"""Entries that are compared for one attribute."""
MOST_SEARCHES = 20_000
SECONDS_PER_SEARCH = 5
MOST_SECONDS = 900
"""Of one server: where nothing is indexed, each entry to compare takes a scan of its database."""
NEVER = datetime.min.replace(tzinfo=UTC)
LESS_BUSY = "probe again when the server is less busy"
SERVERS_OWN = ("cn=config", "cn=monitor", "cn=schema", "cn=changelog", "cn=accesslog", "cn=subschema")


@dataclass(slots=True)
class AnswerProbe:
    """The probe of one server over an open connection; `indexes` grows while it runs."""

    connection: LdapConnection
    time_limit: TimeLimit
    """Of a single search."""
    show: Callable[[str], None]
    """Show what is compared, and how long that may take."""
    searches: int = 0
    indexes: list[ProbedIndex] = field(default_factory=list)
    wanted: int = 0
    """The number of indexes to probe."""
    deadline: float = field(default_factory=lambda: time.monotonic() + MOST_SECONDS)

    def run(self, configuration: IndexConfiguration) -> None:
        """Probe every index that the server does not need itself.

        Raises QueryFailed as a search does, and where the searches or the seconds do not suffice.
        """
        probed = [
            (sorted(filter(is_probed, backend.definitions), key=last_change, reverse=True), backend)
            for backend in configuration.backends
        ]
        self.wanted += sum(len(definitions) for definitions, _ in probed)
        probed.sort(key=lambda one: max(map(last_change, one[0]), default=NEVER), reverse=True)
        for definitions, backend in probed:
            for suffix in backend.suffixes:
                if definitions and not suffix.lower().replace(" ", "").startswith(SERVERS_OWN):
                    below = [other for one in configuration.backends for other in one.suffixes if one != backend]
                    self._probe(backend, suffix, definitions, [one for one in below if is_below(one, suffix)])

    def _probe(
        self, backend: Backend, suffix: str, definitions: Sequence[IndexDefinition], others: Sequence[str]
    ) -> None:
        """Probe the indexes of one database; `others` are suffixes below its own, whose databases have their own."""
        of = f"{counted(len(definitions), 'index', 'indexes')} of {suffix}"
        self.show(f"{of}: reading entries")
        read = self._samples(suffix, [one.attribute for one in definitions])
        samples = [one for dn, one in read.items() if is_leaf(one) and not any(is_below(dn, other) for other in others)]
        compared = [
            oldest_and_newest([one for one in samples if is_usable(one, definition.attribute)])
            for definition in definitions
        ]
        searches = [len(patterns_of(one)) * len(having) for one, having in zip(definitions, compared, strict=True)]
        began = time.monotonic()
        for place, (definition, having) in enumerate(zip(definitions, compared, strict=True)):
            pace = (time.monotonic() - began) / (sum(searches[:place]) or 1)
            if place:
                self.show(f"{place:,} of {of}: about {ceil(pace * sum(searches[place:]))} s more")
            found = self._compare(definition, having)
            self.indexes.append(
                ProbedIndex(
                    backend=backend.name,
                    attribute=definition.attribute,
                    samples=len(found),
                    missing=sum(map(bool, found)),
                    filters=tuple(dict.fromkeys(one for filters in found for one in filters)),
                )
            )

    def _compare(self, definition: IndexDefinition, samples: Iterable[Entry]) -> list[tuple[str, ...]]:
        """Return, for each entry that could be compared, the filters that did not find it."""
        compared = []
        for sample in samples:
            results = {one: self._finds(sample, definition.attribute, one) for one in patterns_of(definition)}
            if any(found is not None for found in results.values()):
                compared.append(tuple(one for one, found in results.items() if found is False))
        return compared

    def _finds(self, sample: Entry, attribute: str, pattern: str) -> bool | None:
        """Return whether the index finds an entry; None: the entry does not match, or the server refuses."""
        text = filled(pattern, sample, attribute)
        if not text:
            return None
        found = self._count(sample.dn, text, Scope.SUBTREE)
        if found is None:
            return None
        return bool(found) or (False if self._count(sample.dn, text, Scope.BASE) else None)

    def _count(self, base: str, text: str, scope: Scope) -> int | None:
        """Return the number of entries found, 0 or 1; None if the server refuses.

        Without a size limit: 389-ds also ends the list of a range there (2.3.1), and the entry would be missing.
        """
        buffer = EntryBuffer()
        code = self._search(base, text, scope, ("objectClass",), buffer, size_limit=0)
        return len(buffer.pending) if code == SUCCESS or (code in LIMITS and buffer.pending) else None

    def _samples(self, suffix: str, attributes: Sequence[str]) -> dict[str, Entry]:
        """Return entries spread over a database, by DN, in the order in which the server keeps them."""
        wanted = (*attributes, *KEYS, *SUBORDINATES)
        first = self._first(suffix, "(objectClass=*)", wanted)
        samples = {first.dn: first} if first else {}
        key = next((one for one in KEYS if first and first.first(one)), None)
        if first and key:
            samples |= {one.dn: one for one in self._spread(suffix, first, key, wanted)}
        leaves = [sample for sample in samples.values() if is_leaf(sample)]
        missing = [attribute for attribute in attributes if not any(is_usable(leaf, attribute) for leaf in leaves)]
        while missing and (found := self._first(suffix, any_of(missing), wanted)):
            samples[found.dn] = found
            left = [one for one in missing if not is_usable(found, one)]
            missing = left if len(left) < len(missing) else []
        return samples

    def _spread(self, suffix: str, first: Entry, key: str, wanted: Sequence[str]) -> Iterator[Entry]:
        """Yield entries that are further and further from the first one, and then some near the last one."""
        start, low, high = word_of(first, key), word_of(first, key), WORD
        for step in STEPS:
            if (at := start + (1 << step)) >= WORD:
                break
            found = self._first(suffix, from_word(key, at, first), wanted)
            if found is None:
                high = at
                break
            low = max(low, at)
            yield found
        for _ in range(HALVINGS):
            found = self._first(suffix, from_word(key, (low + high) // 2, first), wanted)
            if found is None:
                high = (low + high) // 2
            else:
                low = max((low + high) // 2, word_of(found, key))
                yield found

    def _first(self, suffix: str, text: str, attributes: Sequence[str]) -> Entry | None:
        """Return the first entry that matches when every entry is tested."""
        buffer = EntryBuffer()
        self._search(suffix, f"(!(!{text}))", Scope.SUBTREE, tuple(attributes), buffer)
        buffer.commit()
        return next(entries(Document(path="", source=lines_of([buffer.ldif()]))), None)

    def _search(
        self,
        base: str,
        text: str,
        scope: Scope,
        attributes: tuple[str, ...],
        buffer: EntryBuffer,
        *,
        size_limit: int = 1,
    ) -> int:
        """Search, and return the result code."""
        if self.searches >= MOST_SEARCHES:
            raise QueryFailed(f"{MOST_SEARCHES:,} searches were sent", LESS_BUSY)
        if time.monotonic() > self.deadline:
            raise QueryFailed(f"{MOST_SECONDS // 60} min have passed", LESS_BUSY)
        self.searches += 1
        self.time_limit.restart()
        query = Query(
            file="", base=base, attributes=attributes, scope=scope, filter=text, size_limit=size_limit,
            time_limit=SECONDS_PER_SEARCH,
        )  # fmt: skip
        code: int = self.connection.search(query, base, buffer)["result"]
        return code


def last_change(definition: IndexDefinition) -> datetime:
    """Return when an index was added or last changed; NEVER: unknown."""
    return max(filter(None, (definition.created, definition.modified)), default=NEVER)


def oldest_and_newest(samples: Sequence[Entry]) -> Sequence[Entry]:
    """Return at most MOST_SAMPLES entries, half of them from either end."""
    half = MOST_SAMPLES // 2
    return samples if len(samples) <= MOST_SAMPLES else [*samples[:half], *samples[-half:]]


def is_probed(definition: IndexDefinition) -> bool:
    """Return whether the answers of an index can be compared: none of secrets, of options, or of the server itself."""
    name = definition.attribute.lower()
    return not definition.system and bool(patterns_of(definition)) and ";" not in name and name not in SECRETS


def is_leaf(entry: Entry) -> bool:
    """Return whether an entry has none below it, so that a search of its subtree can only find itself."""
    return entry.first("numSubordinates") in {"", "0"} and entry.first("hasSubordinates").upper() != "TRUE"


def is_below(dn: str, suffix: str) -> bool:
    """Return whether a DN equals a suffix or is below it."""
    return f",{comparable(dn)}".endswith(f",{comparable(suffix)}")


def word_of(entry: Entry, key: str) -> int:
    """Return the first 32 bits of an entry's own value; 0 if it is not in hexadecimal."""
    try:
        return int(entry.first(key).partition("-")[0][:8], 16)
    except ValueError:
        return 0


def from_word(key: str, word: int, like: Entry) -> str:
    """Return the filter for entries whose own value is not below a word; the rest is written as in another value."""
    rest = "".join("-" if one == "-" else "0" for one in like.first(key)[8:])
    return f"({key}>={word:08x}{rest})"


LEAST_OF_SUBSTRING = 4
"""Characters; no product needs more for a key of a substring."""
LONGEST_VALUE = 256
LONGEST_NUMBER = 9
EQUALITY = frozenset({"eq", "equality"})
RANGES = (">=@", "<=@")
APPROXIMATE = "~="
SPOKEN = pattern(r"(?ai)[bcdfgjklmnpqrstvxz]")
"""A word with one of these letters has a phonetic key."""
RANGES_WITH_END = (">=@)", "<=@)")


def patterns_of(definition: IndexDefinition) -> tuple[str, ...]:
    """Return the filters that use the indexes of an attribute, with `@` for the value; none for an invalid name."""
    if not is_attribute_type(definition.attribute):
        return ()
    assertions = dict.fromkeys(assertions_of(definition.types, definition.rules))
    if not definition.types.isdisjoint(EQUALITY):
        assertions |= dict.fromkeys(RANGES)
    return tuple(f"({definition.attribute}{assertion})" for assertion in assertions)


def filled(pattern: str, entry: Entry, attribute: str) -> str:
    """Return a filter that an entry matches, each octet of its value escaped (RFC 4515); empty if there is none.

    The bound of a range is a number that sorts differently as text: 9 is less than 12, and 100 is more than 95. An
    approximate match has only words with a phonetic key: slapd's index yields nothing for `Main 12` (2.5.13).
    """
    value = value_of(entry, attribute)
    if APPROXIMATE in pattern:
        value = " ".join(word for word in value.split() if SPOKEN.search(word))
    if "*" in pattern and VALUE in pattern and len(value) < LEAST_OF_SUBSTRING:
        return ""
    if pattern.endswith(RANGES_WITH_END):
        value = bound_of(value, above="<=" in pattern)
    return pattern.replace(VALUE, "".join(f"\\{octet:02x}" for octet in value.encode())) if value else ""


def bound_of(value: str, *, above: bool) -> str:
    """Return the bound of a range with a number in it; empty for other text."""
    if not (value.isascii() and value.isdigit() and len(value) <= LONGEST_NUMBER):
        return ""
    return f"1{'0' * len(value)}" if above else value if len(value) == 1 else "9"


def is_usable(entry: Entry, attribute: str) -> bool:
    """Return whether an entry has a value by which it can be searched."""
    return bool(value_of(entry, attribute))


def value_of(entry: Entry, attribute: str) -> str:
    """Return the first printable value that is not too long; empty if there is none.

    A backslash may stand for octets that are not UTF-8 (evidence/ldif.py).
    """
    values = entry.values(attribute)
    return next(
        (value for value in values if value.isprintable() and "\\" not in value and 0 < len(value) <= LONGEST_VALUE), ""
    )


def any_of(attributes: Iterable[str]) -> str:
    """Return the filter for entries with any of these attributes."""
    return f"(|{''.join(f'({one}=*)' for one in attributes)})"
