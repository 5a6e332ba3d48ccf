"""By: the grouping of the main table in a log's report."""

from __future__ import annotations

from enum import StrEnum


class By(StrEnum):
    """The key that groups searches."""

    SHAPE = "shape"
    CLIENT = "client"
    ACCOUNT = "account"
    SERVER = "server"
    """Servers side by side."""
