"""The document of `ldapdiag checks`: schema ldapdiag.checks/1."""

from __future__ import annotations

from typing import Literal, TypedDict


class ListedSetting(TypedDict):
    """A setting of a check."""

    name: str
    meaning: str
    unit: str
    default: float | list[str]
    value: float | list[str]
    """In force."""


class ListedCheck(TypedDict):
    """A check."""

    id: str
    group: str
    """`connections`, `server`, `access log`, `indexes`, `storage` or `fleet`; `other`: its package declares none."""
    title: str
    manual: str
    """Markdown."""
    main_number: str | None
    """The key of `observed` that says how severe a finding is."""
    evidence: list[str]
    """The facts it reads."""
    settings: list[ListedSetting]


class Document(TypedDict):
    """The checks, all in the order of a report, or the one that is named."""

    schema: Literal["ldapdiag.checks/1"]
    checks: list[ListedCheck]
