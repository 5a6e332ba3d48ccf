"""@check: a function whose signature names the evidence it needs, and whose docstring is its manual page."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import signature
from typing import Any, Generic, ParamSpec, Union, get_args, get_origin, get_type_hints

from ldapdiag.finding import Verdict

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Need:
    """One parameter: the type of fact, whether it may be missing, and whether it takes the facts of all hosts."""

    name: str
    fact: type[Any]
    optional: bool
    every: bool

    @classmethod
    def of(cls, name: str, hint: Any) -> Need:  # noqa: ANN401  an annotation, whatever it is
        """Read an annotation: `X`, `X | None`, or `tuple[X, ...]`."""
        optional = False
        if get_origin(hint) in {Union, types.UnionType}:
            kinds = [part for part in get_args(hint) if part is not type(None)]
            if len(kinds) != 1:
                raise TypeError(f"parameter {name}: one type of fact, or one | None, not {hint}")
            optional, hint = True, kinds[0]
        if get_origin(hint) is tuple:
            part, *rest = get_args(hint)
            if rest != [Ellipsis]:
                raise TypeError(f"parameter {name}: all facts of a type are tuple[X, ...], not {hint}")
            return cls(name, part, optional=True, every=True)
        if not isinstance(hint, type):
            raise TypeError(f"parameter {name}: {hint} is not a type of fact")
        return cls(name, hint, optional, every=False)


def needs_of(function: Callable[..., object]) -> tuple[Need, ...]:
    """Return what a check or a provider needs, from its signature."""
    hints = get_type_hints(function)
    names = signature(function).parameters
    if missing := [name for name in names if name not in hints]:
        raise TypeError(f"{function.__qualname__}: parameter {missing[0]} has no annotation")
    return tuple(Need.of(name, hints[name]) for name in names)


class Check(Generic[P]):
    """A check: callable as its function is, with an id, a title, a manual page and its needs."""

    def __init__(self, judge: Callable[P, Iterable[Verdict]]) -> None:
        self._judge = judge
        self.id = judge.__module__.rpartition(".")[2].replace("_", "-")
        self.manual = judge.__doc__ or ""
        self.title = self.manual.strip().partition("\n")[0].rstrip(".")
        self.needs = needs_of(judge)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[Verdict]:
        """Judge, and yield a verdict per subject."""
        return iter(self._judge(*args, **kwargs))

    def __repr__(self) -> str:
        return f"<check {self.id}>"


def check(judge: Callable[P, Iterable[Verdict]]) -> Check[P]:
    """Make a function a check. The module's name is the id, the first line of the docstring the title."""
    return Check(judge)
