"""Unready: a remedy whose commands need what the evidence does not tell. It is told in words, and no blank is printed.

A command with a blank in it fails half-way: after it has set an index, and before it has built it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import Remedy, RemedyKind
from ldapdiag.servers.shell_text import HOST_NAME

if TYPE_CHECKING:
    from collections.abc import Collection

NO_SUFFIX, NO_BACKEND = "the suffix of the database", "the name of the database"


def is_host(server: str) -> bool:
    """Tell whether a server's name may stand in a command."""
    return HOST_NAME.fullmatch(server) is not None


def lacking(server: str, *told: tuple[object, str]) -> list[str]:
    """Return what commands need and is not told: the server's name, and of each pair the words for what is not."""
    needed = ((is_host(server), "a host name of the server"), *told)
    return [what for has, what in needed if not has]


def ready(remedy: Remedy, lacks: Collection[str]) -> Remedy:
    """Return a remedy as it is, or in words where something lacks."""
    if not lacks:
        return remedy
    if remedy.kind is RemedyKind.ADVICE:
        return replace(remedy, undo="", verify="")
    return replace(
        remedy,
        kind=RemedyKind.ADVICE,
        text=f"{remedy.title}. The commands need {' and '.join(lacks)}, which the evidence does not tell; the server's "
        "whole configuration may (ldapdiag indexes --help).",
        undo="",
        verify="",
    )
