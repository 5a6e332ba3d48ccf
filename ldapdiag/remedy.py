"""A remedy: the commands or advice that cure a finding, their effect, and how to undo them. Never executed here."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from ldapdiag.evidence.family import Family
from ldapdiag.lazy_dataclass import dataclass
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NUMBER = r"(?:0|[1-9][0-9]*)"
ATTRIBUTE_TYPE = rf"(?:[A-Za-z][A-Za-z0-9-]*|{NUMBER}(?:\.{NUMBER})+)"
"""RFC 4512, 1.4: descr or numericoid."""
ATTRIBUTE_TYPES = pattern(rf"(?=.{{1,128}}\Z){ATTRIBUTE_TYPE}")
ATTRIBUTE_DESCRIPTIONS = pattern(rf"(?=.{{1,255}}\Z){ATTRIBUTE_TYPE}(?:;[A-Za-z0-9-]+)*")
"""RFC 4512, 2.5; longer ones are not plausible."""
ATTRIBUTE_VALUE = r"(?:#(?:[0-9A-Fa-f]{2})+|(?:[^\\,+\"<>;=\x00-\x1f\x7f]|=|\\[\\ #=\"+,;<>]|\\[0-9A-Fa-f]{2})*)"
DISTINGUISHED_NAME = pattern(
    rf"{ATTRIBUTE_TYPE}={ATTRIBUTE_VALUE}(?:[,+] *{ATTRIBUTE_TYPE}={ATTRIBUTE_VALUE})*",
)
"""RFC 4514 section 3, with the space after a comma that servers print (RFC 2253 section 4)."""

HERE_DOCUMENT = pattern(r"(<<'?(\w+)\b).*?\n\2$", re.DOTALL | re.MULTILINE)
PROMPT = pattern(r"(?<= )-W(?= |$)", re.MULTILINE)
"""The option of ldapsearch and ldapmodify that asks for a password at the terminal."""
CHANGE = pattern(r"(?:^|[ |])(?:ldapmodify |dsconf |dsconfig (?=.*\brestart\b))", re.DOTALL | re.MULTILINE)
"""A tool that changes a server, and may be refused; indexes of OpenDJ that exist are built all the same."""
GROUP = pattern(r"^\(\nset -e\n(.*?)\n\)$", re.DOTALL | re.MULTILINE)
"""What `read_whole` writes."""
COMMENTS = pattern(r"\A(?:(?:#|: ).*\n)*")
"""What precedes commands: comments, and tests of variables."""
OWN_GUARD = "\nset -eu\n"
"""In blocks that stop by themselves (servers/shell_session.py)."""

LDIF_SAFE = pattern(r"[\x21-\x39\x3b\x3d-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
"""SAFE-STRING of RFC 2849, without a trailing space."""


class Where(StrEnum):
    """The kind of machine a remedy is carried out on; BOX is a middlebox."""

    SERVER = "server"
    CLIENT = "client"
    BOX = "box"
    HOST = "host"


class RemedyKind(StrEnum):
    """What the text of a remedy is."""

    LDIF = "ldif"
    SHELL = "shell"
    CONFIG = "config"
    ADVICE = "advice"


class Needs(StrEnum):
    """What must happen before a remedy takes effect."""

    NONE = "none"
    REINDEX = "reindex"
    RESTART = "restart"
    RECONNECT = "reconnect"
    REBIND = "rebind"

    @property
    def clause(self) -> str:
        """Return what a remedy needs, or which connections it reaches, in a few words; empty: nothing, and all."""
        return {
            "reindex": "needs a reindex",
            "restart": "needs a restart",
            "reconnect": "reaches connections opened from now on",
            "rebind": "reaches connections opened, or bound, from now on",
        }.get(self.value, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One remedy. `text` can be pasted unchanged: every value from a log in it has been validated."""

    title: str
    target: str
    """The name of the server, client or middlebox."""
    where: Where
    kind: RemedyKind
    text: str
    changes: str
    risk: str
    """The worst first: where there is little room, its first sentence alone is printed."""
    undo: str
    verify: str
    family: Family | None = None
    needs: Needs = Needs.NONE
    brief: str = ""
    """The few lines that an administrator would type, safe as they stand; empty: the text is short, or it alone is."""
    is_alternative: bool = False
    """It does what the remedy before it does, in another way: one of them is enough."""

    def __post_init__(self) -> None:
        """Let a shell read commands as a whole, and stop at the first that fails."""
        for name in ("text", "undo", "verify", "brief"):
            if name != "text" or self.kind is RemedyKind.SHELL:
                object.__setattr__(self, name, read_whole(getattr(self, name)))


def read_whole(commands: str) -> str:
    """Return pasted commands as a subshell that stops at the first failure, if others follow a prompt or a change.

    Without it the next pasted line is taken as the password, and a server restarts though its setting was refused. The
    comments at the beginning stay outside: a zsh takes a pasted comment for a command, which fails.
    """
    alone = GROUP.sub(r"\1", commands)
    outside = HERE_DOCUMENT.sub(r"\1", alone).rstrip()
    first = min((found.end() for one in (PROMPT, CHANGE) if (found := one.search(outside))), default=None)
    if OWN_GUARD in commands or first is None or "\n" not in outside[first:]:
        return commands
    steps = COMMENTS.sub("", alone)
    return f"{alone.removesuffix(steps)}(\nset -e\n{steps}\n)"


def alternative(remedy: Remedy) -> Remedy:
    """Return a remedy as another way of the one before it."""
    return replace(remedy, is_alternative=True)


def step_labels(alternatives: Iterable[bool]) -> Iterator[str]:
    """Yield the labels of remedies: the number of a step, or `or` for an alternative of the step before it."""
    number = 0
    for is_alternative in alternatives:
        is_step = not is_alternative or not number
        number += is_step
        yield str(number) if is_step else "or"


def is_attribute_type(text: str) -> bool:
    """Return whether a text is the name or OID of an attribute type, object class or matching rule.

    Only such a text may enter a remedy. The readers of evidence also accept names with an underscore, as servers do.
    """
    return ATTRIBUTE_TYPES.fullmatch(text) is not None


def is_attribute_description(text: str) -> bool:
    """Return whether a text is an attribute type, with or without options; only such a text may enter a remedy."""
    return ATTRIBUTE_DESCRIPTIONS.fullmatch(text) is not None


def is_distinguished_name(text: str) -> bool:
    """Return whether a text is a DN by RFC 4514; only such a text may enter a remedy.

    Invisible and bidirectional control characters are refused: an administrator reads a script before running it.
    """
    return len(text) < 2048 and text.isprintable() and DISTINGUISHED_NAME.fullmatch(text) is not None


def ldif_line(attribute: str, value: str) -> str:
    """Return `attribute: value`, in base64 where RFC 2849 requires it."""
    if LDIF_SAFE.fullmatch(value):
        return f"{attribute}: {value}"
    return f"{attribute}:: {base64.b64encode(value.encode()).decode()}"
