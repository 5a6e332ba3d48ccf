"""The limit of one index raised on a real 389-ds: the next search has no note, and the former state comes back."""

from __future__ import annotations

from lab.directory_servers import DSE, SUFFIX
from lab.host import Host
from lab.laboratory import need
from lab.odd_directory import SCAN_LIMIT, Asked, ask, limit_scans, load
from lab.terminal import paste
from ldapdiag.evidence.filter_tree import parse
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.schema.standard import standard
from ldapdiag.servers.commands.server_address import ServerAddress
from ldapdiag.servers.index_remedies import raise_scan_limit
from reading import facts_of

ENTRIES = 2000
SEARCH = "(preferredLanguage=*)"


def test_without_a_build_or_a_restart(laboratory):
    need("ns-slapd", "dsconf", "ldapmodify")
    with Host("ldap") as host:
        server = laboratory.ds389(host)
        load(server, ENTRIES)
        limit_scans(server, SCAN_LIMIT)
        (before,) = ask(server, [Asked(SEARCH)])
        assert before.notes == "A"
        assert before.entries > SCAN_LIMIT
        configuration = next(
            one for one in facts_of(host.run(["cat", DSE]), path="dse.ldif") if isinstance(one, IndexConfiguration)
        )
        backend = next(one for one in configuration.backends if SUFFIX in one.suffixes)
        address = ServerAddress(name="ldap", host="ldap")
        (remedy,) = raise_scan_limit(address, backend, parse(SEARCH), before.entries, configuration, standard())
        paste(host, f"LDAP_URI=ldap://127.0.0.1\n{remedy.text}")
        (after,) = ask(server, [Asked(SEARCH)])
        assert (after.notes, after.entries) == ("", before.entries)
        paste(host, f"LDAP_URI=ldap://127.0.0.1\n{remedy.undo}")
        (again,) = ask(server, [Asked(SEARCH)])
        assert again.notes == "A"
