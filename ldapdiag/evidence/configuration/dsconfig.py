"""What dsconfig prints of OpenDJ, its relatives and PingDirectory: properties and values, in a table or with tabs.

    Property                              : Value(s)
    --------------------------------------:------------------------
    idle-time-limit                       : 5 m
    max-allowed-client-connections        : 0
    java-class                            : org.forgerock.opendj.reactive.LDAPConnectionHand
                                          : ler2

A value that is too long goes on in the next row, and `-` stands for none. One file may hold several tables: the global
configuration, handlers, the work queue. Values of properties that are not asked for are neither kept nor shown.
Captured from OpenDJ 4.10.1.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from ldapdiag.evidence.configuration.opends_settings import (
    IDLE,
    KEEPALIVE,
    MOST_CONNECTIONS,
    PORT,
    THREADS,
    VIRTUAL,
    WANTED,
    OpendsSettings,
)
from ldapdiag.evidence.format import Format, Head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.configuration import Configuration
    from ldapdiag.evidence.document import Document

HEADING = re.compile(r"Property\s*:\s*Value\(s\)\s*")
RULE = re.compile(r"-+(?::-+)+\s*")
ROW = re.compile(r"([a-z][a-z0-9-]{0,80})?(?:\s*: ?|\t)(.*)", re.ASCII)
TABBED = re.compile(rf"(?:{IDLE}|{'|'.join(MOST_CONNECTIONS)})\t\S", re.ASCII)
NONE = "-"
WITHHELD = "(a row without a property's name)"
LONGEST_VALUE = 1024


def recognises(head: Head) -> bool:
    """Tell dsconfig by the heading of its table and the rule below it, or by a property and its value after a tab."""
    lines = head.lines
    headed = any(HEADING.fullmatch(line) and RULE.fullmatch(rule) for line, rule in pairwise(lines))
    return headed or any(TABBED.match(line) for line in lines)


def read(document: Document) -> Iterator[Configuration]:
    """Read every table and yield what they say together."""
    settings = OpendsSettings()
    for told in _tables(document):
        if IDLE in told or MOST_CONNECTIONS.keys() & told.keys():
            settings.take_global(told)
        elif KEEPALIVE in told or PORT in told:
            _take_handler(told, settings)
        elif VIRTUAL in told:
            settings.take_virtual_attribute(told)
        elif THREADS in told:
            settings.take_work_queue(told)
    if settings.say_something:
        yield settings.configuration(document.origin(), {})
    else:
        document.note("No table here tells of idle limits, connections, handlers of LDAP or worker threads.")


def _take_handler(told: dict[str, str], settings: OpendsSettings) -> None:
    """Keep a handler of LDAP; one of HTTP or JMX says so by its Java class."""
    java = told.get("java-class", "").lower()
    if not java or "ldapconnectionhandler" in java:
        settings.take_handler(told)


def _tables(document: Document) -> Iterator[dict[str, str]]:
    """Yield the properties of one table after the other."""
    told: dict[str, str] = {}
    name = ""
    for line in document.lines:
        if HEADING.fullmatch(line):
            if told:
                yield told
            told, name = {}, ""
        elif not line.strip() or RULE.fullmatch(line):
            continue
        elif row := ROW.fullmatch(line):
            name = row[1] or name
            if name in WANTED:
                value = row[2].strip()
                told[name] = (told.get(name, "") + ("" if value == NONE else value))[:LONGEST_VALUE]
        else:
            document.misread(WITHHELD)
    if told:
        yield told


FORMAT = Format(name="dsconfig", title="properties as dsconfig prints them", recognises=recognises, read=read)
