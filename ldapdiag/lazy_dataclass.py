"""Dataclasses whose methods are generated when they are first called.

A command imports many times as many facts as it makes, and compares or prints few of them; `dataclasses.dataclass`
compiles six methods of each, which was a third of a start. This decorator makes the slots alone. `__init__` is compiled
when a class has many instances, until then one for all sets their fields; at the first comparison, hash or look at the
fields, `dataclasses` generates what belongs to it. Type checkers see `dataclasses.dataclass`.

`typing.NamedTuple` compiles each annotation, two thirds of what the class costs. Here they stay text, and the methods
are those that `collections.namedtuple` makes when there is an instance.
"""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414  for those who import it from here
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414  as above

_classes: dict[type, tuple[type, dict[str, bool]]] = {}
"""The class as it was written, and its options, of each that was made."""


def _generated(asked: type, name: str) -> Any:  # noqa: ANN401  a method or a table
    """Return an attribute for which a class, or one of its bases, has a stand-in; it is replaced.

    Two threads may do so at once: both make the same. A lock would be held for ever in a process forked meanwhile.
    """
    for one in asked.__mro__:
        if vars(one).get(name) is STAND_INS[name]:
            _generate(one, name)
            return getattr(one, name)
    return getattr(asked, name)  # another thread was first


def _generate(one: type, name: str) -> None:
    plain, options = _classes[one]
    if name == "__init__":
        one.__init__ = _init(one, frozen=options["frozen"])  # type: ignore[misc]
        return
    wanted = {"init": False, "repr": False, "eq": False}
    if name not in TABLES:
        has_hash = vars(one).get("__hash__") is STAND_INS["__hash__"]
        wanted |= {"repr": options["repr"], "eq": options["eq"], "order": options["order"], "unsafe_hash": has_hash}
    again = type(plain)(plain.__name__, plain.__bases__, _without(plain, "__dict__", "__weakref__"))
    made = vars(dataclasses.dataclass(kw_only=options["kw_only"], **wanted)(again))
    for same in TABLES if name in TABLES else METHODS:
        if vars(one).get(same) is STAND_INS[same]:
            setattr(one, same, made[same])


def _init(one: type, *, frozen: bool) -> Callable[..., None]:
    """Return the method that sets the fields."""
    scope: dict[str, object] = {"_set": object.__setattr__}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines = []
    for name, (field, kw_only) in _fields(one).items():
        default, make = f"_default_{name}", f"_make_{name}"
        has_factory = field.default_factory is not dataclasses.MISSING
        scope |= {default: field.default, make: field.default_factory}
        if field.init:
            has_default = has_factory or field.default is not dataclasses.MISSING
            parameters[kw_only].append(f"{name}={default}" if has_default else name)
            value = f"{make}() if {name} is {default} else {name}" if has_factory else name
        elif has_factory or field.default is not dataclasses.MISSING:
            value = f"{make}()" if has_factory else default
        else:
            continue  # set by __post_init__
        lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(one, "__post_init__"):
        lines.append("self.__post_init__()")
    named = ["*", *parameters[True]] if parameters[True] else []
    text = "\n ".join([f"def __init__({', '.join(['self', *parameters[False], *named])}):", *lines, "return"])
    exec(text, scope)  # noqa: S102  as dataclasses do
    made: Any = scope["__init__"]
    made.__qualname__ = f"{one.__qualname__}.__init__"
    return made  # type: ignore[no-any-return]


def _fields(one: type) -> dict[str, tuple[Any, bool]]:
    """Return the fields, and whether they are keyword-only; `dataclasses` makes a class to find that out."""
    found: dict[str, tuple[Any, bool]] = {}
    for plain, options in (_classes[base] for base in reversed(one.__mro__) if base in _classes):
        for name in _named(plain):
            given = vars(plain).get(name, dataclasses.MISSING)
            field = given if isinstance(given, dataclasses.Field) else dataclasses.field(default=given)
            found[name] = field, options["kw_only"] if field.kw_only is dataclasses.MISSING else field.kw_only
    return found


def _named(plain: type) -> list[str]:
    own = vars(plain).get("__annotations__", {})  # not those of a base
    return [name for name, kind in own.items() if not str(kind).startswith("ClassVar")]


def _method(name: str) -> Callable[..., Any]:
    def stand_in(self: object, *arguments: object, **named: object) -> object:
        return _generated(type(self), name)(self, *arguments, **named)

    return stand_in


