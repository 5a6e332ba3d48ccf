"""Find ldapdiag.toml. It decides what is judged, so it is never taken from the evidence that is judged.

    --config FILE                              this file and no other
    ./ldapdiag.toml                            that of the working folder
    ~/.config/ldapdiag/ldapdiag.toml           the user's; $XDG_CONFIG_HOME instead of ~/.config
    /etc/ldapdiag/ldapdiag.toml                the system's

The first that exists is read, and nothing is merged. Paths in it are relative to its folder.

Open ldapdiag.toml, and read what it contains. A hostile file ends in one line: no wait, no loop, no memory.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldapdiag.check_names import check_names
from ldapdiag.errors import UsageError
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern
from ldapdiag.site.reading import read_configuration
from ldapdiag.sources.targets import EXAMPLE, names_of, parse_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from ldapdiag.site.configuration import SiteConfiguration, SiteTarget

NAME = "ldapdiag.toml"
SYSTEM = Path("/etc/ldapdiag")
MANIFEST, OF_CAPTURE = "manifest.json", b"ldapdiag.capture/"


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
    judged = tuple(evidence)
    if named is not None:
        opened = _named(named, judged)
        return SiteFile(configuration=configuration_of(opened, today), looked=(named,), notices=warnings(opened))
    looked: list[Path] = []
    passed: list[str] = []
    for path in places():
        looked.append(path)
        found = _opened_unless_foreign(path, judged) if _may_exist(path) else ""
        if isinstance(found, OpenedFile):
            here = (f"site configuration: {path}",) if path.parent == working_folder() else ()
            configuration = configuration_of(found, today)
            notices = (*passed, *here, *warnings(found))
            return SiteFile(configuration=configuration, looked=tuple(looked), notices=notices)
        if found:
            passed.append(f"{path} is not read: {found}")
    return SiteFile(looked=tuple(looked), notices=tuple(passed))


def places() -> tuple[Path, ...]:
    """Return where a configuration is looked for, in this order."""
    given = Path(os.environ.get("XDG_CONFIG_HOME", ""))  # a relative one is invalid: XDG Base Directory, 0.8
    users = given if given.is_absolute() else Path(in_home("~/.config"))
    folders = (working_folder(), users / "ldapdiag" if users.is_absolute() else None, SYSTEM)
    return tuple(dict.fromkeys(folder / NAME for folder in folders if folder is not None))


def target_names() -> list[str]:
    """Return the names of targets in the file that would be read, for completion; none where there is a problem."""
    try:
        opened = (_opened_unless_foreign(path, ()) for path in places() if path.exists())
        first = next((one for one in opened if isinstance(one, OpenedFile)), None)
        return [str(name) for name in parsed_toml(first).get("targets", {})] if first else []
    except (UsageError, TypeError):
        return []


def names_in(site: SiteConfiguration) -> frozenset[str]:
    """Return the hosts and the LDAP URLs of all targets: what the operator calls a server there, commands may have."""
    every = (parse_target(one) for target in site.targets.values() for one in target.evidence)
    return names_of(one for one in every if one is not None)


def _named(path: Path, judged: tuple[str, ...]) -> OpenedFile:
    if not path.is_absolute() and working_folder() is None:
        raise UsageError(f"cannot read the site configuration {path}: the working folder was removed")
    if is_part_of(path, judged):
        raise UsageError(f"--config {path}: it is a part of the evidence that is judged; move it elsewhere")
    try:
        opened = open_file(path)
    except OSError as error:
        raise UsageError(f"cannot read the site configuration {path}: {_reason(error)}") from error
    if opened.mode & stat.S_IWOTH and stat.S_ISREG(opened.mode):
        mode = stat.S_IMODE(opened.mode)
        raise UsageError(f"--config {path}: every user can change it (mode {mode:04o}); run chmod o-w {path}")
    return opened


def _may_exist(path: Path) -> bool:
    """Return whether there is such a file, also where its folder is closed to this user (HOME of another account)."""
    try:
        return path.exists()
    except PermissionError:
        return True


def _opened_unless_foreign(path: Path, judged: tuple[str, ...]) -> OpenedFile | str:
    """Return the file in one of the places, or why it is not read. Raises UsageError where it cannot be."""
    if is_part_of(path, judged):
        return "it is a part of the evidence that is judged"
    if path.parent == working_folder() and any(map(_is_capture, (path.parent, *path.parent.parents))):
        return "the working folder is a part of a capture"
    try:
        of_link = path.lstat().st_uid
        opened = open_file(path)
    except PermissionError:
        return "permission denied"
    except OSError as error:
        raise UsageError(f"cannot read the site configuration {path}: {_reason(error)}") from error
    if opened.mode & stat.S_IWOTH and stat.S_ISREG(opened.mode):
        return f"every user can change it (mode {stat.S_IMODE(opened.mode):04o}); run chmod o-w {path}"
    foreign = {of_link, opened.owner} - {0, os.geteuid() if HAS_MODES else 0}
    if foreign:
        return f"it belongs to another account (uid {min(foreign)}); to use it, name it with --config"
    return opened


def _is_capture(folder: Path) -> bool:
    try:
        return OF_CAPTURE in open_file(folder / MANIFEST).content
    except OSError:
        return False


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


HAS_MODES = hasattr(os, "geteuid")
"""Windows shows mode 0666 and owner 0 for every file: there the permissions of the folder are trusted."""
WITHOUT_WAITING = os.O_RDONLY | (os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC if HAS_MODES else 0)
MOST_BYTES = 1 << 20
MOST_PARTS = 16
LONG_KEY = pattern(rf"""(?<![\w-])(?:(?:"[^"\n]*+"|'[^'\n]*+'|[\w-]++)[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}""")
"""tomllib takes memory by the square of the parts of a key: a file of 40 kB takes 1.5 GB."""
PATHS = ("password_file", "ca_file")
"""Options of a target that are paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    """A file as it was when it was opened; of what is no regular file nothing was read."""

    path: Path
    content: bytes
    mode: int
    owner: int


def open_file(path: Path) -> OpenedFile:
    """Return the first bytes of a file. A FIFO is not waited for. Raises OSError."""
    descriptor = os.open(path, WITHOUT_WAITING)
    with open(descriptor, "rb") as stream:  # noqa: PTH123  a descriptor
        status = os.fstat(descriptor)
        mode = status.st_mode if HAS_MODES else status.st_mode & ~0o022
        content = stream.read(MOST_BYTES + 1) if stat.S_ISREG(status.st_mode) else b""
    return OpenedFile(path=path, content=content, mode=mode, owner=status.st_uid)


def warnings(opened: OpenedFile) -> tuple[str, ...]:
    """Return the warning about a file that its group may change; one that every user may change is refused."""
    if not opened.mode & stat.S_IWGRP:
        return ()
    mode = stat.S_IMODE(opened.mode)
    return (f"warning: {opened.path} can be changed by its group (mode {mode:04o}); run chmod go-w {opened.path}",)


def parsed_toml(opened: OpenedFile) -> dict[str, Any]:
    """Return the parsed TOML. Raises UsageError with the line of an error."""
    path, content = opened.path, opened.content
    if not stat.S_ISREG(opened.mode):
        raise UsageError(f"{path}: no regular file; name a file in TOML")
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path}: larger than {MOST_BYTES >> 20} MiB; this is no site configuration")
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


def configuration_of(opened: OpenedFile, today: date) -> SiteConfiguration:
    """Return the configuration with absolute paths. Raises UsageError for the first thing that is not valid."""
    parsed = parsed_toml(opened)
    shown = str(Path(os.path.abspath(opened.path)))  # noqa: PTH100  links stay as the operator named them
    digest = hashlib.sha256(opened.content).hexdigest()
    try:
        found = read_configuration(parsed, path=shown, sha256=digest, today=today, checks=check_names())
    except UsageError:  # perhaps a check of a package whose catalogue has another form
        from ldapdiag.catalogue import installed_checks  # noqa: PLC0415  import late

        ids = [check.id for check in installed_checks()]
        found = read_configuration(parsed, path=shown, sha256=digest, today=today, checks=ids)
    return replace(found, targets={name: _resolved(one, Path(shown)) for name, one in found.targets.items()})


def _resolved(target: SiteTarget, file: Path) -> SiteTarget:
    """Return a target with absolute paths. Raises UsageError for evidence that is none, or contains the file."""
    at = f"{file}: targets.{target.name}"
    evidence = tuple(_evidence(target.evidence, file.parent, at))
    if is_part_of(file, evidence):
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
        yield one if is_target or "://" in one or one.startswith(EXAMPLE) else _absolute(one, folder)


def _absolute(path: str, folder: Path) -> str:
    return str(folder / in_home(path))


def working_folder() -> Path | None:
    """Return the working folder; None if it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


def in_home(path: str) -> str:
    """Return a path with ~ replaced; an account without a home leaves it unchanged."""
    return os.path.expanduser(path)  # noqa: PTH111  Path.expanduser raises without a home


def is_part_of(path: Path, evidence: Iterable[str]) -> bool:
    """Return whether a file, or the link that names it, is within what a command judges."""
    here = working_folder()
    judged = [os.path.realpath(one) for one in evidence if _is_path(one) and (here or Path(one).is_absolute())]
    places = {os.path.realpath(path), os.path.join(os.path.realpath(path.parent), path.name)}  # noqa: PTH118  as realpath, which never raises
    return any(place == one or place.startswith(one.rstrip("/") + "/") for place in places for one in judged)


def _is_path(evidence: str) -> bool:
    try:
        return evidence != "-" and "://" not in evidence and parse_target(evidence) is None
    except UsageError:
        return False
