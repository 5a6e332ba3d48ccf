"""The manifest of a capture, its first file: schema ldapdiag.capture/1."""

from __future__ import annotations

from typing import Literal, TypedDict

from ldapdiag.documents.common import Gap


class Tool(TypedDict):
    """What wrote the capture."""

    version: str


class Piece(TypedDict):
    """One file of a capture."""

    path: str
    """host/file."""
    folder: str
    asked: str
    """The command or query; a search over LDAP is followed by ` with -H URL` and the bind options, never a password."""
    taken: list[str] | None
    """[start, end] by the collector's clock."""
    bytes: int | None


class ClockOffset(TypedDict):
    """How far the clock of a target is ahead of the collector's."""

    seconds: float
    uncertainty_seconds: float


class Document(TypedDict):
    """The manifest of a capture."""

    schema: Literal["ldapdiag.capture/1"]
    tool: Tool
    taken_at: str
    pieces: list[Piece]
    clock_offsets: dict[str, ClockOffset]
    """By target."""
    gaps: list[Gap]