class _Table:
    """Stands for an attribute of a class, whether it is read from the class or from an instance."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, _: object, owner: type) -> object:
        return _generated(owner, self._name)


FEW = 30
"""Instances whose fields cost together less than to compile an `__init__`: half a million instructions."""


def _first(self: object, *given: object, **named: object) -> None:
    """Set the fields of one of the first instances; `__init__` is compiled for more of them, and for its errors."""
    plan = _plans.get(type(self)) or _planned(type(self))
    if not plan or plan.left <= 0 or not plan.sets(self, given, named):
        _generated(type(self), "__init__")(self, *given, **named)
    elif plan.has_post:
        self.__post_init__()  # type: ignore[attr-defined]


def _planned(asked: type) -> _Plan | None:
    """Return the plan of a class, or of the base whose `__init__` it has; None: it has been compiled meanwhile."""
    for one in asked.__mro__:
        if vars(one).get("__init__") is STAND_INS["__init__"]:
            return _plans.setdefault(asked, _Plan(one))
    return None


class _Plan:
    """What the first instances of a class need: its fields with their defaults, and which of them are given."""

    def __init__(self, one: type) -> None:
        fields = _fields(one)
        self.left = FEW
        self.has_post = hasattr(one, "__post_init__")
        self._set: Callable[..., None] = object.__setattr__ if _classes[one][1]["frozen"] else setattr
        self._fields = [(name, field.default, field.default_factory) for name, (field, _) in fields.items()]
        self._names = {name for name, (field, _) in fields.items() if field.init}
        self._positional = [name for name, (_, kw_only) in fields.items() if name in self._names and not kw_only]
        missing = dataclasses.MISSING
        self._required = {name for name, *both in self._fields if all(one is missing for one in both)} & self._names

    def sets(self, instance: object, given: tuple[object, ...], named: dict[str, object]) -> bool:
        """Set the fields of an instance; return False for arguments that do not fit."""
        values = dict(zip(self._positional, given, strict=False)) | named
        if len(values) != len(given) + len(named) or not self._required <= values.keys() <= self._names:
            return False
        self.left -= 1
        for name, default, make in self._fields:
            if name in values:
                self._set(instance, name, values[name])
            elif make is not dataclasses.MISSING:
                self._set(instance, name, make())
            elif default is not dataclasses.MISSING:
                self._set(instance, name, default)  # else __post_init__ sets it
        return True


_plans: dict[type, _Plan] = {}
"""Of each class that has an instance."""
ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
METHODS = ("__repr__", "__eq__", "__hash__", *ORDER)
TABLES = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
STAND_INS: dict[str, object] = {
    "__init__": _first,
    **{name: _method(name) for name in METHODS},
    **{name: _Table(name) for name in TABLES},
}


def _keep(_: object, name: str, *__: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _state(self: Any) -> list[object]:  # noqa: ANN401  any dataclass
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[object]) -> None:  # noqa: ANN401  as above
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


FROZEN = {"__setattr__": _keep, "__delattr__": _keep, "__getstate__": _state, "__setstate__": _set_state}


def _without(one: type, *names: str) -> dict[str, Any]:
    return {name: value for name, value in vars(one).items() if name not in names}


def _lazy(*, slots: bool = False, **given: bool) -> Callable[[type], type]:
    """Return a decorator; `given` are options of `dataclasses.dataclass`."""
    options = {"repr": True, "eq": True, "order": False, "frozen": False, "kw_only": False} | given
    is_value = options["eq"] and options["frozen"]
    wanted = ["__init__", *TABLES, *(ORDER if options["order"] else ())]
    wanted += [f"__{option}__" for option in ("repr", "eq") if options[option]]
    shared = {name: STAND_INS[name] for name in wanted} | (FROZEN if options["frozen"] else {})

    def decorate(plain: type) -> type:
        of_bases = {name for base in plain.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())}
        fields = _named(plain)
        own = shared | _without(plain, *fields, "__dict__", "__weakref__")
        if is_value and own.get("__hash__") is None:  # as where __eq__ is written
            own["__hash__"] = STAND_INS["__hash__"]
        if slots:
            own["__slots__"] = tuple(name for name in fields if name not in of_bases)
        made = type(plain)(plain.__name__, plain.__bases__, own)
        made.__qualname__ = plain.__qualname__
        _classes[made] = plain, options
        return made

    return decorate


def _first_tuple(asked: Any, *given: object, **named: object) -> Any:  # noqa: ANN401  a named tuple
    """Return the first instance of a named tuple, whose methods are made for it."""
    one = next(one for one in asked.__mro__ if "_fields" in vars(one))
    kept = vars(one).keys() - {"__new__"}
    make: Any = namedtuple  # noqa: PYI024  its fields are known here, and no checker asks for them
    made = make(one.__name__, one._fields, defaults=one._field_defaults.values(), module=one.__module__)
    for name, value in vars(made).items():
        if name not in kept:
            setattr(one, name, value)
    return asked.__new__(asked, *given, **named)


class _NamedTuples(type):
    """Makes a named tuple of each class that derives from NamedTuple."""

    def __new__(cls, name: str, _: tuple[type, ...], body: dict[str, Any]) -> Any:  # noqa: ANN401  a class without a type
        """Return the named tuple, with what its class has beside fields."""
        fields = tuple(body["__annotations__"])
        defaults = {one: body.pop(one) for one in fields if one in body}
        table = {"__slots__": (), "_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
        return type(name, (tuple,), body | table | {"__new__": _first_tuple})


if not TYPE_CHECKING:
    dataclass = _lazy
    NamedTuple = type.__new__(_NamedTuples, "NamedTuple", (), {})
