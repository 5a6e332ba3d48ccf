"""Files whose format needs rules of its own when a capture is anonymised."""

from __future__ import annotations

from dataclasses import replace

from ldapdiag.sources.anonymising.contents import anonymised_content
from ldapdiag.sources.anonymising.pseudonyms import Pseudonyms
from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser
from reading import facts_of

PROCESSES = b"""ldapdiag-processes 1
clock: 1795160100.50
process: 1171 ns-slapd S 1795160000.25 net:[4026532177]
listener: 1171 10.77.1.2 636
listener: 1171 0.0.0.0 389
configuration: 1171 /etc/dirsrv/slapd-acme/dse.ldif
configuration: 1172 /home/jsmith/ldap/slapd.conf
"""


def test_a_list_of_processes_keeps_its_values_and_loses_its_names() -> None:
    content = anonymised_content(PROCESSES, "ldap/processes.txt", TextAnonymiser(Pseudonyms(b"secret")))
    (before,), (after,) = facts_of(PROCESSES), facts_of(content)
    (one,), (other,) = before.processes, after.processes
    assert other == replace(one, namespace=other.namespace)
    assert other.namespace != one.namespace
    assert [(one.pid, one.port) for one in after.listeners] == [(1171, 636), (1171, 389)]
    assert after.listeners[1].address == "*"
    for name in (b"10.77.1.2", b"acme", b"jsmith"):
        assert name not in content
    paths = [path for _, path in after.configurations]
    assert paths[0].startswith("/etc/dirsrv/slapd-")
    assert paths[0].endswith("/dse.ldif")
    assert paths[1].startswith("/home/")
