"""Records that come by are added up alike by whoever adds them, and no further than they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import log_lines
import native_stand_in
from ldapdiag.evidence.log.dialect import Scanner
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.sources.logs.border import Period
from ldapdiag.sources.logs.sums import sum_of

if TYPE_CHECKING:
    import pytest


def test_nothing_is_added_once_a_record_past_the_period_came(monkeypatch: pytest.MonkeyPatch) -> None:
    native_stand_in.put_in(monkeypatch)
    adding = sum_of(named("389-text"), Hints(), Period(until=log_lines.at(15)))
    assert adding.scanner is Scanner.NATIVE

    adding.add(log_lines.run(1, 30))
    adding.add(log_lines.run(1, 10))

    before, within = adding.total()
    assert before is None
    assert within is not None
    assert within.opened == 16
