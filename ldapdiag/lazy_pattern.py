"""Patterns that are compiled on first use: a log has one dialect, evidence a few formats, and there are many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING:
    from re import Pattern


def pattern(text: AnyStr, flags: re.RegexFlag = re.NOFLAG) -> Pattern[AnyStr]:
    """Return a stand-in for a compiled pattern: it has its methods, but is no argument for the functions of `re`."""
    return cast("Pattern[AnyStr]", _LazyPattern(text, flags))


class _LazyPattern:
    def __init__(self, text: str | bytes, flags: re.RegexFlag) -> None:
        self._text = text
        self._flags = flags

    def __reduce__(self) -> tuple[type[_LazyPattern], tuple[str | bytes, re.RegexFlag]]:
        return _LazyPattern, (self._text, self._flags)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  any method of a pattern
        method = getattr(re.compile(self._text, self._flags), name)  # re caches compiled patterns
        setattr(self, name, method)  # so that this is called once
        return method
