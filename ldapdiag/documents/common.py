"""Parts of several documents."""

from __future__ import annotations

from typing import Literal, TypedDict

From = TypedDict("From", {"from": str})
Period = TypedDict("Period", {"from": str, "to": str})
Counts = dict[str, int]


class Gap(TypedDict):
    """What could not be read, why, and how to mend it."""

    target: str
    reason: str
    how: str | None


class RemedyRow(TypedDict):
    """What to do about a finding."""

    alternative: bool
    """Instead of the step before."""
    brief: str
    """The few lines that do the same as a long `text`, safe as they stand; else empty."""
    changes: str
    family: Literal["389ds", "openldap", "dsee", "opendj", "ping", "ad", "ibm"] | None
    kind: Literal["ldif", "shell", "config", "advice"]
    needs: Literal["none", "reindex", "restart", "reconnect", "rebind"]
    """Or which connections it reaches: opened (`reconnect`), or opened or bound (`rebind`), from now on."""
    risk: str
    """The worst first."""
    target: str
    text: str
    title: str
    undo: str | None
    verify: str | None
    where: Literal["server", "client", "box", "host"]
    """`box`: a middlebox."""
