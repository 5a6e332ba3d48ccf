"""Report objects of `ldapdiag storage`, as JSON has them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from typing import Any

import storage_site
from ldapdiag.diagnosis import diagnose
from ldapdiag.report import as_json
from ldapdiag.report.storage import as_data


def document(*more: object, whole: bool = True) -> dict[str, Any]:
    """Return the report on the site, with further facts; not the whole: without disks."""
    diagnosis = diagnose(storage_site.bundle(*more, whole=whole), ())
    report = as_json.document(diagnosis, datetime(2026, 11, 23, tzinfo=UTC)) | as_data.storage(diagnosis)
    found: dict[str, Any] = json.loads(json.dumps(report))
    return found


@cache
def probed() -> dict[str, Any]:
    """Return the report on the site with a probe."""
    return document(storage_site.probe())
