"""Bundle: every fact of a run, and the reason for every gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Evidence that was named and could not be used: what, why, and what to do about it."""

    target: str
    reason: str
    how: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """A file that is there and is no evidence for a diagnosis; listed, never counted as damage."""

    target: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A fact that cannot be had for a host (or, with no host, at all), the reason, and how to get what lacks."""

    reason: str
    host: str = ""
    lacks: tuple[str, ...] = ()
    """The kinds of evidence that are missing."""
    how: str | None = None
    crashed: bool = False
    """The provider has a bug: whoever needs this fact has crashed, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """What gathering brought home."""

    facts: tuple[Any, ...] = ()
    """Each an evidence.origin.Fact."""
    gaps: tuple[Gap, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    ldap_ports: frozenset[int] = frozenset()
    """Ports the operator says are LDAP, beside those every check knows."""
