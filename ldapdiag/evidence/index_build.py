"""IndexBuild: one build of an index that a server's log records, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from datetime import datetime

EVERY_ATTRIBUTE = ""
"""The attribute of an import, which builds every index that is configured then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBuild:
    """The last build of the indexes of one attribute in one log."""

    backend: str
    """Its name in lower case."""
    attribute: str
    """In lower case; EVERY_ATTRIBUTE: all."""
    started: datetime
    finished: datetime | None = None
    failed: bool = False
    """It failed, or the server started again before it had finished: the index lacks entries."""
    restarted: bool = False
    """The server started after that in the same log, and uses the index as it is."""
