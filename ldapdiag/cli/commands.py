"""Commands that name the option an operator probably meant; click lists three of any likeness."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterator


class CommandGroup(TyperGroup):
    """A group of commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  typer hides click's classes
        """Parse the options before the command."""
        with _nearest(self.params):
            return super().parse_args(ctx, args)


class SingleCommand(TyperCommand):
    """A command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  as above
        """Parse the options and arguments of the command."""
        with _nearest(self.params):
            return super().parse_args(ctx, args)


@contextmanager
def _nearest(parameters: list[Any]) -> Iterator[None]:
    """Name the nearest of the long options in the error about an unknown one."""
    try:
        yield
    except Exception as error:
        if (unknown := getattr(error, "option_name", None)) and hasattr(error, "possibilities"):
            from ldapdiag.spelling import did_you_mean  # noqa: PLC0415  import late

            names = [name for one in parameters for name in one.opts if name.startswith("--")]
            error.possibilities = []
            error.message = f"No such option: {unknown!r}.{did_you_mean(unknown, [*names, '--help'])}"  # type: ignore[attr-defined]
        raise
