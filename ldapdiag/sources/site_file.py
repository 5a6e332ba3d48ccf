"""Find and open ldapdiag.toml. It decides what is judged, so it is never taken from the evidence that is judged.

    --config FILE                              this file and no other
    ./ldapdiag.toml                            that of the working folder
    ~/.config/ldapdiag/ldapdiag.toml           the user's; $XDG_CONFIG_HOME instead of ~/.config
    /etc/ldapdiag/ldapdiag.toml                the system's

The first that exists is read, and nothing is merged. Paths in it are relative to its folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldapdiag.check_names import check_names
from ldapdiag.errors import UsageError
from ldapdiag.site.reading import read_configuration
from ldapdiag.sources.targets import parse_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from ldapdiag.site.configuration import SiteConfiguration, SiteTarget

NAME = "ldapdiag.toml"
SYSTEM = Path("/etc/ldapdiag")
MOST_BYTES = 1 << 20
MOST_PARTS = 16
LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:"[^"\n]*+"|'[^'\n]*+'|[\w-]++)[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}""")
"""tomllib takes memory by the square of the parts of a key: a file of 40 kB takes 1.5 GB."""
MANIFEST, OF_CAPTURE = "manifest.json", b"ldapdiag.capture/"
PATHS = ("password_file", "ca_file")
"""Options of a target that are paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFile:
    """The configuration that was found, or None; where it was looked for, and what the operator must know."""

    configuration: SiteConfiguration | None = None
    looked: tuple[Path, ...] = ()
    notices: tuple[str, ...] = ()


def find(named: Path | None, evidence: Iterable[str], today: date) -> SiteFile:
    """Return the configuration of `named`, or of the first place that has one.

    `evidence` is what the command judges; a file within it is refused where it was named, and passed over elsewhere.
    Raises UsageError for a file that cannot be read, or is no configuration.
    """
    judged = _judged(evidence)
    if named is not None:
        if not named.is_absolute() and _working_folder() is None:
            raise UsageError(f"cannot read the site configuration {named}: the working folder was removed")
        if _is_within(named, judged):
            raise UsageError(f"--config {named}: it is a part of the evidence that is judged; move it elsewhere")
        content, notices = _content(named)
        return SiteFile(configuration=_parsed(named, content, today), looked=(named,), notices=notices)
    looked: list[Path] = []
    passed: list[str] = []
    for path in places():
        looked.append(path)
        if not path.exists():
            continue
        if reason := _why_not(path, judged):
            passed.append(f"{path} is not read: {reason}")
            continue
        content, notices = _content(path)
        found = _parsed(path, content, today)
        here = (f"site configuration: {path}",) if path.parent == _working_folder() else ()
        return SiteFile(configuration=found, looked=tuple(looked), notices=(*passed, *here, *notices))
    return SiteFile(looked=tuple(looked), notices=tuple(passed))


def places() -> tuple[Path, ...]:
    """Return where a configuration is looked for, in this order."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))  # a relative one is invalid: XDG Base Directory, 0.8
    users = given if given.is_absolute() else Path(_in_home("~/.config"))
    folders = (_working_folder(), users / "ldapdiag" if users.is_absolute() else None, SYSTEM)
    return tuple(dict.fromkeys(folder / NAME for folder in folders if folder is not None))


def target_names() -> list[str]:
    """Return the names of targets in the file that would be read, for completion; none where there is a problem."""
    try:
        path = next(one for one in places() if one.exists() and not _why_not(one, []))
        names = _toml(path, _content(path)[0]).get("targets", {})
        return [str(name) for name in names]
    except (StopIteration, OSError, UsageError, AttributeError, TypeError):
        return []


