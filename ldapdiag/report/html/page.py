"""The page of a report object: a diagnosis, with the index plan where there is one, or the contents of access logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.report.html.diagnosis import diagnosis_values
from ldapdiag.report.html.environment import render_page
from ldapdiag.report.html.log import log_values

if TYPE_CHECKING:
    from collections.abc import Mapping

LOG = "ldapdiag.log/"


def render(document: Mapping[str, Any]) -> str:
    """Return a report as one HTML file; equal evidence gives equal bytes: the page has no time of the run."""
    if document["schema"].startswith(LOG):
        return render_page("log.html.j2", **log_values(document))
    return render_page("diagnosis.html.j2", **diagnosis_values(document))
