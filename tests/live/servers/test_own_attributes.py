"""The attributes that 389-ds is known to have without its schema, compared with the schema files of the real one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lab.topology import Topology
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.ds389.defaults import OWN_ATTRIBUTES, TRAITS

if TYPE_CHECKING:
    from lab.laboratory import Laboratory


def test_each_is_in_the_schema_files_of_the_server_and_in_no_rfc(laboratory: Laboratory) -> None:
    with Topology(apps=0) as topology:
        server = laboratory.ds389(topology.ldap)
        text = server.host.run("cat /usr/share/dirsrv/schema/*.ldif").replace("\n ", "")
    described = re.findall(r"(?im)^attributeTypes:.*?\bNAME\s+(?:\(\s*)?((?:'[^']+'\s*)+)", text)
    names = {name.lower() for names in described for name in re.findall(r"'([^']+)'", names)}
    assert names >= OWN_ATTRIBUTES >= TRAITS.computed.keys()
    assert not [name for name in OWN_ATTRIBUTES if standard().find(name)]
