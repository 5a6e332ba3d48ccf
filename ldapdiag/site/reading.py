"""Read the parsed ldapdiag.toml. Nothing is ignored: each error names the file, the key and what is expected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from ldapdiag.errors import UsageError
from ldapdiag.finding import Severity
from ldapdiag.lazy_pattern import pattern
from ldapdiag.site.configuration import AcceptedFinding, SiteConfiguration, SiteTarget
from ldapdiag.site.keys import ACCEPTED, CHECK, DEFAULTS, SECTIONS, TARGET, TOP, Key
from ldapdiag.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

LONGEST_ACCEPTANCE = timedelta(days=400)
TARGET_NAME = pattern(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
SECRET = pattern(r"(?i)passw(?:or)?d|passphrase|secret|(?:^|_)pw(?:$|_)")
SECRET_IN_URL = pattern(r"[a-z0-9+]+://[^/@\s]*:[^/@\s]*@", re.IGNORECASE)
SHOWN = 60
"""Characters of a key that an error shows."""


def read_configuration(
    parsed: Mapping[str, Any], *, path: str, sha256: str, today: date, checks: Iterable[str]
) -> SiteConfiguration:
    """Return the configuration that a parsed file contains; `checks` are the ids of the installed checks.

    Raises UsageError for the first key or value that is not as the model demands.
    """
    return _Reading(path, today, tuple(checks)).read(parsed, sha256)


class _Reading:
    """One file that is read, with what its errors name."""

    def __init__(self, path: str, today: date, checks: tuple[str, ...]) -> None:
        self._path = path
        self._today = today
        self._checks = checks

    def read(self, parsed: Mapping[str, Any], sha256: str) -> SiteConfiguration:
        sections = tuple(dict.fromkeys(name.partition(".")[0] for name in SECTIONS if name))
        self._take({key: value for key, value in parsed.items() if key not in sections}, TOP, "", beside=sections)
        defaults = self._take(self._section(parsed, "defaults"), DEFAULTS, "defaults")
        targets = self._targets(self._section(parsed, "targets"))
        if (target := defaults.get("target")) is not None and target not in targets:
            known = f"the file has no target {target!r}.{did_you_mean(target, targets)}".removesuffix(".")
            self._fail("defaults.target", known)
        settings, disabled = self._judged(self._section(parsed, "checks"))
        return SiteConfiguration(
            path=self._path,
            sha256=sha256,
            target=target,
            fail_on=defaults.get("fail_on"),
            targets=targets,
            check_settings=settings,
            disabled=disabled,
            accepted=self._accepted(parsed.get("accepted", [])),
        )

    def _fail(self, where: str, problem: str) -> NoReturn:
        raise UsageError(f"{self._path}: {f'{where}: ' if where else ''}{problem}")

    def _section(self, parsed: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        found = parsed.get(name, {})
        return found if isinstance(found, Mapping) else self._fail(name, f"a section is expected: [{name}]")

    def _take(
        self, section: Mapping[str, Any], keys: tuple[Key, ...], where: str, beside: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Return the values of a section by key; `beside` are names that it may have, too."""
        known = {key.name: key for key in keys}
        for name, value in section.items():
            at = _joined(where, name)
            if name not in known:
                self._fail_unknown(name, at, (*known, *beside))
            if not known[name].takes(value):
                self._fail(at, f"expected {known[name].expected}, found {_kind_of(value, known[name].choices)}")
        for key in keys:
            if key.required and key.name not in section:
                self._fail(where, f"the key {key.name} is missing ({key.expected}): {key.meaning}")
        return {name: known[name].read(value) if name in known else value for name, value in section.items()}

    def _fail_unknown(self, name: str, at: str, known: tuple[str, ...]) -> NoReturn:
        if SECRET.search(name) and name.casefold() != "password_file":
            self._fail(at, "this file must not contain a password; write it to a file of mode 0600: password_file")
        if name == "insecure":
            self._fail(at, "the verification of certificates can be switched off on the command line only")
        self._fail(at, f"unknown key; known are {', '.join(known)}.{did_you_mean(name, known)}".removesuffix("."))

    def _targets(self, section: Mapping[str, Any]) -> dict[str, SiteTarget]:
        targets = {}
        for name, found in section.items():
            at = _joined("targets", name)
            if not TARGET_NAME.fullmatch(name):
                self._fail(at, "the name of a target has letters, digits, and - _ . after the first character")
            if not isinstance(found, Mapping):
                self._fail(at, f"a section is expected: [targets.{name}]")
            values = self._take(found, TARGET, at)
            evidence = tuple(values.pop("evidence"))
            for one in evidence:
                self._check_evidence(one, _joined(at, "evidence"))
            targets[name] = SiteTarget(name=name, evidence=evidence, options=values)
        return targets

    def _check_evidence(self, evidence: str, at: str) -> None:
        if SECRET_IN_URL.match(evidence):
            self._fail(at, "this file must not contain a password; remove it from the URL")
        if evidence == "-":
            self._fail(at, "standard input cannot be named in a file; name - on the command line")
        if evidence.startswith("@"):
            self._fail(at, "a target cannot name another target; list its evidence")

    def _judged(self, section: Mapping[str, Any]) -> tuple[dict[str, Mapping[str, object]], dict[str, str]]:
        """Return the settings and the reasons of disabled checks, by check id."""
        settings: dict[str, Mapping[str, object]] = {}
        disabled: dict[str, str] = {}
        shared = {key.name for key in CHECK}
        for name, found in section.items():
            at = _joined("checks", name)
            self._check_id(name, at)
            if not isinstance(found, Mapping):
                self._fail(at, f"a section is expected: [checks.{name}]")
            own = {key: value for key, value in found.items() if key not in shared}
            values = self._take({key: found[key] for key in found if key in shared}, CHECK, at)
            is_enabled = values.get("enabled", True)
            if not is_enabled and "reason" not in values:
                self._fail(at, "a disabled check needs a reason, which every report states: reason = …")
            if is_enabled and "reason" in values:
                self._fail(_joined(at, "reason"), "a reason belongs to enabled = false; remove it")
            for key in filter(SECRET.search, own):
                self._fail_unknown(key, _joined(at, key), tuple(shared))
            if own:
                settings[name] = own
            if not is_enabled:
                disabled[name] = values["reason"]
        return settings, disabled

    def _check_id(self, name: str, at: str) -> None:
        if name not in self._checks:
            problem = (
                f"there is no check {_shown(name)!r}; 'ldapdiag checks' lists them.{did_you_mean(name, self._checks)}"
            )
            self._fail(at, problem.removesuffix("."))

    def _accepted(self, entries: object) -> tuple[AcceptedFinding, ...]:
        if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
            self._fail("accepted", "entries are expected, each below a line [[accepted]]")
        return tuple(self._entry(entry, place) for place, entry in enumerate(entries, 1))

    def _entry(self, entry: Mapping[str, Any], place: int) -> AcceptedFinding:
        at = f"accepted[{place}]"
        values = self._take(entry, ACCEPTED, at)
        if ("id" in values) == ("check" in values):
            self._fail(at, "exactly one of id (one finding) and check (all of a check) is expected")
        if "server" in values and "check" not in values:
            self._fail(_joined(at, "server"), "server belongs to check; an id contains its server")
        check, separator, _ = values["id"].partition("|") if "id" in values else (values["check"], "|", "")
        if not separator:
            self._fail(_joined(at, "id"), "an id has the form CHECK|SUBJECT; the JSON report has it")
        self._check_id(check, _joined(at, "id" if "id" in values else "check"))
        if values["until"] > self._today + LONGEST_ACCEPTANCE:
            last = self._today + LONGEST_ACCEPTANCE
            self._fail(_joined(at, "until"), f"at most {LONGEST_ACCEPTANCE.days} days ahead: {last} today")
        severity = Severity[values.pop("up_to", "high").upper()]
        return AcceptedFinding(**values, up_to=severity, place=place)


def _joined(where: str, name: str) -> str:
    return f"{where}.{_shown(name)}" if where else _shown(name)


def _shown(name: str) -> str:
    return name if len(name) <= SHOWN else f"{name[: SHOWN - 1]}…"


def _kind_of(value: object, choices: tuple[str, ...] = ()) -> str:
    """Return what a value is, without its content, which may be secret; one of several choices is not."""
    if choices and isinstance(value, str) and value.isprintable() and value.strip():
        return f'"{value[:SHOWN]}"'
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return f"{value:g}" if abs(value) < 1e9 else "so large a number"
        case str():
            return "an empty string" if not value.strip() else "this string"
        case list():
            return "this list"
        case Mapping():
            return "a section"
        case _:
            return "a date or time"
