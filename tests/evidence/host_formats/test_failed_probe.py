"""The file of a directory server that did not answer."""

from __future__ import annotations

import pytest

from ldapdiag.evidence.host_formats.failed_probe import as_text
from ldapdiag.evidence.ldap_probe import ProbeOutcome
from reading import facts_of


@pytest.mark.parametrize("outcome", ProbeOutcome)
def test_what_is_written_is_read(outcome: ProbeOutcome) -> None:
    (probe,) = facts_of(as_text("ldap://ldap", "10.77.1.2", 389, outcome, 1.25))
    assert (probe.target, probe.address, probe.port) == ("ldap://ldap", "10.77.1.2", 389)
    assert (probe.outcome, probe.seconds) == (outcome, 1.25)


def test_an_unknown_outcome_is_no_probe() -> None:
    text = as_text("ldap://ldap", "10.77.1.2", 389, ProbeOutcome.REFUSED, 1.25)
    assert facts_of(text.replace("refused", "bored")) == []