def _working_folder() -> Path | None:
    """Return the working folder; None if it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


def _in_home(path: str) -> str:
    """Return a path with ~ replaced; an account without a home leaves it unchanged."""
    return os.path.expanduser(path)  # noqa: PTH111  Path.expanduser raises without a home


def _judged(evidence: Iterable[str]) -> list[str]:
    """Return the paths of the evidence, links resolved; relative ones have none where the working folder is gone."""
    paths = [one for one in evidence if _is_path(one)]
    return [os.path.realpath(one) for one in paths if _working_folder() or Path(one).is_absolute()]


def _is_path(evidence: str) -> bool:
    return evidence != "-" and "://" not in evidence and not evidence.startswith(("local:", "netns:"))


def _is_within(path: Path, judged: list[str]) -> bool:
    """Return whether a file, or the link that names it, is a part of the evidence."""
    places = {os.path.realpath(path), os.path.join(os.path.realpath(path.parent), path.name)}  # noqa: PTH118  as realpath, which never raises
    return any(place == one or place.startswith(one.rstrip("/") + "/") for place in places for one in judged)


def _why_not(path: Path, judged: list[str]) -> str:
    """Return why a file in one of the places is not read; empty if it is."""
    if _is_within(path, judged):
        return "it is a part of the evidence that is judged"
    if path.parent == _working_folder() and any(_is_capture(folder) for folder in (path.parent, *path.parent.parents)):
        return "the working folder is a part of a capture"
    try:
        owner = path.stat().st_uid
    except OSError as error:
        return (error.strerror or str(error)).lower()
    if owner not in {0, os.geteuid()}:
        return f"it belongs to another account (uid {owner}); to use it, name it with --config"
    return "" if os.access(path, os.R_OK) else "permission denied"


def _is_capture(folder: Path) -> bool:
    try:
        return OF_CAPTURE in _read(folder / MANIFEST)[0]
    except (OSError, UsageError):
        return False


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    """Return the first bytes of a regular file. A FIFO is not waited for. Raises OSError, or UsageError for others."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:  # noqa: PTH123  a descriptor
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{path}: no regular file; name a file in TOML")
        return stream.read(MOST_BYTES + 1), status


def _content(path: Path) -> tuple[bytes, tuple[str, ...]]:
    """Return what a configuration contains, and the warning if others may change it."""
    try:
        content, status = _read(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot read the site configuration {path}: {reason}") from error
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path}: larger than {MOST_BYTES >> 20} MiB; this is no site configuration")
    if not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return content, ()
    who = "all users" if status.st_mode & stat.S_IWOTH else "its group"
    mode = stat.S_IMODE(status.st_mode)
    return content, (f"warning: {path} can be changed by {who} (mode {mode:04o}); run chmod go-w {path}",)


def _toml(path: Path, content: bytes) -> dict[str, Any]:
    """Return the parsed TOML. Raises UsageError with the line of an error."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}: line {line}: not UTF-8; convert the file") from error
    if long := LONG_KEY.search(text):
        line = text.count("\n", 0, long.start()) + 1
        raise UsageError(f"{path}: line {line}: a name of more than {MOST_PARTS} parts; no key has so many")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UsageError(f"{path}: nested too deeply; this is no site configuration") from error
    except ValueError as error:  # of tomllib, or of an integer with too many digits
        raise UsageError(f"{path}: no valid TOML: {str(error)[:200]}") from error


def _parsed(path: Path, content: bytes, today: date) -> SiteConfiguration:
    parsed = _toml(path, content)
    shown = str(Path(os.path.abspath(path)))  # noqa: PTH100  links stay as the operator named them
    digest = hashlib.sha256(content).hexdigest()
    try:
        found = read_configuration(parsed, path=shown, sha256=digest, today=today, checks=check_names())
    except UsageError:  # perhaps a check of a package whose catalogue has another form
        from ldapdiag.catalogue import installed_checks  # noqa: PLC0415  import late

        ids = [one.id for one in installed_checks()]
        found = read_configuration(parsed, path=shown, sha256=digest, today=today, checks=ids)
    return replace(found, targets={name: _resolved(one, Path(shown)) for name, one in found.targets.items()})


def _resolved(target: SiteTarget, file: Path) -> SiteTarget:
    """Return a target with absolute paths. Raises UsageError for evidence that is none, or contains the file."""
    at = f"{file}: targets.{target.name}"
    evidence = tuple(_evidence(target.evidence, file.parent, at))
    if _is_within(file, [os.path.realpath(one) for one in evidence if _is_path(one)]):
        raise UsageError(f"{at}.evidence: it contains this file, which must not be a part of what is judged")
    options = {
        key: _absolute(str(value), file.parent) if key in PATHS else value for key, value in target.options.items()
    }
    return replace(target, evidence=evidence, options=options)


def _evidence(evidence: tuple[str, ...], folder: Path, at: str) -> Iterator[str]:
    for one in evidence:
        try:
            is_target = parse_target(one) is not None
        except UsageError as error:
            raise UsageError(f"{at}.evidence: {error}") from error
        yield one if is_target or "://" in one else _absolute(one, folder)


def _absolute(path: str, folder: Path) -> str:
    return str(folder / _in_home(path))
