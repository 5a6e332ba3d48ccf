"""Progress: what whoever watches may hear while evidence is gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ldapdiag.evidence.bundle import Gap


class Progress(Protocol):
    """Whoever watches."""

    def __call__(self, path: str) -> None:
        """Hear of a file that is about to be read."""

    def answered(self, target: str, told: str, seconds: float, gap: Gap | None = None) -> None:
        """Hear what a target said, and the first that could not be had of it."""

    def failed(self, gap: Gap) -> None:
        """Hear why a target said nothing."""

    def waiting(self, seconds: float) -> None:
        """Hear for how long nothing will happen."""


class Silence:
    """Nobody watches."""

    def __call__(self, path: str) -> None:
        """Say nothing of a file."""

    def answered(self, target: str, told: str, seconds: float, gap: Gap | None = None) -> None:
        """Say nothing of an answer."""

    def failed(self, gap: Gap) -> None:
        """Say nothing of a failure: it is in the bundle."""

    def waiting(self, seconds: float) -> None:
        """Say nothing of a pause."""


SILENCE = Silence()
