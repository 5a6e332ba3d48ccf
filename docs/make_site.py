"""Write the pages of the site: those of docs/, those that stand elsewhere in the tree, and what the program prints.

    python docs/make_site.py FOLDER

mkdocs.yml names the folder. A link to a file that is no page of the site becomes its text.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

HOUSE = Path(__file__).parent.parent
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "checks/README.md": "reference/checks.md",
    "examples/README.md": "reference/examples.md",
}
"""Files of the tree that are pages, by their place in the site."""
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<path>[^)\s:#]+)(?P<anchor>#[^)\s]*)?\)")


def write(folder: Path) -> None:
    """Write all pages into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    docs = HOUSE / "docs"
    shutil.copytree(docs / "pictures", folder / "pictures")
    sources = {
        f"docs/{path.relative_to(docs).as_posix()}": path.relative_to(docs).as_posix() for path in docs.rglob("*.md")
    }
    places = sources | ELSEWHERE
    pages = {page: _linked((HOUSE / source).read_text(), source, places) for source, page in places.items()}
    pages |= {"reference/commands.md": _commands(), "reference/settings.md": _settings()}
    for page, text in pages.items():
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text(text)


def _linked(text: str, source: str, places: dict[str, str]) -> str:
    """Return the text of a file with its links as the site has them; `places` has the page of each file."""

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), found["path"]))
        if target not in places:
            return found["text"]
        path = posixpath.relpath(places[target], posixpath.dirname(places[source]) or ".")
        return f"[{found['text']}]({path}{found['anchor'] or ''})"

    return LINK.sub(link, text).replace("](docs/pictures/", "](pictures/")


def _printed(*arguments: str) -> str:
    command = [sys.executable, "-m", "ldapdiag", *arguments]
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def _commands() -> str:
    """Return the help of each command."""
    names = re.findall(r"^  ([a-z-]+)  ", _printed("help").partition("Commands:")[2], re.MULTILINE)
    parts = (f"## ldapdiag {name}\n\n```text\n{_printed(name, '--help')}```\n" for name in names)
    return "\n".join(["# Commands\n", *parts])


def _settings() -> str:
    """Return the thresholds of checks, which `ldapdiag.toml` can change."""
    checks = json.loads(_printed("checks", "--format", "json"))["checks"]
    rows = [
        f"| `{one['id']}` | `{each['name']}` | {each['default']} {each['unit'] or ''} | {each['meaning']} |"
        for one in checks
        for each in one["settings"]
    ]
    about = "Values of `[checks.ID]` in `ldapdiag.toml` ([the file](../configuration.md)), with what each means.\n"
    return "\n".join(
        ["# Settings of checks\n", about, "| check | setting | default | meaning |", "|---|---|---|---|", *rows]
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]))
