"""Candidates on Directory Server Enterprise Edition: those of 389-ds before it rearranged filters. Not tried.

Both grew out of Netscape's server. DSEE keeps no list longer than the all-ids threshold of the index, of the suffix, or
of the server (nsslapd-allidsthreshold), and notes U for what is `all ids` in the end, never for a part of a filter.
Source: Oracle E19424, "Analyzing Indexes"; nsslapd-allidsthreshold(5dsconf) in E28967.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.servers.candidates import Cause, Forecast, Outlook
from ldapdiag.servers.ds389.candidates import Ways, forecast_with
from ldapdiag.servers.ds389.scan_limits import UNLIMITED

if TYPE_CHECKING:
    from ldapdiag.evidence.filter_tree import Assertion, Node
    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.servers.candidates import Database, Leaf
    from ldapdiag.servers.ds389.scan_limits import Limits

DEFAULT_THRESHOLD = 4000
THRESHOLD = "more than {} entries: the all-ids threshold; a higher one acts after reindexing"


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Return what becomes of a search; what is indexed in part is indexed here."""
    told = forecast_with(WAYS, filter_, base, scope, database)
    possible = frozenset(Outlook.INDEXED if one is Outlook.PARTIALLY else one for one in told.possible)
    return replace(
        told,
        outlook=next(iter(possible)) if len(possible) == 1 else Outlook.DEPENDS,
        leaves=tuple(map(_in_its_words, told.leaves)),
        possible=possible,
        notes=frozenset("U" if note == "A" else "" for note in told.notes),
    )


def thresholds(
    definition: IndexDefinition | None,
    word: str,  # noqa: ARG001  as 389-ds is asked
    assertion: Assertion | None,  # noqa: ARG001  as 389-ds is asked
    database: Database,
    *,
    in_and: bool,  # noqa: ARG001  as 389-ds is asked
) -> Limits:
    """Return the all-ids threshold of an index: its own, else its suffix's, else the server's."""
    told = (
        definition.entry_limit if definition is not None else None,
        database.backend.entry_limit,
        database.configuration.scan_limit,
        DEFAULT_THRESHOLD,
    )
    threshold = next(one for one in told if one is not None)
    return frozenset({threshold if threshold > 0 else UNLIMITED})


WAYS = Ways(rearranges=False, checks_names=False, limits=thresholds)


def _in_its_words(leaf: Leaf) -> Leaf:
    if leaf.cause is not Cause.LIMIT:
        return leaf
    limit = "".join(letter for letter in leaf.why.partition("entries")[0] if letter.isdigit())
    return replace(leaf, why=THRESHOLD.format(limit))
