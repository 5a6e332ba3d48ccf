"""What a report is about: everything, or what one command judges. It decides which evidence the report needs."""

from __future__ import annotations

from enum import Enum, auto


class ReportKind(Enum):
    """The checks that were run."""

    ALL = auto()
    INDEXES = auto()
    """Those of `ldapdiag indexes`."""
    STORAGE = auto()
    """Those of `ldapdiag storage`."""
