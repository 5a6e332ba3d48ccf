"""LoggedPeriod: a time in which a server wrote its log, without a pause of a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedPeriod:
    """The first and the last line of a period, and what shows that lines before it are missing."""

    begin: datetime
    end: datetime
    lacks: str = ""
    """A clause: why lines between the period before and this one may be missing; empty: nothing was to be logged."""
