"""By: what the leading table of a log's report is about."""

from __future__ import annotations

from enum import StrEnum


class By(StrEnum):
    """What searches are added up by."""

    SHAPE = "shape"
    CLIENT = "client"
    ACCOUNT = "account"
