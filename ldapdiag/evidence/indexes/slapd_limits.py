"""Limits of slapd: the arguments of `limits` in slapd.conf and the values of olcLimits, one rule for each.

    dn.subtree="ou=people,dc=example,dc=com" size.soft=500 size.unchecked=20000
    group/groupOfNames/member="cn=admins,dc=example,dc=com" size=unlimited
    dn.this.exact="dc=example,dc=com" time=10
    users size.unchecked=5000

A limit that a rule does not name is that of sizelimit or timelimit, olcSizeLimit or olcTimeLimit. Sources:
slapd.conf(5); servers/slapd/limits.c.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ANYONE, ANONYMOUS, USERS, GROUP, UNREADABLE = "*", "anonymous", "users", "group", "?"
"""Selectors without a style; any other is one of STYLES."""
STYLES = {"exact": "exact", "base": "exact", "one": "one", "onelevel": "one", "sub": "subtree", "subtree": "subtree"}
STYLES |= {"children": "children", "regex": "regex"}
SELECTOR = pattern(r"dn(?:\.(?P<type>self|this))?(?:\.(?P<style>[a-z]+))?(?:=(?P<pattern>.*))?", re.IGNORECASE)
SETTING = pattern(r"(?P<name>(?:size|time)(?:\.[a-z]+)?)=(?P<value>-1|\d{1,10}|[a-z]+)", re.IGNORECASE)
WORD = pattern(r'(?:"(?:[^"\\]|\\.)*"|\\.|[^\s"\\])+')
PLACE = pattern(r"\A\s*\{\d{1,6}\}")
UNLIMITED = -1
VALUES = {"unlimited": UNLIMITED, "none": UNLIMITED, "soft": 0, "hard": 0, "disabled": 0}
NO_PAGES = -2
PAGES_IN_TOTAL = "size.prtotal"
BOTH = frozenset({"size", "time"})
MOST_RULES, LONGEST_RULE = 1000, 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsRule:
    """Limits of the accounts, or bases, that a selector names."""

    selector: str
    """As written, without quotes."""
    style: str
    """*, anonymous, users, group, exact, one, subtree, children, regex; ?: not understood."""
    pattern: str = ""
    of_base: bool = False
    """It names the base of the search in place of the account (dn.this)."""
    settings: tuple[str, ...] = ()
    """As written: size.unchecked=300."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLimits:
    """All that decides the limits of an account in one database of slapd."""

    rules: tuple[LimitsRule, ...] = ()
    """The first one that matches applies."""
    inherited: tuple[str, ...] = ()
    """Settings of all databases (frontend), and of the rules that do not name them."""
    default: tuple[str, ...] = ()
    """Settings of this database. Whether a rule that does not name them has them depends on which was set first: at a
    start, slapd reads olcLimits before olcSizeLimit and olcTimeLimit."""
    unlimited: str = ""
    """The account without limits (rootdn)."""


def limits_rule(line: str) -> LimitsRule:
    """Read one line; a value of olcLimits may begin with its place in braces."""
    words = [_unquoted(word) for word in WORD.findall(PLACE.sub("", line[:LONGEST_RULE], count=1))]
    selector, *settings = words or [""]
    style, of_base, text = _selected(selector)
    readable = len(line) <= LONGEST_RULE and bool(settings) and selector.isprintable()
    return LimitsRule(
        selector=selector if selector.isprintable() else "not printable",
        style=style if readable else UNREADABLE, pattern=text, of_base=of_base,
        settings=tuple(one for one in settings if SETTING.fullmatch(one)),
    )  # fmt: skip


def default_settings(line: str, kind: str = "size") -> tuple[str, ...]:
    """Read the arguments of sizelimit or timelimit, or a value of olcSizeLimit or olcTimeLimit.

    `kind` is what a number alone limits: size or time.
    """
    words = [word if "=" in word else f"{kind}={word}" for word in line.split()]
    return tuple(word for word in words if SETTING.fullmatch(word))


def limits_of(settings: tuple[str, ...]) -> Mapping[str, int]:
    """Return the limits that settings give, the later ones first; -1: none. A hard limit of 0 is the soft one."""
    return {name: value for setting in settings for name, value in _numbers(setting)}


def _selected(selector: str) -> tuple[str, bool, str]:
    """Return the style, whether it is about the base, and the pattern."""
    if selector.lower() in {ANYONE, ANONYMOUS, USERS}:
        return selector.lower(), False, ""
    if selector.lower().startswith(GROUP):
        return GROUP, False, ""
    if not selector.lower().startswith("dn"):
        return "exact", False, selector
    found = SELECTOR.fullmatch(selector)
    style = (found["style"] or "exact").lower() if found else ""
    if found is None or (style != ANONYMOUS and (style not in STYLES or found["pattern"] is None)):
        return UNREADABLE, False, ""
    if style == ANONYMOUS:
        return ANONYMOUS, False, ""
    everything = found["pattern"] == "*" or (style == "regex" and found["pattern"] == ".*")
    of_base = (found["type"] or "").lower() == "this"
    return (ANYONE, False, "") if everything else (STYLES[style], of_base, found["pattern"])


def _numbers(setting: str) -> Iterator[tuple[str, int]]:
    found = SETTING.fullmatch(setting)
    name, value = (found["name"].lower(), found["value"].lower()) if found else ("", "")
    if name == PAGES_IN_TOTAL and value == "disabled":
        yield name, NO_PAGES
    elif value in VALUES or value.lstrip("-").isdigit():
        number = VALUES[value] if value in VALUES else int(value)
        yield from ((f"{name}.soft", number), (f"{name}.hard", 0)) if name in BOTH else ((name, number),)


def _unquoted(word: str) -> str:
    return "".join(part[1:] if part[0] == "\\" else part for part in re.findall(r'\\.|[^"]', word))
