"""Installation: the versions that the client, the scheduler and the workers of a cluster must have in common.

Two grammars read one log differently. Dask and Python exchange functions and results between equal versions only.
"""

from __future__ import annotations

import sys
from importlib import metadata

import ldapdiag
from ldapdiag.evidence.log.dialects import GRAMMAR_VERSION

SAME = "install the same versions on all sides, or start them from one image"


def installation() -> dict[str, str]:
    """Return the versions of this process by the names that messages use; plain, as an older one may answer."""
    return {
        "ldapdiag": ldapdiag.__version__,
        "grammar": str(GRAMMAR_VERSION),
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "distributed": _version("distributed"),
    }


def difference(here: dict[str, str], there: object) -> str:
    """Return how an answer of `installation` from another process differs; empty if it does not."""
    if not isinstance(there, dict):
        return f"cannot call ldapdiag ({there!s:.200})"
    differing = {name: own for name, own in here.items() if there.get(name) != own}
    return ", ".join(f"{name} {there.get(name)!s:.40} (here {own})" for name, own in differing.items())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
