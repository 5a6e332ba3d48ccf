"""Ruleset: the packet filter of a Linux host, by nft or iptables, as far as one packet can be traced through it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ldapdiag.lazy_dataclass import NamedTuple, dataclass

if TYPE_CHECKING:
    from ldapdiag.evidence.origin import Origin

MOST_RULES = 20_000
"""Of a longer ruleset it is not known what passes."""


class Field(StrEnum):
    """What a condition compares."""

    STATE = "state"
    STATUS = "status"
    """Of the entry: a packet without one has none, unless its address is translated."""
    PROTOCOL = "protocol"
    VERSION = "version"
    SOURCE = "source"
    DESTINATION = "destination"
    SOURCE_PORT = "source port"
    DESTINATION_PORT = "destination port"
    FLAGS = "flags"
    """Two values: the flags that are compared, and those of them that are set."""
    ANY_FLAG = "any flag"
    INTERFACE = "interface"
    UNKNOWN = "unknown"
    """Not understood, or nothing that a packet alone shows."""


class Match(NamedTuple):
    """One condition of a rule, by its text."""

    field: Field
    values: tuple[str, ...] = ()
    negated: bool = False


UNKNOWN = Match(Field.UNKNOWN)


class Verdict(StrEnum):
    """What a rule does with a packet that fulfils its matches."""

    ACCEPT = "accept"
    DROP = "drop"
    NOTRACK = "notrack"
    JUMP = "jump"
    GOTO = "goto"
    RETURN = "return"
    NEXT = "next"
    """It counts, logs or marks."""
    UNKNOWN = "unknown"


class Rule(NamedTuple):
    """A rule: all its matches, its verdict, and the chain that this leads to."""

    matches: tuple[Match, ...]
    verdict: Verdict
    target: str = ""


NOT_READ = Rule((UNKNOWN,), Verdict.UNKNOWN)
"""In the place of rules that are cut, or too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A chain; one with a hook sees packets by itself."""

    family: str
    """ip, ip6 or inet; netdev or bridge, whose chains see the packets of some devices."""
    table: str
    name: str
    hook: str = ""
    translates: bool = False
    """It is of type nat, and sees the first packet of each connection."""
    policy: Verdict = Verdict.ACCEPT
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruleset:
    """The chains of a host's packet filter, as one command lists them."""

    kind: ClassVar[str] = "ruleset"
    how: ClassVar[str] = (
        "on the middlebox, as root: nft list ruleset > nft-ruleset.txt && echo '# end of ruleset' >> nft-ruleset.txt; "
        "iptables-save > iptables-save.txt; ip6tables-save > ip6tables-save.txt"
    )

    origin: Origin
    chains: tuple[Chain, ...]
    tracking: frozenset[str] = frozenset()
    """The IP versions (ip, ip6) of which packets pass through connection tracking."""
    whole: bool = True
    """False: rules are missing from the text; iptables lists no rules that were made by nft."""
