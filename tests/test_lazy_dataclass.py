"""A lazy dataclass is what dataclasses make of the same class, whatever is asked of it first."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, ClassVar

import pytest

from ldapdiag import lazy_dataclass

KINDS = pytest.mark.parametrize("made_by", [dataclasses.dataclass, lazy_dataclass.dataclass], ids=["eager", "lazy"])


def fact(made_by: Any) -> Any:  # any class
    @made_by(frozen=True, slots=True, kw_only=True)
    class Row:
        """A row."""

        unit: ClassVar[str] = "s"
        name: str
        hosts: tuple[str, ...] = ()
        notes: list[str] = dataclasses.field(default_factory=list, compare=False)

        @property
        def count(self) -> int:
            return len(self.hosts)

    return Row


def counter(made_by: Any) -> Any:
    @made_by(slots=True, order=True)
    class Counter:
        """A counter."""

        of: str
        count: int = 0
        doubled: int = dataclasses.field(init=False, repr=False)
        seen: int = dataclasses.field(init=False, default=3)
        last: str = dataclasses.field(kw_only=True, default="")

        def __post_init__(self) -> None:
            self.doubled = 2 * self.count

    return Counter


@lazy_dataclass.dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """A fact that is copied before anything is asked of it."""

    name: str


@KINDS
def test_a_fact_is_a_frozen_value(made_by):
    row = fact(made_by)
    one = row(name="a", hosts=("x",))
    assert one == row(name="a", hosts=("x",), notes=["other"])
    assert one != row(name="b", hosts=("x",))
    assert hash(one) == hash(("a", ("x",)))
    assert repr(one) == "fact.<locals>.Row(name='a', hosts=('x',), notes=[])"
    assert (one.count, one.unit, row.__slots__) == (1, "s", ("name", "hosts", "notes"))
    assert dataclasses.replace(one, name="c").name == "c"
    assert dataclasses.asdict(one) == {"name": "a", "hosts": ("x",), "notes": []}
    assert row(name="a").notes is not row(name="a").notes
    for change in (lambda: setattr(one, "name", "d"), lambda: delattr(one, "name")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()


@KINDS
def test_a_counter_changes_and_has_an_order(made_by):
    kind = counter(made_by)
    one = kind("a", 2, last="z")
    assert (one.doubled, one.seen, one.last) == (4, 3, "z")
    one.count += 1
    assert repr(one) == "counter.<locals>.Counter(of='a', count=3, seen=3, last='z')"
    assert kind("a", 1) < one <= copy.copy(one)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@KINDS
@pytest.mark.parametrize("arguments", [((), {}), (("a",), {}), ((), {"name": "a", "other": 1})])
def test_wrong_arguments_are_errors(made_by, arguments):
    given, named = arguments
    with pytest.raises(TypeError, match=r"Row\.__init__\(\)"):
        fact(made_by)(*given, **named)


@KINDS
def test_fields_and_patterns_are_known_before_the_first_instance(made_by):
    assert [field.name for field in dataclasses.fields(fact(made_by))] == ["name", "hosts", "notes"]
    assert dataclasses.is_dataclass(fact(made_by))
    assert counter(made_by).__match_args__ == ("of", "count")


@KINDS
def test_a_fact_inherits_fields_and_replaces_methods(made_by):
    @made_by(frozen=True, slots=True, kw_only=True)
    class More(fact(made_by)):  # noqa: PLW1641  its hash is that of the fields
        """More."""

        size: int = 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, More) and self.size == other.size

        def __repr__(self) -> str:
            return "More"

    one = More(name="a", size=2)
    assert (one, one.hosts, repr(one)) == (More(name="b", size=2), (), "More")
    assert More.__slots__ == ("size",)
    assert hash(one) == hash(("a", (), 2))


@KINDS
def test_a_fact_without_fields_of_its_own_has_those_of_its_base(made_by):
    @made_by(frozen=True, slots=True, kw_only=True)
    class Same(fact(made_by)):
        """The same."""

    assert (Same(name="a").hosts, Same.__slots__) == ((), ())


def test_a_copy_is_a_value_before_any_method_was_generated():
    """A worker sends facts to a process that has made none."""
    first, second = (object.__new__(Copied) for _ in range(2))
    for one in (first, second):
        one.__setstate__(["a"])  # as unpickling does
    assert lazy_dataclass.STAND_INS["__eq__"] is vars(Copied)["__eq__"]
    assert (first, len({first, second})) == (second, 1)
    assert pickle.loads(pickle.dumps(first)) == Copied(name="a")  # noqa: S301  made here


def test_threads_that_are_first_at_once_get_the_same_class():
    row = fact(lazy_dataclass.dataclass)
    with ThreadPoolExecutor(8) as threads:
        made = set(threads.map(lambda _: row(name="a", hosts=()), range(64)))
    assert len(made) == 1


def pair(made_by: Any) -> Any:
    class Pair(made_by):
        """Two."""

        first: int | None
        second: tuple[str, ...] = ()

        @property
        def both(self) -> tuple[Any, ...]:
            return (self.first, *self.second)

    return Pair


@pytest.mark.parametrize("made_by", [typing.NamedTuple, lazy_dataclass.NamedTuple], ids=["eager", "lazy"])
def test_a_named_tuple_is_a_tuple_with_names_and_defaults(made_by):
    kind = pair(made_by)
    one = kind(1, second=("a",))
    assert (one, one.both, one._replace(first=2), kind(1)) == ((1, ("a",)), (1, "a"), (2, ("a",)), (1, ()))
    assert (kind._fields, kind._field_defaults) == (("first", "second"), {"second": ()})
    assert repr(one) == "Pair(first=1, second=('a',))"
    assert (kind.__name__, kind.__module__, kind.__doc__, kind.__mro__) == (
        "Pair",
        __name__,
        "Two.",
        (kind, tuple, object),
    )
    assert typing.get_type_hints(kind) == {"first": int | None, "second": tuple[str, ...]}
    assert not hasattr(one, "__dict__")
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'first'"):
        kind(second=())


def test_annotations_of_a_named_tuple_are_not_compiled(monkeypatch):
    monkeypatch.setattr(typing.ForwardRef, "__init__", lambda *_: pytest.fail("compiled"))
    assert pair(lazy_dataclass.NamedTuple)(1).first == 1


@KINDS
@pytest.mark.parametrize("number", [lazy_dataclass.FEW - 1, 2 * lazy_dataclass.FEW])
def test_the_first_instances_are_like_the_later_ones(made_by, number):
    """The fields of the first are set one by one, by a method of all classes."""
    row, kind = fact(made_by), counter(made_by)
    rows = [row(name="a", hosts=("x",) * at) for at in range(number)]
    kinds = [kind("a", at) if at % 2 else kind(count=at, of="a") for at in range(number)]
    assert [(one.name, one.count, one.notes) for one in rows] == [("a", at, []) for at in range(number)]
    assert len({id(one.notes) for one in rows}) == number
    assert [(one.of, one.count, one.doubled, one.seen, one.last) for one in kinds] == [
        ("a", at, 2 * at, 3, "") for at in range(number)
    ]
    for arguments in ((), ("a", 1, "z"), ("a", 1, 2, 3, 4)):
        with pytest.raises(TypeError, match=r"Counter\.__init__\(\)"):
            kind(*arguments)
    with pytest.raises(TypeError, match="multiple values for argument 'of'"):
        kind("a", of="b")


def test_a_class_that_is_not_used_has_no_generated_method():
    kind = fact(lazy_dataclass.dataclass)
    assert {name for name, one in lazy_dataclass.STAND_INS.items() if vars(kind).get(name) is one} == {
        "__init__",
        "__repr__",
        "__eq__",
        "__hash__",
        *lazy_dataclass.TABLES,
    }


@KINDS
def test_a_class_without_slots_keeps_what_it_computes(made_by):
    @made_by(frozen=True)
    class Ranked:
        """A ranking."""

        rows: tuple[int, ...]

        @cached_property
        def first(self) -> int:
            return max(self.rows)

    one = Ranked((1, 3))
    assert (one.first, vars(one)["first"], one) == (3, 3, Ranked((1, 3)))
