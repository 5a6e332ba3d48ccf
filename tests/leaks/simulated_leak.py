"""A simulated leak: what was counted until now, and when the limit was reached in truth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedLeak:
    """Times in seconds; day and night by seconds since midnight UTC."""

    counted: tuple[tuple[float, int], ...]
    """(time, open connections); the last one is of now."""
    limit: int
    reached: float
    """When the limit was reached."""
    kind: str
    """How it was observed: log, snapshots or history; with its features."""

    @property
    def hours_left(self) -> float:
        """Return the hours from now until the limit was reached."""
        return (self.reached - self.counted[-1][0]) / 3600
