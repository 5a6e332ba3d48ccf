"""The tables of servers side by side, for HTML and Markdown, from the key `fleet` of the report object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.fleet.balance import UNEVEN
from ldapdiag.wording import number, percent, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SERVERS = [
    ("Server", False),
    ("Connections", True),
    ("Share", True),
    ("Operations", True),
    ("Search time", True),
    ("Unindexed", True),
    ("Errors", True),
    ("At once", True),
    ("Differs", False),
]
SEARCHES = [
    ("Server", False),
    ("Filter", False),
    ("Base", False),
    ("What", False),
    ("Median here", True),
    ("Median elsewhere", True),
    ("Compared with", True),
]


def server_rows(fleet: Mapping[str, Any]) -> Iterator[list[object]]:
    """Yield a row for each server, those that differ first, then by connections."""
    lacking = {one["server"] for one in fleet["differing_searches"] if one["lacks_index"]}
    slower = {one["server"] for one in fleet["differing_searches"]} - lacking
    rows = [(_marks(one, fleet["even_share"], lacking, slower), one) for one in fleet["servers"]]
    for marks, one in sorted(rows, key=lambda row: (not row[0], -row[1]["connections"], row[1]["name"])):
        yield [
            one["name"],
            number(one["connections"]),
            _share(one["connection_share"]),
            number(one["operations"]),
            seconds(one["search_seconds"]),
            _share(one["unindexed_share"]),
            _share(one["error_share"]),
            number(one["peak"]),
            ", ".join(marks),
        ]


def _marks(one: Mapping[str, Any], even: float | None, lacking: Iterable[str], slower: Iterable[str]) -> list[str]:
    shares = (one["connection_share"] or 0.0, one["operation_share"] or 0.0)
    marks = {
        "lacks an index": one["name"] in lacking,
        "slower": one["name"] in slower,
        "uneven": bool(even) and not one["idle"] and max(shares) >= UNEVEN * (even or 0.0),
        "idle": one["idle"],
        "silent": bool(one["silences"]),
    }
    return [name for name, holds in marks.items() if holds]


def search_rows(fleet: Mapping[str, Any]) -> Iterator[list[object]]:
    """Yield a row for each search that a server answers in another way than the others."""
    for one in fleet["differing_searches"]:
        yield [
            one["server"],
            one["shape"],
            f"{one['base'] or '(root)'} {one['scope']}",
            "unindexed here" if one["lacks_index"] else "slower here",
            seconds(one["median_seconds"]),
            seconds(one["others_median_seconds"]),
            number(len(one["others"])),
        ]


def _share(share: float | None) -> str:
    return "" if share is None else percent(share)
