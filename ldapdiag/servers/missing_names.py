"""Names that the commands of a remedy need and the evidence lacks: such a remedy becomes advice without commands.

A command with a placeholder would fail half-way, for example after it has set an index and before it has built it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.remedy import Remedy, RemedyKind

if TYPE_CHECKING:
    from collections.abc import Collection

NO_SUFFIX, NO_BACKEND = "the suffix of the database", "the name of the database"


def missing_names(*known: tuple[object, str]) -> list[str]:
    """Return the description of each pair (name, description) without a name."""
    return [description for name, description in known if not name]


def advice_if_missing(remedy: Remedy, missing: Collection[str]) -> Remedy:
    """Return a remedy unchanged, or as advice that lists the missing names."""
    if not missing:
        return remedy
    if remedy.kind is RemedyKind.ADVICE:
        return replace(remedy, undo="", verify="", brief="")
    return replace(
        remedy,
        kind=RemedyKind.ADVICE,
        text=f"{remedy.title}. No commands can be given: the evidence does not contain {' and '.join(missing)}. "
        "Collect the server's whole configuration (see ldapdiag indexes --help).",
        undo="",
        verify="",
        brief="",
    )
