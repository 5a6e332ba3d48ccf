"""Names in packet filters: chains, tables and sets, the accounts of rules, and what people write as comments.

    -A acme_in -m set --match-set partners src -m comment --comment "Jane's VPN" -j acme_log            iptables-save
    chain acme_in { ip saddr @partners log prefix "jane " jump acme_log                                 nft list ruleset

Names of interfaces and addresses are replaced as in other texts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ldapdiag.lazy_pattern import pattern
from ldapdiag.sources.anonymising.fields import WITHHELD, replaced

if TYPE_CHECKING:
    from ldapdiag.sources.anonymising.text_anonymiser import TextAnonymiser

FORMATS = frozenset({"iptables-save", "nft-ruleset"})
ORDINARY = frozenset(
    re.findall(
        r"\S+",
        """
        INPUT FORWARD OUTPUT PREROUTING POSTROUTING ACCEPT DROP REJECT RETURN LOG NFLOG ULOG QUEUE NFQUEUE MASQUERADE
        SNAT DNAT NETMAP REDIRECT TPROXY MARK CONNMARK SECMARK CONNSECMARK CLASSIFY CT NOTRACK TCPMSS TCPOPTSTRIP DSCP
        TOS TTL HL TRACE TEE SET AUDIT CHECKSUM SYNPROXY RATEEST IDLETIMER HMARK input forward output prerouting
        postrouting ingress filter nat mangle raw security firewalld th nh ll ih
        """,
    )
)
"""Chains, tables and targets of any host."""
WORD = r'(?P<name>"(?:\\.|[^"\\\n])*"|[^\s"]+)'
COMMENTS = pattern(rf'(?P<before>--(?:comment|(?:nf)?log-prefix|string|ulog-prefix) |\b(?:comment|prefix) (?=")){WORD}')
NAMES = pattern(
    r"(?m)(?P<before>^(?:\[\d+:\d+\] )?-[AIN] |^:| -[jg] | --(?:match-set|[ug]id-owner|name|helper|path|timeout|label) "
    r'|\b(?:jump|goto) |\bsk[ug]id (?:!= )?"?|\bname "?|(?<![\w@])@)(?P<name>(?=\S*[A-Za-z])[\w.+/-]+)'
)
ELEMENT = pattern(r'(?P<before>[{,] ")(?P<name>[A-Za-z][\w.@-]*)(?=")')
"""An interface in a set of nft: iifname { "eth0", "partners0" }."""
DECLARED = pattern(
    r"(?m)(?P<before>^\s*(?:table \w+|chain|set|map|flowtable|counter|quota|limit|secmark|synproxy"
    r"|ct (?:helper|timeout|expectation)) )(?P<name>[\w./-]+)(?= \{)"
)


def anonymised_rules(text: str, anonymiser: TextAnonymiser) -> str:
    """Return a packet filter with pseudonyms, but for addresses."""

    def name(found: str) -> str:
        return found if found in ORDINARY else anonymiser.value_of(found)

    text = replaced(ELEMENT, replaced(COMMENTS, text, lambda _: f'"{WITHHELD}"'), anonymiser.interface)
    return replaced(DECLARED, replaced(NAMES, text, name), name)
