"""The prefixes of slapd's log lines: time and thread on stderr, date and tag of syslog, name of a container.

    6b00111c.32864e18 0x7f9c26e20200 slapd starting
    openldap        | 5b2c666c daemon: shutdown requested and initiated.
    <167>1 2026-11-20T08:54:04.365207+00:00 vm slapd 3989 - -  slapd starting
    [17-01-2019 09:04:47] slapd debug  conn=1006 op=0 UNBIND

Source: servers/slapd/logging.c (2.4 prints seconds; 2.5 adds nanoseconds and thread), RFC 3164, RFC 5424; Solaris adds
an identifier.
"""

from __future__ import annotations

import re

WORD = r"[^\s=\"]{1,255}"
"""A host, pod, container or time: not a name=value of slapd's own lines."""
DATE = r"(?:<\d{1,3}>)?(?:1 )?(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,+Z-]{8,30})"
TAG = r"(?P<tag>[\w./@()-]{1,64})(?:\[\d{1,10}\])?: "
RFC_5424 = r"(?P<application>\S{1,48}) \S{1,128} \S{1,32} (?:-|\[[^\]]{0,999}\]) {1,2}"
SYSLOG = rf"{DATE}(?: \d{{4}})? {WORD} (?:{TAG}|{RFC_5424})(?:\[ID \d{{1,10}} [\w.]{{1,30}}\] )?"
HOSTED = rf"{WORD} slapd\[\d{{1,10}}\]: "
DEBUG = rf"(?:{WORD} {{1,80}}){{0,4}}[4-7][0-9a-f]{{7}}\.[0-9a-f]{{8}} 0x[0-9a-f]{{1,16}} "
DEBUG_2_4 = rf"(?:{WORD} {{1,80}}(?:\| )?)?[4-7][0-9a-f]{{7}} "
WRAPPED = r"\[[^\]]{8,40}\] slapd debug {1,2}"

PREFIX = re.compile(f"{SYSLOG}|{HOSTED}|{DEBUG}|{DEBUG_2_4}|{WRAPPED}", re.ASCII)
SYSLOG_LINE = re.compile(rf"{DATE} ?\S", re.ASCII)
"""A line of another program, or of syslog itself."""


def prefix_length(line: str) -> int:
    """Return the length of the prefix in characters; 0 if there is none, or the line is from another program."""
    prefix = PREFIX.match(line)
    if prefix is None:
        return 0
    program = prefix["tag"] or prefix["application"] or "slapd"
    return prefix.end() if "slapd" in program or "openldap" in program else 0


def is_syslog(line: str) -> bool:
    """Return whether this is a syslog line of any program."""
    return SYSLOG_LINE.match(line) is not None
