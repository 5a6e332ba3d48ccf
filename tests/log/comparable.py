"""The whole content of a Segment as plain values, so that two of them can be compared."""

from __future__ import annotations

from typing import Any


def plain(value: object) -> Any:
    """Return the content of a value in a defined order."""
    match value:
        case dict():
            return sorted((repr(key), plain(one)) for key, one in value.items())
        case set():
            return sorted(map(repr, value))
        case list() | tuple():
            return [plain(one) for one in value]
        case int() | bytes() | str() | None:
            return value
    slots = {name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())}
    return [(name, plain(getattr(value, name))) for name in sorted(slots) if not name.startswith("_")]
