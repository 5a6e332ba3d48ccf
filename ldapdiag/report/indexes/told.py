"""What of a server's coverage is told, in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.servers.candidates import Outlook

if TYPE_CHECKING:
    from ldapdiag.analysis.coverage import Coverage, Covered


def harmless(coverage: Coverage) -> tuple[Covered, ...]:
    """Return searches that the server notes, or that are partly without an index, and that do no harm."""
    return tuple(row for row in coverage.rows if row.outlook is Outlook.PARTIALLY)
