"""What was not judged: by the evidence that would change it, and in full by reason, many subjects in one line."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.wording import counted, duration, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Verdict = Mapping[str, Any]

FEW = 3
"""Reasons that differ only in names and numbers are printed one by one up to this many; also the names in a group."""

WORD = pattern(r"[^\s,;()]+")
VARIES = pattern(r"\d|::")
"""In a word that may differ between subjects: a number, an address, a name or path with a digit."""


@dataclass(slots=True)
class Reason:
    """One reason, and what was not judged because of it."""

    text: str
    how: str | None
    checks: dict[str, None]
    """In order."""
    subjects: dict[str, None]
    """In order."""

    @property
    def pattern(self) -> tuple[tuple[str, ...], str, str]:
        """Return what alike reasons have in common: the checks, and the texts without names and numbers."""
        names = _names(self.subjects)
        return tuple(self.checks), _pattern(self.text, names), _pattern(self.how or "", names)


@dataclass(frozen=True, slots=True)
class Group:
    """Reasons that are alike, as one line and one instruction."""

    text: str
    how: str | None


@dataclass(frozen=True, slots=True)
class Lack:
    """One kind of evidence that is lacking, and the checks that would judge with it."""

    missing: tuple[str, ...]
    """The kinds of evidence, where the verdicts name them."""
    reason: str
    """The commonest reason of these verdicts."""
    how: str | None
    checks: tuple[str, ...]
    alike: int
    """Further reasons that differ from it only in names and numbers."""


def lacks_of(verdicts: Iterable[Verdict], *, reasons_apart: bool = False) -> list[Lack]:
    """Return what is lacking, that of the most checks first, each reason once.

    Verdicts that name no kind go by how to collect it; with `reasons_apart`, so do all.
    """
    lacks: dict[object, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict["outcome"] == "not-judged":
            names = _names([verdict["subject"] or ""])
            unnamed = _pattern(verdict["how"] or verdict["reason"], names)
            why = _pattern(verdict["reason"], names) if reasons_apart else ""
            lacks[(why, unnamed) if reasons_apart else tuple(verdict["missing"]) or unnamed].append(verdict)
    by_reason: dict[str, Lack] = {}
    for lack in sorted(map(_lack, lacks.values()), key=lambda lack: -len(lack.checks)):
        known = by_reason.get(lack.reason)
        by_reason[lack.reason] = lack if known is None else _joined(known, lack)
    return sorted(by_reason.values(), key=lambda lack: -len(lack.checks))


def _joined(first: Lack, other: Lack) -> Lack:
    """Return two of one reason as one: the verdicts of some checks lack more kinds of evidence than those of others."""
    return replace(
        first,
        missing=tuple(dict.fromkeys((*first.missing, *other.missing))),
        how=first.how or other.how,
        checks=tuple(dict.fromkeys((*first.checks, *other.checks))),
        alike=max(first.alike, other.alike),
    )


def _lack(verdicts: list[Verdict]) -> Lack:
    reasons: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        reasons[verdict["reason"]].append(verdict)
    patterns = {reason: _pattern(reason, _names(one["subject"] or "" for one in of)) for reason, of in reasons.items()}
    alike = Counter(patterns.values())
    by_pattern = Counter(patterns[one["reason"]] for one in verdicts)
    reason = max(reasons, key=lambda one: (by_pattern[patterns[one]], len(reasons[one])))
    return Lack(
        missing=tuple(verdicts[0]["missing"]),
        reason=reason,
        how=reasons[reason][0]["how"],
        checks=tuple(dict.fromkeys(one["check"] for one in verdicts)),
        alike=alike[patterns[reason]] - 1,
    )


def groups_of(verdicts: Iterable[Verdict], *, names: int = FEW) -> Iterator[Group]:
    """Yield every reason once, and many alike as one with the number of subjects and at most `names` of them."""
    alike: dict[tuple[tuple[str, ...], str, str], list[Reason]] = defaultdict(list)
    for reason in _reasons(verdicts):
        alike[reason.pattern].append(reason)
    for reasons in alike.values():
        if len(reasons) > FEW:
            yield _group(reasons, names)
        else:
            yield from (Group(f"{', '.join(one.checks)}: {one.text}", one.how) for one in reasons)


def _reasons(verdicts: Iterable[Verdict]) -> Iterable[Reason]:
    reasons: dict[tuple[str, str | None], Reason] = {}
    for verdict in verdicts:
        if verdict["outcome"] == "not-judged":
            text, how = verdict["reason"], verdict["how"]
            reason = reasons.setdefault((text, how), Reason(text, how, {}, {}))
            reason.checks[verdict["check"]] = None
            if verdict["subject"]:
                reason.subjects[verdict["subject"]] = None
    return reasons.values()


def _group(reasons: list[Reason], names: int) -> Group:
    first = reasons[0]
    subjects = list(dict.fromkeys(subject for reason in reasons for subject in reason.subjects))
    more = f" and {len(subjects) - names:,} more" if len(subjects) > names else ""
    named = f"{', '.join(subjects[:names])}{more}"
    return Group(f"{', '.join(first.checks)}: {len(subjects):,} subjects ({named}), the first: {first.text}", first.how)


def _names(subjects: Iterable[str]) -> set[str]:
    """Return the words of subjects that are names."""
    return {word for subject in subjects for word in subject.split()} - {"->", "at", "of"}


def unjudged_share(plan: Mapping[str, Any]) -> float:
    """Return the share of the searches of an index plan that were not judged: of their number or time, the larger."""
    lacking = plan["unjudged"]
    pairs = ((lacking[one], lacking[f"of_{one}"]) for one in ("searches", "etime_seconds"))
    return max((part / whole for part, whole in pairs if whole), default=0.0)


def unjudged_part(plan: Mapping[str, Any]) -> str:
    """Return the same in words: `90 of 100 searches (160 s of 163 s) not judged`; empty: all were."""
    lacking = plan["unjudged"]
    took = f" ({duration(lacking['etime_seconds'])} of {duration(lacking['of_etime_seconds'])})"
    many = f"{number(lacking['searches'])} of {counted(lacking['of_searches'], 'search', 'searches')}"
    return f"{many}{took if lacking['of_etime_seconds'] else ''} not judged" if lacking["searches"] else ""


def _pattern(text: str, names: Iterable[str]) -> str:
    """Return a text without its numbers, and without the names of its subject."""
    for name in sorted(names, key=len, reverse=True):  # one may be a part of another
        text = text.replace(name, "#")
    return WORD.sub(lambda found: "#" if VARIES.search(found[0]) else found[0], text)
