"""Names that the commands of a remedy need and the evidence lacks: such a remedy becomes advice without commands.

A command with a placeholder would fail half-way, for example after it has set an index and before it has built it.
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
    """Return whether a server's name can be used in a command."""
    return HOST_NAME.fullmatch(server) is not None


def missing_names(server: str, *known: tuple[object, str]) -> list[str]:
    """Return descriptions of the missing names: the server's, and of each pair (name, description) without a name."""
    needed = ((is_host(server), "a host name of the server"), *known)
    return [description for name, description in needed if not name]


def advice_if_missing(remedy: Remedy, missing: Collection[str]) -> Remedy:
    """Return a remedy unchanged, or as advice that lists the missing names."""
    if not missing:
        return remedy
    if remedy.kind is RemedyKind.ADVICE:
        return replace(remedy, undo="", verify="")
    return replace(
        remedy,
        kind=RemedyKind.ADVICE,
        text=f"{remedy.title}. No commands can be given: the evidence does not contain {' and '.join(missing)}. "
        "Collect the server's whole configuration (see ldapdiag indexes --help).",
        undo="",
        verify="",
    )
