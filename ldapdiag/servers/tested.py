"""How far the support of each product was tested: on a real server, on captured evidence, or by documents alone."""

from __future__ import annotations

from ldapdiag.evidence.family import Family
from ldapdiag.lazy_dataclass import NamedTuple


class Tested(NamedTuple):
    """One product; empty: nothing."""

    servers: str = ""
    """What real servers were tested with, in the laboratory of the tests unless it says otherwise."""
    captures: str = ""
    """What was read from evidence that others captured or published."""
    documents: str = ""
    """What follows the vendor's documents or sources, and was compared with nothing."""


TESTED = {
    Family.DS389: Tested(
        servers="2.3.1 (Berkeley DB, LMDB): all, each remedy included",
        documents="defaults and close codes of other versions; RHDS",
    ),
    Family.OPENLDAP: Tested(
        servers="slapd 2.5.13 (mdb): all, each remedy included",
        documents="defaults of other versions; databases other than mdb",
    ),
    Family.OPENDJ: Tested(
        servers="4.10.1, by hand (`LDAPDIAG_OPENDJ`): monitor, idle timeout, index selection, remedies",
        captures="logs, monitor and configuration of 4.10.1",
        documents="ForgeRock DS, PingDS, Oracle Unified Directory",
    ),
    Family.PING: Tested(
        captures="logs of the in-memory server of the UnboundID LDAP SDK",
        documents="limits, idle timeout, monitor, index selection, remedies",
    ),
    Family.DSEE: Tested(
        captures="published logs and `dsconf` output",
        documents="limits, idle timeout, close codes, monitor, index selection, remedies",
    ),
    Family.AD: Tested(
        servers="Samba 4.17.12 as domain controller, never Windows: LDAP queries, the policy that applies, Kerberos, "
        "connections at both ends, the idle timeout and its command, the LDIF that adds an index",
        captures="published events 1644, `netstat` and `ntdsutil` output",
        documents="on Windows all, `ssh://` to it included (its script was not run); its events, index selection, "
        "ceilings of limits, lines of PowerShell and `ntdsutil`",
    ),
    Family.IBM: Tested(documents="`cn=monitor`, all that is read of it"),
}


HEADINGS = ("tested on real servers", "on captured evidence", "by documents alone")
"""Of the cells of a row."""


def rows() -> list[tuple[str, str, str, str]]:
    """Return a row for each product: its name, and the cells; a dash for an empty one."""
    return [
        (family.product, tested.servers or "-", tested.captures or "-", tested.documents or "-")
        for family in Family
        for tested in (TESTED[family],)
    ]
