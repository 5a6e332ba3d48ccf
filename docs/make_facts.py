"""Write docs/facts.md: every fact that a check may ask for, from the docstrings of the facts.

.venv/bin/python docs/make_facts.py
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ldapdiag.analysis
import ldapdiag.evidence
from ldapdiag.analysis.providers import PROVIDERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PAGE = Path(__file__).parent / "facts.md"
BEGINNING = """# The facts that a check may ask for

A parameter of a check names one of these types: `X` runs the check once for each host that has an X, `X | None` is used
if present, `tuple[X, ...]` is those of all hosts. Made from the docstrings by `docs/make_facts.py`.
"""


def facts(package: ModuleType) -> Iterator[type[Any]]:
    """Yield the classes of a package that have a `kind` and say how to collect them, by module and name."""
    for module in sorted(found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")):
        for _, one in inspect.getmembers(importlib.import_module(module), inspect.isclass):
            if one.__module__ == module and isinstance(getattr(one, "kind", None), str) and hasattr(one, "how"):
                yield one


def row(fact: type[Any]) -> str:
    """Return the row of a fact: its type, its module, what it is, how to collect it."""
    title = (inspect.getdoc(fact) or "").partition("\n")[0]
    how = fact.how.replace("|", "\\|")
    return f"| `{fact.__name__}` | `{fact.__module__}` | {title} | {how} |"


def page() -> str:
    """Return the whole page."""
    joined = [fact for fact in facts(ldapdiag.analysis) if fact in PROVIDERS or fact.__name__ == "Host"]
    head = "| type | module | what it is | how to collect it |\n|---|---|---|---|"
    return "\n".join(
        [
            BEGINNING,
            "## Joined from several origins\n",
            head,
            *map(row, joined),
            "\n## Read from one origin\n",
            head,
            *map(row, facts(ldapdiag.evidence)),
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page())
