"""The IDs of the installed checks, from the source of their catalogues: importing all takes long.

    CATALOGUE = (ghost_connections.judge, *index_checks.CATALOGUE, …)

The ID of a check is the name of its module. A catalogue of another form contributes no names.
"""

from __future__ import annotations

import ast
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUP = "ldapdiag.checks"
DEEPEST = 5
"""Catalogues within catalogues."""


def check_names() -> tuple[str, ...]:
    """Return the IDs of the checks that every installed package lists, without duplicates."""
    return tuple(check_places())


def check_places() -> dict[str, tuple[str, str]]:
    """Return the module of each check, and its name there, by ID."""
    places: dict[str, tuple[str, str]] = {}
    for point in entry_points(group=GROUP):
        for module, name in _listed(point.module, point.attr):
            places.setdefault(module.rpartition(".")[2].replace("_", "-"), (module, name))
    return places


def _listed(module: str, name: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    tree = _tree(module) if depth < DEEPEST else None
    for statement in tree.body if tree else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Tuple(elts=elements)) if found == name:
                for element in elements:
                    package = module.partition(".")[0]
                    match element:
                        case ast.Attribute(value=ast.Name(id=check), attr=judge):
                            yield f"{package}.{check}", judge
                        case ast.Starred(value=ast.Attribute(value=ast.Name(id=other), attr=listed)):
                            yield from _listed(f"{package}.{other}", listed, depth + 1)
                        case _:
                            pass


def _tree(module: str) -> ast.Module | None:
    """Return the syntax tree of a module; None without a source. Only its package is looked up, nothing is imported."""
    package, *inner = module.split(".")
    try:
        spec = find_spec(package)
        if spec is None or not spec.origin:
            return None
        path = Path(spec.origin)
        if inner:
            path = path.parent.joinpath(*inner)
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        return ast.parse(path.read_bytes())
    except (OSError, ValueError, SyntaxError):
        return None
