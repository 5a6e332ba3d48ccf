"""Write checks/README.md, the catalogue, from the manual pages of the checks: python checks/make_readme.py."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag_checks.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.catalogue import AnyCheck

README = Path(__file__).parent / "README.md"

BEGINNING = """# What each check looks for

One file per check in `ldapdiag_checks/`, in the order of a report. This page is made from their docstrings by
`python checks/make_readme.py`; `ldapdiag checks ID` shows one of them. How to add one: `CONTRIBUTING.md`.
"""


def readme(checks: tuple[AnyCheck, ...] = CATALOGUE) -> str:
    """Return the catalogue: a table of all checks, then the manual page of each."""
    rows = (f"| [`{check.id}`](#{check.id}) | {check.title} |" for check in checks)
    table = "\n".join(["| check | finds |", "|---|---|", *rows])
    return "\n".join([BEGINNING, table, *(page for check in checks for page in _page(check))])


def _page(check: AnyCheck) -> Iterator[str]:
    title, _, manual = inspect.cleandoc(check.manual).partition("\n")
    yield f"\n## {check.id}\n\n{title}"
    yield manual.replace("\n## ", "\n### ")
    if check.settings:
        yield "\n### Settings\n| setting | default | meaning |\n|---|---|---|"
        yield from (
            f"| `{setting.name}` | {setting.shown(setting.default)} | {setting.meaning} |" for setting in check.settings
        )
    yield f"\n### Evidence\n{', '.join(_needs(check))}"
    yield f"\n[`{check.id.replace('-', '_')}.py`](ldapdiag_checks/{check.id.replace('-', '_')}.py)"


def _needs(check: AnyCheck) -> Iterator[str]:
    for need in check.needs:
        aside = " (of all hosts)" if need.every else " (if present)" if need.optional else ""
        yield f"`{need.fact.__name__}`{aside}"


if __name__ == "__main__":
    README.write_text(readme() + "\n")
