"""The JSON that lsblk and findmnt print: one object with a list of trees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document

MOST_TEXT = 12 << 20
"""Characters, for 5,000 devices with all columns; a longer text is not read."""


def has_list(lines: tuple[str, ...], key: str) -> bool:
    """Return whether the text begins with an object whose first key is this one, after lines of standard error."""
    text = "".join(line.strip() for line in lines[:20])
    return f'{{"{key}":[' in text.replace(" ", "")


def list_of(document: Document, key: str) -> list[Any]:
    """Return the list of that key; empty, and the text misread, where it is no such JSON."""
    room = MOST_TEXT
    lines: list[str] = []
    for line in document.lines:
        if not lines and not line.lstrip().startswith("{"):
            if line.strip():
                document.misread(line)
            continue
        room -= len(line)
        if room >= 0:
            lines.append(line)
    try:
        content = json.loads("".join(lines)) if room >= 0 else None
    except (ValueError, RecursionError):
        content = None
    found = content.get(key) if isinstance(content, dict) else None
    if isinstance(found, list):
        return found
    if lines:
        document.misread("".join(lines[:3]))
    return []


def tree(nodes: list[Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Yield every object of the trees with the one it is a child of, parents first and in the order of the text."""
    waiting: list[tuple[Any, dict[str, Any] | None]] = [(node, None) for node in reversed(nodes)]
    while waiting:
        node, parent = waiting.pop()
        if isinstance(node, dict):
            yield node, parent
            children = node.get("children")
            waiting += [(child, node) for child in reversed(children)] if isinstance(children, list) else []


def text_at(node: dict[str, Any], *keys: str) -> str:
    """Return the first text among these keys; empty if there is none."""
    return next((value for key in keys if isinstance(value := node.get(key), str)), "")
