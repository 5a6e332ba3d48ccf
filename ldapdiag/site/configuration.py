"""The model of a site configuration. Nothing in it is merged with anything: what a file omits is None or empty."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ldapdiag.finding import Severity
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteTarget:
    """Evidence with a name, and how it is collected: what @NAME stands for."""

    name: str
    evidence: tuple[str, ...]
    options: Mapping[str, object] = field(default_factory=dict)
    """Collection options by their keys; only those that the file sets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedFinding:
    """One finding, by its id, or all of a check (at one server), that count for no gate until a day."""

    id: str | None = None
    check: str | None = None
    """Exactly one of id and check is set."""
    server: str | None = None
    """With a check only; None: at any server."""
    reason: str
    until: date
    """The last day."""
    up_to: Severity = Severity.HIGH
    """A more severe finding counts."""
    place: int
    """The number of the entry in the file, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteConfiguration:
    """All that one file contains."""

    path: str
    """The file, as it is shown."""
    sha256: str
    target: str | None = None
    """The name of the target that is meant where no evidence is named."""
    fail_on: str | None = None
    targets: Mapping[str, SiteTarget] = field(default_factory=dict)
    check_settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Settings by check id and name; their types and ranges are the check's affair."""
    disabled: Mapping[str, str] = field(default_factory=dict)
    """The reason by check id."""
    accepted: tuple[AcceptedFinding, ...] = ()
