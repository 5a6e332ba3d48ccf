"""Patterns that are compiled when they are first used: a log is of one dialect, and there are many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING:
    from re import Pattern


def pattern(text: AnyStr, flags: re.RegexFlag = re.NOFLAG) -> Pattern[AnyStr]:
    """Return what is a pattern to everybody who uses it."""
    return cast("Pattern[AnyStr]", _Late(text, flags))


class _Late:
    def __init__(self, text: str | bytes, flags: re.RegexFlag) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  any method of a pattern
        method = getattr(re.compile(self._text, self._flags), name)  # re remembers what it has compiled
        setattr(self, name, method)  # the next time nobody asks here
        return method
