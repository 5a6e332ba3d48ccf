"""The settings of a check: what a site may set otherwise in its configuration.

    hours_left: Annotated[float, Threshold("h", "less left is critical")] = 24

is a keyword-only parameter of a check. Thresholds of one quantity for several severities have names that begin with the
severity: `critical_percent`, `high_percent`. They keep the order that their defaults have.

Settings that several checks share are the fields of a NamedTuple, which is one parameter with its defaults:

    limits: CostLimits = COST_LIMITS
"""

from __future__ import annotations

import math
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from ldapdiag.errors import UsageError
from ldapdiag.exempt_accounts import ExemptAccounts, exempt_accounts
from ldapdiag.finding import Severity
from ldapdiag.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Value = float | int | ExemptAccounts
LARGEST = 1e15
"""Of all settings: beyond it a float has no whole numbers any more, and TOML has integers of any size."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """What a number of a check means, its unit (empty: a plain count), and the range that it may have."""

    unit: str
    meaning: str
    least: float = 0
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class Exempt:
    """What a check leaves out of the accounts that a site has exempted."""

    meaning: str


@dataclass(frozen=True, slots=True)
class CheckSetting:
    """One setting of a check: its name, its default, and what it means."""

    name: str
    default: Value
    meaning: str
    unit: str = ""
    least: float = 0
    most: float = math.inf

    def read(self, value: object) -> Value:
        """Return a value of a configuration. Raises UsageError if it is of another kind or out of range."""
        if isinstance(self.default, ExemptAccounts):
            if not isinstance(value, list | tuple):
                raise UsageError(f"{self.name} is {value!r}; it needs a list of distinguished names")
            return exempt_accounts(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124  not a number
            raise UsageError(f"{self.name} is {value!r}; it needs a number{self._of_unit}")
        if not self.least <= value <= min(self.most, LARGEST):
            shown = f"{value:.6g}" if abs(value) < LARGEST else "too large"
            raise UsageError(f"{self.name} is {shown}; it needs a number{self._of_unit} {self.range}")
        if isinstance(self.default, int) and value != int(value):
            raise UsageError(f"{self.name} is {value!r}; it needs a whole number{self._of_unit}")
        return type(self.default)(value)

    @property
    def range(self) -> str:
        """Return the range of a number, as in `from 0 to 100`."""
        return f"from {self.least:g} on" if math.isinf(self.most) else f"from {self.least:g} to {self.most:g}"

    @property
    def _of_unit(self) -> str:
        return f" ({self.unit})" if self.unit else ""

    def shown(self, value: Value) -> str:
        """Return a value with its unit, as in `24 h`."""
        if isinstance(value, ExemptAccounts):
            return ", ".join(value.accounts) or "none"
        return f"{value:,.15g}{f' {self.unit}' if self.unit else ''}"


def settings_of(function: Callable[..., object]) -> tuple[CheckSetting, ...]:
    """Return the settings of a check: its keyword-only parameters. Raises TypeError for any other form."""
    return tuple(_setting(parameter, hint) for parameter, hint in _parameters(function))


def _parameters(function: Callable[..., object]) -> Iterator[tuple[Parameter, Any]]:
    """Yield the parameters of a check that are settings, and the fields of those that are groups of settings."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in signature(function).parameters.items():
        if is_group(parameter):
            fields = get_type_hints(type(parameter.default), include_extras=True)
            for field, default in parameter.default._asdict().items():
                yield Parameter(field, parameter.kind, default=default), fields[field]
        elif get_origin(hints.get(name)) is Annotated:
            yield parameter, hints[name]


def is_group(parameter: Parameter) -> bool:
    """Return whether a parameter of a check is a group of settings, by its default."""
    return hasattr(parameter.default, "_fields")


def arguments_of(function: Callable[..., object], values: Mapping[str, Value]) -> dict[str, Any]:
    """Return values of settings as arguments of a check: those of a group as the group."""
    groups = {name: one.default for name, one in signature(function).parameters.items() if is_group(one)}
    arguments: dict[str, Any] = {
        name: group._replace(**{field: values[field] for field in group._fields if field in values})
        for name, group in groups.items()
    }
    grouped = {field for group in groups.values() for field in group._fields}
    return arguments | {name: value for name, value in values.items() if name not in grouped}


def _setting(parameter: Parameter, hint: Any) -> CheckSetting:  # noqa: ANN401  an annotation, whatever it is
    kind, about = get_args(hint)[:2] if get_origin(hint) is Annotated else (object, None)
    if parameter.kind is not Parameter.KEYWORD_ONLY or not isinstance(parameter.default, kind):
        raise TypeError(f"parameter {parameter.name}: a setting is keyword-only, with a default that is its {kind}")
    match about:
        case Threshold(unit, meaning, least, most) if kind in {int, float}:
            return CheckSetting(parameter.name, parameter.default, meaning, unit, least, most)
        case Exempt(meaning) if kind is ExemptAccounts:
            return CheckSetting(parameter.name, parameter.default, meaning)
        case _:
            raise TypeError(f"parameter {parameter.name}: a number with a Threshold, or ExemptAccounts with Exempt")


def ladders(settings: Sequence[CheckSetting]) -> Iterator[tuple[CheckSetting, CheckSetting]]:
    """Yield thresholds of one quantity for two severities, the higher severity first: `critical_x`, then `high_x`."""
    steps = {(severity, quantity): setting for setting in settings for severity, quantity in _step(setting)}
    for (severity, quantity), one in steps.items():
        lower = ((other, step) for (other, what), step in steps.items() if what == quantity and other < severity)
        below = max(lower, key=lambda pair: pair[0], default=None)
        if below is not None:
            yield one, below[1]


def _step(setting: CheckSetting) -> Iterator[tuple[Severity, str]]:
    name, _, quantity = setting.name.partition("_")
    if name.upper() in Severity.__members__ and quantity:
        yield Severity[name.upper()], quantity


def require_order(settings: Sequence[CheckSetting], values: Mapping[str, Value]) -> None:
    """Raise UsageError for values by which a finding would have a higher severity before it has the lower one."""
    for higher, lower in ladders(settings):
        first, second = (values.get(one.name, one.default) for one in (higher, lower))
        grows = higher.default >= lower.default  # type: ignore[operator]  # both are numbers
        if first != second and (first > second) is not grows:  # type: ignore[operator]
            raise UsageError(
                f"{lower.name} ({lower.shown(second)}) is stricter than {higher.name} ({higher.shown(first)})"
            )
