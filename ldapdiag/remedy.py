"""Remedy: what to run, where, what it changes and how to take it back. Data, never executed here."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from enum import StrEnum

from ldapdiag.evidence.family import Family

NUMBER = r"(?:0|[1-9][0-9]*)"
ATTRIBUTE_TYPE = rf"(?:[A-Za-z][A-Za-z0-9-]*|{NUMBER}(?:\.{NUMBER})+)"
"""RFC 4512, 1.4: descr or numericoid."""
ATTRIBUTE_TYPES = re.compile(rf"(?=.{{1,128}}\Z){ATTRIBUTE_TYPE}")
ATTRIBUTE_DESCRIPTIONS = re.compile(rf"(?=.{{1,255}}\Z){ATTRIBUTE_TYPE}(?:;[A-Za-z0-9-]+)*")
"""RFC 4512, 2.5; as long as somebody could mean one to be."""
ATTRIBUTE_VALUE = r"(?:#(?:[0-9A-Fa-f]{2})+|(?:[^\\,+\"<>;=\x00-\x1f\x7f]|=|\\[\\ #=\"+,;<>]|\\[0-9A-Fa-f]{2})*)"
DISTINGUISHED_NAME = re.compile(
    rf"{ATTRIBUTE_TYPE}={ATTRIBUTE_VALUE}(?:[,+] *{ATTRIBUTE_TYPE}={ATTRIBUTE_VALUE})*",
)
"""RFC 4514 section 3, with the blank after a comma that servers print (RFC 2253 section 4)."""

LDIF_SAFE = re.compile(r"[\x21-\x39\x3b\x3d-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
"""SAFE-STRING of RFC 2849, without a trailing blank."""


class Where(StrEnum):
    """Where a remedy is carried out."""

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
    """What must happen before a remedy acts."""

    NONE = "none"
    REINDEX = "reindex"
    RESTART = "restart"
    RECONNECT = "reconnect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One thing to do. `text` may be pasted as it stands; nothing that came out of a log is in it unvalidated."""

    title: str
    target: str
    """The name of the server, client or box."""
    where: Where
    kind: RemedyKind
    text: str
    changes: str
    risk: str
    undo: str
    verify: str
    family: Family | None = None
    needs: Needs = Needs.NONE


def is_attribute_type(text: str) -> bool:
    """Tell whether a text is the name or the OID of an attribute type, a class or a rule.

    Only such a text may enter a remedy. What reads evidence is laxer: servers let in names with an underscore, and of
    these it tells, too.
    """
    return ATTRIBUTE_TYPES.fullmatch(text) is not None


def is_attribute_description(text: str) -> bool:
    """Tell whether a text is an attribute type, perhaps with options; only such a text may enter a remedy."""
    return ATTRIBUTE_DESCRIPTIONS.fullmatch(text) is not None


def is_distinguished_name(text: str) -> bool:
    """Tell whether a text is a DN by RFC 4514; only such a text may enter a remedy.

    Nor may one that hides characters, or turns their direction: a script is read before it is run.
    """
    return len(text) < 2048 and text.isprintable() and DISTINGUISHED_NAME.fullmatch(text) is not None


def ldif_line(attribute: str, value: str) -> str:
    """Return `attribute: value`, in base64 where RFC 2849 asks for it."""
    if LDIF_SAFE.fullmatch(value):
        return f"{attribute}: {value}"
    return f"{attribute}:: {base64.b64encode(value.encode()).decode()}"
