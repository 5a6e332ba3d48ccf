"""The indexes of one backend of 389-ds as JSON: dsconf -j INSTANCE backend index list userRoot > indexes.json.

    {"type": "list", "items": [{"type": "entry", "dn": "cn=uid,cn=index,cn=userroot,…",
                                "attrs": {"cn": ["uid"], "nsindextype": ["eq"], "nssystemindex": ["false"]}}, …]}

Older versions print it in one line. The output without -j is LDIF, and is read as such.
Source: src/lib389/lib389/cli_conf/backend.py (backend_list_index), _mapped_object.py (get_all_attrs_json).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.format import Format, Head
from ldapdiag.evidence.indexes.ds389 import Ds389Indexes
from ldapdiag.evidence.ldif import Entry
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.indexes import IndexConfiguration

BEGINNING = pattern(r'\s*\{\s*"type":\s*"list",\s*"items":\s*\[')
INDEX_DN = pattern(r'"dn":\s*"cn=[^"]{1,200},\s*cn=index,\s*cn=[^"]{1,200},\s*cn=ldbm database,', re.IGNORECASE)
MOST_CHARACTERS = 1 << 24
"""Longer lists are not read."""


def recognises(head: Head) -> bool:
    """Recognise the list by its beginning and the DN of an index."""
    text = "".join(head.lines)
    return BEGINNING.match(text) is not None and INDEX_DN.search(text) is not None


def read(document: Document) -> Iterator[IndexConfiguration]:
    """Read the entries as if they were LDIF."""
    indexes = Ds389Indexes(document)
    for item in _items(document):
        if entry := _entry(item):
            indexes.take(entry)
        else:
            document.note("An item that is not an entry was ignored.")
    yield from indexes.facts()


def _items(document: Document) -> list[Any]:
    """Return the items of the list; a text that is too long or another is counted as misread."""
    text, room = [], MOST_CHARACTERS
    for line in document.lines:
        room -= len(line)
        text += [line] if room >= 0 else []
    try:
        content = json.loads("".join(text)) if room >= 0 else None
    except (ValueError, RecursionError):
        content = None
    items = content.get("items") if isinstance(content, dict) else None
    if isinstance(items, list):
        return items
    document.misread("(a list of indexes that is truncated, too long or not JSON)")
    return []


def _entry(item: object) -> Entry | None:
    """Return the entry of an item; None if it is not an entry."""
    if not isinstance(item, dict) or not isinstance(item.get("dn"), str) or not isinstance(item.get("attrs"), dict):
        return None
    attributes = {
        str(name).lower(): tuple(value for value in values if isinstance(value, str))
        for name, values in item["attrs"].items()
        if isinstance(values, list)
    }
    return Entry(dn=item["dn"], attributes=attributes)


FORMAT = Format(
    name="dsconf-indexes", title="the indexes of a backend as dsconf -j lists them", recognises=recognises, read=read
)
