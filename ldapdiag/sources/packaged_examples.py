"""Packaged examples: real evidence that is installed with the program, named `example:NAME` where evidence is.

example:incident   a firewall that drops idle connections, seen from both ends (examples/README.md explains each)
"""

from __future__ import annotations

import atexit
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

EXAMPLES = ("incident", "audit", "storage")
"""Folders of examples/ that a wheel brings (pyproject.toml, force-include); `make demo` reads them in the tree."""


def example_folder(name: str) -> str:
    """Return the folder of an example. Raises UsageError where there is none of this name."""
    if name not in EXAMPLES:
        raise UsageError(f"example:{name}: no such example; use example:{', example:'.join(EXAMPLES)}")
    package = files("ldapdiag")
    packaged = package / "examples" / name
    if not packaged.is_dir() and isinstance(package, Path):
        packaged = package.parent / "examples" / name
    return str(packaged if isinstance(packaged, Path) else _unpacked(packaged))


def _unpacked(folder: Traversable) -> Path:
    """Return a copy of a folder within a zipapp, which the end of the process removes."""
    scratch = TemporaryDirectory(prefix="ldapdiag-example-")
    atexit.register(scratch.cleanup)
    place = Path(scratch.name) / folder.name
    _copy(folder, place)
    return place


def _copy(folder: Traversable, place: Path) -> None:
    place.mkdir()
    for one in folder.iterdir():
        if one.is_dir():
            _copy(one, place / one.name)
        else:
            (place / one.name).write_bytes(one.read_bytes())
