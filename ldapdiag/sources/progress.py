"""The interface of a progress display for collection, and an implementation that shows nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ldapdiag.evidence.bundle import Gap


class Progress(Protocol):
    """Receives progress events."""

    def __call__(self, path: str) -> None:
        """Show that a file is about to be read."""

    def answered(self, target: str, summary: str, seconds: float, gap: Gap | None = None) -> None:
        """Show the result of a target: a summary of a few words, the duration and the first gap."""

    def failed(self, gap: Gap) -> None:
        """Show why a target gave no evidence."""

    def waiting(self, seconds: float) -> None:
        """Show how many seconds remain until the next snapshot."""

    def measuring(self, what: str) -> None:
        """Show which measurement begins, and how long it may take."""


class NoProgress:
    """A display that shows nothing."""

    def __call__(self, path: str) -> None:
        """Do nothing."""

    def answered(self, target: str, summary: str, seconds: float, gap: Gap | None = None) -> None:
        """Do nothing."""

    def failed(self, gap: Gap) -> None:
        """Do nothing: the gap is in the bundle."""

    def waiting(self, seconds: float) -> None:
        """Do nothing."""

    def measuring(self, what: str) -> None:
        """Do nothing."""


NO_PROGRESS = NoProgress()
