"""Find ldapdiag.toml. It decides what is judged, so it is never taken from the evidence that is judged.

    --config FILE                              this file and no other
    ./ldapdiag.toml                            that of the working folder
    ~/.config/ldapdiag/ldapdiag.toml           the user's; $XDG_CONFIG_HOME instead of ~/.config
    /etc/ldapdiag/ldapdiag.toml                the system's

The first that exists is read, and nothing is merged. Paths in it are relative to its folder.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ldapdiag.errors import UsageError
from ldapdiag.sources.site_toml import (
    OpenedFile,
    configuration_of,
    in_home,
    is_part_of,
    open_file,
    parsed_toml,
    warnings,
    working_folder,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from ldapdiag.site.configuration import SiteConfiguration

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


def _named(path: Path, judged: tuple[str, ...]) -> OpenedFile:
    if not path.is_absolute() and working_folder() is None:
        raise UsageError(f"cannot read the site configuration {path}: the working folder was removed")
    if is_part_of(path, judged):
        raise UsageError(f"--config {path}: it is a part of the evidence that is judged; move it elsewhere")
    try:
        return open_file(path)
    except OSError as error:
        raise UsageError(f"cannot read the site configuration {path}: {_reason(error)}") from error


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
    foreign = {of_link, opened.owner} - {0, os.geteuid()}
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
