"""A table of a report: where its rows are in the report object, and which of their values are columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Rows of a report object, and the paths of their columns: `worst.time` is the column `worst_time`."""

    rows: Callable[[Plain], Iterable[Plain]]
    paths: str
    """Separated by blanks."""

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return self.paths.replace(".", "_").split()

    def values(self, document: Plain) -> Iterator[list[Any]]:
        """Yield the values of each row; what a row does not have is None."""
        paths = self.paths.split()
        for row in self.rows(document):
            yield [_at(row, path) for path in paths]


def _at(row: Any, path: str) -> Any:  # noqa: ANN401  plain values
    for key in path.split("."):
        row = row.get(key) if isinstance(row, dict) else None
    return row


def rows_at(path: str) -> Callable[[Plain], Iterable[Plain]]:
    """Return a function that finds the rows of a table in a report object."""
    return lambda document: _at(document, path) or ()


def rows_within(path: str, key: str) -> Callable[[Plain], Iterable[Plain]]:
    """Return a function that finds the rows below those of a table, with the values of the outer row."""

    def rows(document: Plain) -> Iterator[Plain]:
        for row in _at(document, path) or ():
            for inner in row[key]:
                yield row | inner

    return rows
