"""The document of `ldapdiag config`: schema ldapdiag.settings/1."""

from __future__ import annotations

from typing import Literal, TypedDict


class Value(TypedDict):
    """A value in force. The text of the command is TOML that `--config` reads again."""

    section: str
    """`defaults`, `targets.NAME`, `checks.ID` or `accepted[N]`."""
    key: str
    value: object
    """Null: not set."""
    origin: Literal["file", "default"]


class Document(TypedDict):
    """The configuration in force."""

    schema: Literal["ldapdiag.settings/1"]
    path: str | None
    """Of the file; null without one."""
    sha256: str | None
    looked_for: list[str]
    """The places, up to the file."""
    values: list[Value]
