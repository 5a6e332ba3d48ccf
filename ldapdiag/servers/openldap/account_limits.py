"""Which `limits` slapd applies to an account: those of the first rule that matches, and nothing of the later ones.

    {0}group/groupOfNames/member="cn=…"   the group is an entry of the directory: not judged
    {1}dn.regex="^uid=[^,]+,ou=…"         compared where it means the same in every dialect, else not judged
    {2}dn.this.subtree="ou=…"             the base of the search
    {3}users size.unchecked=300           and `size` as in olcSizeLimit of the database

Sources: slapd.conf(5); servers/slapd/limits.c. Compared with 2.5.13 rule by rule.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.indexes.slapd_limits import (
    ANONYMOUS,
    ANYONE,
    GROUP,
    NO_PAGES,
    PAGES_IN_TOTAL,
    UNLIMITED,
    UNREADABLE,
    USERS,
    limits_of,
)
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import is_distinguished_name
from ldapdiag.servers.indexes.applied_limits import AppliedLimits
from ldapdiag.wording import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.evidence.indexes.slapd_limits import AccountLimits, LimitsRule

CANDIDATES, PAGE = "size.unchecked", "size.pr"
TIME, LONGEST_TIME = "time.soft", "time.hard"
SHOWN = 120
"""Characters of a selector."""
COMPARED = pattern(r"\^?(?:[A-Za-z0-9=,_@ -]|\\[.+*?()]|(?:\.|\[\^,\]|\[a-z0-9\]|\[0-9\])[*+?]?){1,200}\$?")
"""Regular expressions without groups and alternatives."""
MOST_REPEATS, LONGEST_NAME = 3, 256
"""Above, a hostile expression could take long."""
UNLESS = ". A later rule matches, too: it applies if this one was added since slapd started"
"""slapd compares a rule that is added at run time after all others (2.5.13)."""
BY_CLIENT = "the client asked for one"
UNCERTAIN = ("\\", "+", '"')
"""In a DN: slapd may normalise it in a way that is not known here."""


def applied_limits(
    configuration: IndexConfiguration,  # noqa: ARG001  part of the interface
    backend: Backend,
    account: str,
    base: str,
) -> AppliedLimits | None:
    """Return the limits of searches by an account (`anonymous` without one); None: the rules are not known."""
    limits = backend.account_limits
    if limits is None or not (account == ANONYMOUS or is_distinguished_name(account)):
        return None
    where = f"the limits of {backend.name}"
    name = "" if account == ANONYMOUS else comparable(account)
    if name and name == comparable(limits.unlimited):
        none = f"{where} do not apply to {account}, its rootdn"
        return AppliedLimits(rule=none, time=f"{none}: {BY_CLIENT}")
    for place, rule in enumerate(limits.rules):
        matched = _matches(rule, name, comparable(base))
        shown = f"rule {{{place}}} of {where} ({rule.selector[:SHOWN]})"
        if matched is None:
            return AppliedLimits(rule=f"{shown} may come first, and {_why(rule)}", known=False)
        if matched:
            others = [one for one in limits.rules[place + 1 :] if _matches(one, name, comparable(base)) is not False]
            applied = _of_rule(f"{shown} applies to {account}", account, limits, rule)
            unless = UNLESS if others else ""
            time = f"{applied.time}{unless}" if applied.time else ""
            return replace(applied, rule=f"{applied.rule}{unless}", time=time, certain=not others)
    return _applied(f"no rule of {where} matches {account}", account, (*limits.inherited, *limits.default))


def _of_rule(shown: str, account: str, limits: AccountLimits, rule: LimitsRule) -> AppliedLimits:
    default, own = limits_of(limits.default), limits_of(rule.settings)
    why = "of the database depends on which was set first"
    applied = _applied(shown, account, limits.inherited, rule.settings)
    if TIME in default and TIME not in own:
        applied = replace(applied, time=f"{shown}; whether it has the time limit {why}")
    if CANDIDATES in default and CANDIDATES not in own:
        return AppliedLimits(rule=f"{shown}, and whether it has the {CANDIDATES} {why}", known=False, time=applied.time)
    return applied


def _applied(rule: str, account: str, default: Sequence[str], own: Sequence[str] = ()) -> AppliedLimits:
    found = limits_of((*default, *own))
    candidates = found.get(CANDIDATES, UNLIMITED)
    shown = "no limit" if candidates == UNLIMITED else "disabled" if candidates == 0 else number(candidates)
    kept = [one for one in own if not one.lower().startswith(CANDIDATES)]
    selector = f'{{0}}dn.exact="{account}"'
    return AppliedLimits(
        rule=f"{rule}; its {CANDIDATES} is {shown}",
        time=_time(rule, found),
        candidates=None if candidates == UNLIMITED else candidates,
        refuses_pages=found.get(PAGES_IN_TOTAL) == NO_PAGES or found.get(PAGE, 0) > 0,
        own_rule=""
        if account == ANONYMOUS or any(one in account for one in UNCERTAIN)
        else " ".join([selector, *kept, f"{CANDIDATES}="]),
    )


def _time(rule: str, found: Mapping[str, int]) -> str:
    """Return the time limit in words; empty where none is configured: an earlier collection lacks olcTimeLimit."""
    soft, hard = found.get(TIME, 0), found.get(LONGEST_TIME, 0)
    if soft == UNLIMITED:
        return f"{rule}; it has no time limit: {BY_CLIENT}"
    if soft <= 0:
        return ""
    longer = "" if hard in {0, soft} else ", and longer for clients that ask for it"
    return f"{rule}; its time limit is {number(soft)} s{longer}"


def _why(rule: LimitsRule) -> str:
    if rule.style == GROUP:
        return "whether the account is a member of the group is not in the evidence"
    return "whether it matches the account is not judged"


def _matches(rule: LimitsRule, account: str, base: str) -> bool | None:
    """Return whether a rule applies; None: not judged."""
    if rule.style == UNREADABLE:
        return None
    if rule.style == ANYONE:
        return True
    if rule.style == ANONYMOUS:
        return not account
    if not (account or rule.of_base):
        return False
    if rule.style == USERS:
        return True
    name = base if rule.of_base else account
    return _matches_expression(rule.pattern, name) if rule.style == "regex" else _matches_name(rule, name)


def _matches_expression(expression: str, name: str) -> bool | None:
    repeats = sum(map(expression.count, "*+?"))
    uncertain = len(name) > LONGEST_NAME or any(one in name for one in UNCERTAIN)
    if COMPARED.fullmatch(expression) is None or repeats > MOST_REPEATS or uncertain:
        return None
    return re.search(expression, name, re.IGNORECASE) is not None


def _matches_name(rule: LimitsRule, name: str) -> bool | None:
    wanted = comparable(rule.pattern)
    if rule.style not in BELOW or any(one in text for one in UNCERTAIN for text in (wanted, name)):
        return None
    if not wanted:  # matches the root DSE alone: a separator must precede the pattern (limits.c)
        return not name
    names, parts = (text.split(",") if text else [] for text in (name, wanted))
    least, most = BELOW[rule.style]
    below = len(names) - len(parts)
    if below < least or (most is not None and below > most):
        return False
    pairs = [(one.partition("="), other.partition("=")) for one, other in zip(names[below:], parts, strict=True)]
    if any(one[2] != other[2] for one, other in pairs):
        return False
    # `userid` and `uid`, or an OID: two names of one attribute type.
    return True if all(one[0] == other[0] for one, other in pairs) else None


BELOW: dict[str, tuple[int, int | None]] = {"exact": (0, 0), "one": (1, 1), "subtree": (0, None), "children": (1, None)}
"""By style: how many parts longer than the pattern a DN is, at least and at most; None: any number."""
