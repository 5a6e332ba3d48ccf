"""Patterns that are compiled on first use: a log has one dialect, evidence a few formats, and there are many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, AnyStr, cast

if TYPE_CHECKING:
    from re import Pattern


def pattern(text: AnyStr, flags: re.RegexFlag = re.NOFLAG) -> Pattern[AnyStr]:
    """Return a stand-in for a compiled pattern: it has its methods, but is no argument for the functions of `re`."""
    return cast("Pattern[AnyStr]", _LazyPattern(text, flags))


class _LazyPattern:
    def __init__(self, text: str | bytes, flags: re.RegexFlag) -> None:
        self.pattern = text
        self._flags = flags

    def __reduce__(self) -> tuple[type[_LazyPattern], tuple[str | bytes, re.RegexFlag]]:
        return _LazyPattern, (self.pattern, self._flags)


class _Attribute:
    """Compiles the pattern, and gives way to the method or value; with `__getattr__` later calls would be slower."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, one: _LazyPattern, _: type[_LazyPattern]) -> object:
        compiled = re.compile(one.pattern, one._flags)  # noqa: SLF001  re caches compiled patterns
        found = vars(one)[self._name] = getattr(compiled, self._name)
        return found


for _name in dir(re.Pattern):
    if not _name.startswith("_"):
        setattr(_LazyPattern, _name, _Attribute(_name))
