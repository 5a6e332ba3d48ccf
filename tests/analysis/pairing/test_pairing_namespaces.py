"""Whether all namespaces of a machine were read holds for each of its namespaces."""

from __future__ import annotations

from typing import Any

import facts
from ldapdiag.analysis.pairing.pairing import with_unread_namespaces


def unread(*hosts: Any) -> dict[str, int | None]:
    found = with_unread_namespaces(hosts)
    return {one.host: one.description.namespaces_unread if one.description else None for one in found}


def test_a_namespace_has_the_number_of_its_machine() -> None:
    machine = facts.host("box", description=facts.description("box", namespaces_read=3, namespaces_unread=2))
    inner = facts.host("box-app", description=facts.description("box-app"))
    assert unread(machine, inner, facts.host("other")) == {"box": 2, "box-app": 2, "other": None}


def test_another_machine_does_not() -> None:
    machine = facts.host("box", description=facts.description("box", namespaces_unread=0))
    inner = facts.host("app1", description=facts.description("app1", machine="machine-2"))
    assert unread(machine, inner) == {"box": 0, "app1": None}


def test_nothing_is_known_of_a_machine_that_was_not_read() -> None:
    assert unread(facts.host("app1", description=facts.description("app1"))) == {"app1": None}
