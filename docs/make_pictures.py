"""Write the picture of README.md anew: the head of the HTML report on the incident in examples/, as a browser shows it.

    .venv/bin/python docs/make_pictures.py

It takes Chromium (`sh setup.sh servers` installs Debian's) and the development tools (playwright). Without a Chromium
the picture stays as it is; its text alternative, which is the words of the page, is written in any case.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from html5lib import parse

HOUSE = Path(__file__).parent.parent
README = HOUSE / "README.md"
PICTURE = HOUSE / "docs" / "pictures" / "report.png"
SHOWN = re.compile(r"!\[[^\]]*\]\(docs/pictures/report\.png\)")
WIDTH, SHARPNESS = 960, 1.25
"""Of the window, in pixels, and how many of the picture each becomes."""


def page() -> str:
    """Return the HTML report on the incident."""
    command = [sys.executable, "-m", "ldapdiag", "diagnose", "examples/incident", "--format", "html"]
    return subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False).stdout


def words(report: str) -> str:
    """Return the text alternative of the picture: its title and first step, and the numbers of its chart."""
    tree: Any = parse(report, namespaceHTMLElements=False)
    title, chart = tree.find(".//h1"), tree.find(".//header//*[@role='img']")
    first = tree.find(".//*[@class='action']")
    parts = ("".join(title.itertext()), chart.get("aria-label"), f"Do first: {''.join(first.itertext())}")
    return " ".join(f"{' '.join(part.split()).removesuffix('.')}." for part in parts)


def fresh(readme: str, report: str) -> str:
    """Return the text of README.md with what the picture shows as its text alternative."""
    return SHOWN.sub(lambda _: f"![The head of an HTML report: {words(report)}](docs/pictures/report.png)", readme)


def draw(report: str, chromium: str) -> bytes:
    """Return the head of a report, from the title to the counts, as a picture."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  import late: it brings a runtime of its own

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        size = {"width": WIDTH, "height": 800}
        window = browser.new_page(viewport=size, device_scale_factor=SHARPNESS, color_scheme="light")  # type: ignore[arg-type]
        window.set_content(report)
        end = window.evaluate("document.querySelector('nav.counts').getBoundingClientRect().bottom")
        drawn = window.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": end + 24}, full_page=True)
        browser.close()
    return drawn


if __name__ == "__main__":
    made = page()
    README.write_text(fresh(README.read_text(), made))
    if (path := shutil.which("chromium")) is None:
        sys.stderr.write(f"{PICTURE} stays as it is: no chromium here; as root, sh setup.sh servers installs it\n")
    else:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_bytes(draw(made, path))
