"""The IDs of the installed checks, from the source of their catalogues: importing the checks takes too long for a Tab.

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
    names: dict[str, None] = {}
    for point in entry_points(group=GROUP):
        names.update(dict.fromkeys(_listed(point.module, point.attr)))
    return tuple(names)


def _listed(module: str, name: str, depth: int = 0) -> Iterator[str]:
    tree = _tree(module) if depth < DEEPEST else None
    for statement in tree.body if tree else ():
        match statement:
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Tuple(elts=elements)) if found == name:
                for element in elements:
                    match element:
                        case ast.Attribute(value=ast.Name(id=check)):
                            yield check.replace("_", "-")
                        case ast.Starred(value=ast.Attribute(value=ast.Name(id=other), attr=listed)):
                            yield from _listed(f"{module.partition('.')[0]}.{other}", listed, depth + 1)
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
