from __future__ import annotations

from typing import Any

import pytest

import facts
from ldapdiag.analysis.descriptors import Descriptors, count_descriptors
from ldapdiag.analysis.hosts import Host
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity
from ldapdiag.evidence.host_facts import ProcessLimits

OPENDJ = ServerIdentity(family=Family.OPENDJ, version=(4, 10, 1))


def counted(limit: int, **settings: Any) -> Descriptors:
    configuration = Configuration(origin=facts.origin(name="cn-config.ldif"), identity=OPENDJ, **settings)
    limits = ProcessLimits(origin=facts.origin(name="limits"), open_files_soft=limit, open_files_hard=limit)
    server = facts.server(identity=OPENDJ, configuration=configuration, limits=limits)
    return count_descriptors(server, Host(host="ldap"))


@pytest.mark.parametrize(
    ("most", "limit", "source"),
    [
        (None, 20000, "Max open files of the process"),
        (0, 20000, "Max open files of the process"),
        (5000, 5000, "the most connections it is set to take"),
        (50000, 20000, "Max open files of the process"),
    ],
)
def test_a_limit_on_connections_counts_where_it_is_the_lower_one_and_0_is_none(most, limit, source) -> None:
    found = counted(20000, max_connections=most)
    assert (found.limit, found.limit_source) == (limit, source)
