"""The page of a report object: a diagnosis, perhaps with an index plan, the contents of access logs, or a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.html.diagnosis import diagnosis_values
from ldapdiag.report.html.environment import render_page
from ldapdiag.report.html.history import history_values
from ldapdiag.report.html.log import log_values

if TYPE_CHECKING:
    from collections.abc import Mapping

CONTENTS = {"ldapdiag.log": log_values, "ldapdiag.history": history_values}
"""By schema; all others are diagnoses."""


def render(document: Mapping[str, Any], made: str = "") -> str:
    """Return a report as one HTML file: equal evidence gives equal bytes but for `made`, when and by which command."""
    if values := CONTENTS.get(document["schema"].partition("/")[0]):
        return render_page("log.html.j2", **values(document), made=made)
    return render_page("diagnosis.html.j2", **diagnosis_values(document), made=made)
