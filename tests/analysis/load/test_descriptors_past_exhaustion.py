"""When and how often a limit was reached: by the lines of a log, and by the connections in an access log."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import facts
from ldapdiag.analysis.load.descriptors import limit_reached
from ldapdiag.evidence.server_log import ExhaustionMessage, ServerLog
from traffic import Log

if TYPE_CHECKING:
    from ldapdiag.analysis.log.traffic import Traffic


def log(count: int, first: str, last: str, name: str = "errors") -> ServerLog:
    message = ExhaustionMessage(meaning="no descriptor left", count=count, first=first, last=last)
    return ServerLog(origin=facts.origin(name=name), identity=facts.DS389, exhaustion_messages=(message,))


def test_the_lines_have_first_and_last_time_and_their_file() -> None:
    first = "[20/Nov/2026:08:45:18.5 +0000] - ERR - accept_thread - Not listening"
    last = "[20/Nov/2026:08:59:00.5 +0000] - ERR - accept_thread - Not listening"
    (sign,) = limit_reached((log(7, first, last), log(3, first, first, "errors.1")), None, None, None)
    assert (sign.count, sign.source) == (7, "ldap/errors")
    assert f"{sign.first:%H:%M:%S} {sign.last:%H:%M:%S}" == "08:45:18 08:59:00"


def test_a_stamp_without_a_year_gives_no_time() -> None:
    line = "Nov 20 09:21:35 vm slapd[25675]: fd=127 DENIED from unknown (127.0.0.70)"
    (sign,) = limit_reached((log(2, line, line),), None, None, None)
    assert (sign.first, sign.last) == (None, None)


def filled_twice() -> Traffic:
    """Return a log in which 30 connections are open from the first hour to the second, and again in the fourth."""
    written = Log()
    for begin in (3600, 4 * 3600):
        numbers = [written.opens(when=begin + number) for number in range(30)]
        written.now = begin + 3000
        for number in numbers:
            written.closes(number)
    written.now = 6 * 3600
    written.searches(written.opens(), 0)
    return written.traffic()


def test_an_access_log_shows_how_often_and_when_the_limit_was_reached() -> None:
    (sign,) = limit_reached((), filled_twice(), None, 30)
    assert sign.count == 2
    assert timedelta(minutes=55) < sign.first - facts.START < timedelta(minutes=65)
    assert timedelta(hours=4) < sign.last - facts.START < timedelta(hours=5)
    assert limit_reached((), filled_twice(), None, 31) == ()
