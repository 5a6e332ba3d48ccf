"""A local time in a form that is not read is named with its setting; one that is read is not."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.log.local_times import unread_time


@pytest.mark.parametrize("time", ["20.11.2026 10:00:00.1 +0100", "1795168800.1 +0100", "Fri Nov 20 10:00:00 2026.1 Z"])
def test_a_time_in_a_form_that_is_not_read_is_named_with_its_setting(time: str) -> None:
    said = unread_time(b'{"local_time": "%b", "operation":"UNBIND"}' % time.encode())
    assert time in said
    assert "dsconf INSTANCE config delete nsslapd-accesslog-time-format" in said


@pytest.mark.parametrize("time", ["2026-11-20T10:00:00.123456789 -0500", "20/Nov/2026:10:00:00 +0100"])
def test_of_a_time_that_is_read_nothing_is_said(time: str) -> None:
    assert unread_time(b'{"local_time":"%b"}' % time.encode()) == unread_time(b"") == ""
