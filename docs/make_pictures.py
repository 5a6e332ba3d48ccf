"""Write the pictures of README.md anew: charts of the HTML report on the examples, each as an SVG file of its own.

    .venv/bin/python docs/make_pictures.py

They are in docs/pictures; README.md shows some, with the sentence of the chart as their text alternative.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldapdiag.report.charts.both_ends import both_ends
from ldapdiag.report.charts.chart import StripChart
from ldapdiag.report.charts.of_finding import finding_charts
from ldapdiag.report.charts.over_time import of_timeline
from ldapdiag.report.html.environment import render_picture
from ldapdiag.report.html.figures import figure

if TYPE_CHECKING:
    from ldapdiag.report.charts.chart import Chart

HOUSE = Path(__file__).parent.parent
README = HOUSE / "README.md"
PICTURES = HOUSE / "docs" / "pictures"
SHOWN = re.compile(r"!\[[^\]]*\]\(docs/pictures/(?P<name>[^)]+)\)")


def report(*arguments: str) -> dict[str, Any]:
    """Return the report object that a command prints as JSON."""
    command = [sys.executable, "-m", "ldapdiag", *arguments, "--format", "json"]
    ran = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False)
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def charts() -> dict[str, Chart]:
    """Return the chart of each picture, by the name of its file."""
    incident = report("diagnose", "examples/incident")
    log = report("log", "examples/audit/ds1/access")
    of_findings = (chart for finding in incident["findings"] for chart in finding_charts(finding, incident))
    ends = both_ends(incident["directions"])
    if ends is None:
        message = "the incident has no connections"
        raise ValueError(message)
    return {
        "both-ends.svg": ends,
        "idle-times.svg": next(chart for chart in of_findings if isinstance(chart, StripChart)),
        "search-time.svg": of_timeline(log["timeline"])[0],
    }


def picture(chart: Chart) -> str:
    """Return a picture as the text of its file."""
    return render_picture(figure(chart))


def fresh(readme: str, drawn: dict[str, Chart]) -> str:
    """Return the text of README.md with what each picture shows as its text alternative."""
    return SHOWN.sub(lambda found: shown(found["name"], drawn[found["name"]]), readme)


def shown(name: str, chart: Chart) -> str:
    """Return a picture in Markdown."""
    return f"![{chart.title}. {chart.sentence}](docs/pictures/{name})"


if __name__ == "__main__":
    made = charts()
    PICTURES.mkdir(exist_ok=True)
    for name, chart in made.items():
        (PICTURES / name).write_text(picture(chart))
    README.write_text(fresh(README.read_text(), made))
