"""Progress: what is being read, on stderr, and only where a person watches."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ldapdiag.report.neutral import neutral

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def reading() -> Iterator[Callable[[str], None]]:
    """Yield a function to tell each file to; its line is gone when the reading is over."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415  import late
    from rich.text import Text  # noqa: PLC0415

    console = Console(stderr=True)
    with console.status("reading", spinner="line") as status:
        yield lambda path: status.update(Text(f"reading {neutral(path)}", no_wrap=True, overflow="ellipsis"))
