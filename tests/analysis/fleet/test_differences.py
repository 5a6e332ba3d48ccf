"""Settings of servers side by side."""

from __future__ import annotations

from facts import origin, server
from ldapdiag.analysis.fleet.differences import compared_settings
from ldapdiag.evidence.configuration import Configuration
from ldapdiag.evidence.family import Family, ServerIdentity

AD = ServerIdentity(family=Family.AD)


def test_ldap_policies_are_compared_one_by_one() -> None:
    policies = {
        "dc1": (("MaxPageSize", 1000), ("MaxQueryDuration", 120)),
        "dc2": (("MaxPageSize", 20_000), ("MaxQueryDuration", 120)),
        "dc3": (("MaxQueryDuration", 120),),
    }
    servers = [
        server(name, identity=AD, configuration=Configuration(origin=origin(name), identity=AD, query_limits=limits))
        for name, limits in policies.items()
    ]
    compared = compared_settings(servers, {}, {})
    assert [(one.name, dict(one.values)) for one in compared.settings] == [
        ("MaxPageSize", {"dc1": "1000", "dc2": "20000"})
    ]
    assert compared.compared == 2
