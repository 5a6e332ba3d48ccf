"""The output of dsconfig (OpenDJ, its relatives, PingDirectory): properties and values, in a table or with tabs.

    Property                              : Value(s)
    --------------------------------------:------------------------
    idle-time-limit                       : 5 m
    max-allowed-client-connections        : 0
    java-class                            : org.forgerock.opendj.reactive.LDAPConnectionHand
                                          : ler2

A long value continues in the next row; `-` means no value. One file may contain several tables: the global
configuration, handlers, the work queue, backends. Values of other properties than these are neither kept nor shown.
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
from ldapdiag.evidence.indexes.dsconfig_list import RULE
from ldapdiag.evidence.storage import opends_settings as storage
from ldapdiag.lazy_pattern import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ldapdiag.evidence.document import Document
    from ldapdiag.evidence.origin import Fact

HEADING = pattern(r"Property\s*:\s*Value\(s\)\s*")
ROW = pattern(r"([a-z][a-z0-9-]{0,80})?(?:\s*: ?|\t)(.*)", re.ASCII)
TABBED = pattern(rf"(?:{IDLE}|{'|'.join(MOST_CONNECTIONS)})\t\S", re.ASCII)
KEPT = WANTED | storage.PROPERTIES
NONE = "-"
WITHHELD = "(a row without a property's name)"
LONGEST_VALUE = 1024


def recognises(head: Head) -> bool:
    """Recognise dsconfig by its table heading and the rule below, or by a property and its value after a tab."""
    lines = head.lines
    headed = any(HEADING.fullmatch(line) and RULE.fullmatch(rule) for line, rule in pairwise(lines))
    return headed or any(TABBED.match(line) for line in lines)


def read(document: Document) -> Iterator[Fact]:
    """Read every table and yield one configuration of all, and the storage of the backends."""
    settings = OpendsSettings()
    backends = []
    for properties in _tables(document):
        if storage.DIRECTORY in properties:
            backends.append(properties)
        elif IDLE in properties or MOST_CONNECTIONS.keys() & properties.keys():
            settings.take_global(properties)
        elif KEEPALIVE in properties or PORT in properties:
            _take_handler(properties, settings)
        elif VIRTUAL in properties:
            settings.take_virtual_attribute(properties)
        elif THREADS in properties:
            settings.take_work_queue(properties)
    if settings.relevant:
        yield settings.configuration(document.origin(), {})
    elif not backends:
        document.note("Its tables contain no idle timeout, connection limit, LDAP handler, worker threads or backend.")
    yield from storage.of_tables(document, backends)


def _take_handler(properties: dict[str, str], settings: OpendsSettings) -> None:
    """Read an LDAP connection handler; those of HTTP and JMX are ignored, by their Java class."""
    java = properties.get("java-class", "").lower()
    if not java or "ldapconnectionhandler" in java:
        settings.take_handler(properties)


def _tables(document: Document) -> Iterator[dict[str, str]]:
    """Yield the properties of each table."""
    properties: dict[str, str] = {}
    name = ""
    for line in document.lines:
        if HEADING.fullmatch(line):
            if properties:
                yield properties
            properties, name = {}, ""
        elif not line.strip() or RULE.fullmatch(line):
            continue
        elif row := ROW.fullmatch(line):
            name = row[1] or name
            if name in KEPT:
                value = row[2].strip()
                properties[name] = (properties.get(name, "") + ("" if value == NONE else value))[:LONGEST_VALUE]
        else:
            document.misread(WITHHELD)
    if properties:
        yield properties


FORMAT = Format(name="dsconfig", title="properties as dsconfig prints them", recognises=recognises, read=read)
