"""Write dashboard.json, a dashboard of Grafana: python make_dashboard.py > dashboard.json."""

import json
import sys
from collections.abc import Iterator
from typing import Any

SOURCE = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}
COLUMNS = 24
"""Of Grafana's grid."""
HEIGHT = 8
PANELS = (  # title, type, width, unit, expressions with their legends
    ("Alerts of ldapdiag's checks", "stat", 6, "none",
     [('sum by (severity) (ldapdiag_findings{accepted="false", severity=~"critical|high|medium"})', "{{severity}}")]),
    ("Descriptors in use", "gauge", 6, "percentunit",
     [("ldapdiag_file_descriptors_open / (ldapdiag_file_descriptors_limit > 0)", "{{server}}")]),
    ("Time until the descriptors run out", "stat", 6, "s", [("ldapdiag_descriptor_headroom_seconds", "{{server}}")]),
    ("Age of the last collection", "stat", 6, "s",
     [("time() - max by (instance) (ldapdiag_collection_timestamp_seconds)", "{{instance}}")]),
    ("Connections by client", "timeseries", 12, "none", [("ldapdiag_connections", "{{server}}: {{client}}")]),
    ("Ghost connections by client", "timeseries", 12, "none",
     [("ldapdiag_ghost_connections", "{{server}}: {{client}}")]),
    ("Stranded and severed connections", "timeseries", 12, "none",
     [("ldapdiag_stranded_connections", "stranded, {{server}}: {{client}}"),
      ("ldapdiag_severed_connections", "severed, {{server}}: {{client}}")]),
    ("Connections by account", "timeseries", 12, "none", [("ldapdiag_account_connections", "{{server}}: {{account}}")]),
    ("Findings", "table", 12, "none", [('ldapdiag_findings{severity!="none"}', "")]),
    ("What the checks said", "timeseries", 12, "none", [("sum by (outcome) (ldapdiag_verdicts)", "{{outcome}}")]),
)  # fmt: skip


def panels() -> Iterator[dict[str, Any]]:
    """Yield the panels, in rows from left to right."""
    x = y = 0
    for number, (title, kind, width, unit, expressions) in enumerate(PANELS, 1):
        if x + width > COLUMNS:
            x, y = 0, y + HEIGHT
        targets = [
            {"datasource": SOURCE, "expr": expression, "legendFormat": legend, "refId": chr(65 + place)}
            | ({"format": "table", "instant": True} if kind == "table" else {})
            for place, (expression, legend) in enumerate(expressions)
        ]
        yield {
            "id": number, "title": title, "type": kind, "datasource": SOURCE, "targets": targets,
            "gridPos": {"x": x, "y": y, "w": width, "h": HEIGHT},
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        }  # fmt: skip
        x += width


def dashboard() -> dict[str, Any]:
    """Return the dashboard."""
    source = {"name": "DS_PROMETHEUS", "label": "Prometheus", "type": "datasource", "pluginId": "prometheus"}
    return {
        "__inputs": [source], "id": None, "uid": "ldapdiag", "title": "Directory servers (ldapdiag)",
        "schemaVersion": 39, "version": 1, "refresh": "1m", "time": {"from": "now-6h", "to": "now"},
        "timezone": "utc", "panels": list(panels()),
    }  # fmt: skip


if __name__ == "__main__":
    json.dump(dashboard(), sys.stdout, indent=1)
    sys.stdout.write("\n")
