"""A Segment laid open: everything it holds, so that two of them can be compared."""

from __future__ import annotations

from typing import Any


def plain(value: object) -> Any:
    """Return everything a Segment holds, in an order of its own."""
    match value:
        case dict():
            return sorted((repr(key), plain(one)) for key, one in value.items())
        case set():
            return sorted(map(repr, value))
        case list() | tuple():
            return [plain(one) for one in value]
        case int() | bytes() | str() | None:
            return value
    names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return [(name, plain(getattr(value, name))) for name in sorted(set(names))]
