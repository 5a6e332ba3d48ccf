"""@check: a function whose signature names the evidence it needs, and whose docstring is its manual page."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from enum import StrEnum
from inspect import signature
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    ParamSpec,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from ldapdiag.check_setting import Value, arguments_of, is_group, require_order, settings_of
from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Return what a check or a provider needs, from its signature; settings of a check are annotated otherwise."""
    hints = get_type_hints(function, include_extras=True)
    names = signature(function).parameters
    if missing := [name for name in names if name not in hints]:
        raise TypeError(f"{function.__qualname__}: parameter {missing[0]} has no annotation")
    settings = {name for name in names if get_origin(hints[name]) is Annotated or is_group(names[name])}
    return tuple(Need.of(name, hints[name]) for name in names if name not in settings)


Group = Literal["connections", "server", "access log", "indexes", "storage", "fleet", "other"]
"""What a check is about, in the order of the list of checks."""
GROUPS: tuple[Group, ...] = get_args(Group)


class Worse(StrEnum):
    """In which direction a number is worse."""

    MORE = "more"
    LESS = "less"


Quantity = Literal["count", "value", "logged", "spent", "share"]
"""What a number is, which decides how it is compared with an earlier one.

count: things that exist at one time. value: does not scatter (a setting, a size, a median of many). logged: events in
an access log, per operation. spent: seconds of the `of` operations of an access log, per operation. share: a part of
`of`.
"""


@dataclass(frozen=True, slots=True)
class MainNumber:
    """The number of `observed` that shows first whether a finding of this check is worse than before."""

    key: str
    name: str = ""
    """In words; by default the key."""
    quantity: Quantity = "count"
    of: str = ""
    """The key of what it is a part of, or that took the time."""
    worse: Worse = Worse.MORE
    up_to: str = "info"
    """The highest severity that a longer log at the same rate may give."""
    signs: tuple[tuple[str, float], ...] = ()
    """Keys, and the values from which they give a severity whatever the rate."""
    otherwise: MainNumber | None = None
    """The number of findings without this one."""

    @property
    def alternatives(self) -> tuple[MainNumber, ...]:
        """Return it and those of findings without it."""
        return (self, *(self.otherwise.alternatives if self.otherwise else ()))

    @property
    def is_of_a_log(self) -> bool:
        """Return whether it adds up over an access log."""
        return self.quantity in {"logged", "spent", "share"}


SEARCH_TIME = MainNumber("etime_seconds", "search time", "spent", of="searches", up_to="high", signs=(("refused", 1),))
"""What shows whether searches without an index are worse than before."""


class Check(Generic[P]):
    """A check: callable as its function is, with an id, a title, a manual page, its needs and its settings."""

    def __init__(
        self, judge: Callable[P, Iterable[Verdict]], number: MainNumber | None = None, group: Group = "other"
    ) -> None:
        self._judge = judge
        self.group = group
        self.id = judge.__module__.rpartition(".")[2].replace("_", "-")
        self.package = judge.__module__.partition(".")[0]
        self.manual = judge.__doc__ or ""
        self.title = self.manual.strip().partition("\n")[0].rstrip(".")
        self.needs = needs_of(judge)
        self.number = number
        self.settings = settings_of(judge)
        self.configuration: Mapping[str, Value] = {}
        """The settings that differ from what the check is written with."""
        self.arguments: Mapping[str, Any] = {}
        """The same as its function takes them."""
        self.applies: Callable[[Mapping[str, Any]], bool] = lambda _: True
        """Whether it is run with these arguments."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[Verdict]:
        """Judge, and yield a verdict per subject."""
        kwargs.update(self.arguments)
        return iter(self._judge(*args, **kwargs))

    def configured(self, values: Mapping[str, object]) -> Check[P]:
        """Return the check with other settings. Raises UsageError for unknown ones, and for values that are not valid.

        `values` are of a configuration file: numbers, and lists of names.
        """
        try:
            configuration = self._read(values)
            require_order(self.settings, configuration)
        except UsageError as error:
            raise UsageError(f"{self.id}: {error}") from None
        configured = copy(self)
        configured.configuration = configuration
        configured.arguments = arguments_of(self._judge, configuration)
        return configured

    def where(self, applies: Callable[[Mapping[str, Any]], bool]) -> Check[P]:
        """Return the check that is run only with arguments of which this is true."""
        narrowed = copy(self)
        narrowed.applies = applies
        return narrowed

    def _read(self, values: Mapping[str, object]) -> dict[str, Value]:
        known = {setting.name: setting for setting in self.settings}
        for name in values:
            if name not in known:
                listed = f"its settings: {', '.join(known)}" if known else "it has none"
                raise UsageError(f"no setting {name!r}; {listed}.{did_you_mean(name, known)}".removesuffix("."))
        return {name: known[name].read(value) for name, value in values.items()}

    def __repr__(self) -> str:
        return f"<check {self.id}>"


@overload
def check(judge: Callable[P, Iterable[Verdict]], /) -> Check[P]: ...
@overload
def check(
    *, number: MainNumber | None = None, group: Group = "other"
) -> Callable[[Callable[P, Iterable[Verdict]]], Check[P]]: ...
def check(
    judge: Callable[P, Iterable[Verdict]] | None = None,
    /,
    *,
    number: MainNumber | None = None,
    group: Group = "other",
) -> Check[P] | Callable[[Callable[P, Iterable[Verdict]]], Check[P]]:
    """Make a function a check. The module's name is the id, the first line of the docstring the title."""
    if judge is not None:
        return Check(judge)
    return lambda function: Check(function, number, group)
