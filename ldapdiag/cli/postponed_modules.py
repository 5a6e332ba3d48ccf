"""Modules that are imported when something is asked of them, although others import them at once.

Typer imports what starts a browser or installs a completion script, and the standard library what shows source code or
reads archives. A quarter of `import typer` is for what no command asks of it.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

UNUSED = ("bz2", "ipaddress", "linecache", "lzma", "subprocess", "textwrap", "tokenize")
"""What `import typer` imports for inspect, shutil, traceback, urllib and itself, and uses only when it is called."""


class _Postponed(ModuleType):
    """Stands for a module in those that imported it meanwhile; to take a name from it imports it."""

    def __getattr__(self, name: str) -> object:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


@contextmanager
def postponed() -> Iterator[None]:
    """Postpone what is imported within; an import of one of the modules afterwards is that of the module itself."""
    stand_ins = {name: _Postponed(name) for name in UNUSED if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name, one in stand_ins.items():
            if sys.modules.get(name) is one:
                del sys.modules[name]
