"""The settings of clients as text: each remedy with its commands, risk, check and undo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.report.findings import print_remedy
from ldapdiag.report.page import page_for

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from ldapdiag.remedy import Remedy


def print_client_settings(remedies: Iterable[Remedy], stream: TextIO) -> None:
    """Print the remedies, numbered."""
    page = page_for(stream)
    for number, remedy in enumerate(remedies, 1):
        print_remedy(page, str(number), remedy, verbose=True)
