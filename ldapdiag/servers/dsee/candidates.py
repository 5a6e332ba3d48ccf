"""Candidates on Directory Server Enterprise Edition: as on 389-ds before it rearranged filters. Not tested.

Both derive from Netscape's server. DSEE keeps no ID list longer than the all-ids threshold of the index, the suffix or
the server (nsslapd-allidsthreshold). It notes U if the result is `all ids`, never for a part of a filter.
Source: Oracle E19424, "Analyzing Indexes"; nsslapd-allidsthreshold(5dsconf) in E28967.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ldapdiag.evidence.filter_tree import AssertionKind
from ldapdiag.servers.ds389.candidates import EvaluationRules, forecast_with
from ldapdiag.servers.ds389.index_lookup import KEY_LENGTH, OTHER_RULE
from ldapdiag.servers.ds389.scan_limits import UNLIMITED
from ldapdiag.servers.indexes.candidates import Cause, Forecast, IndexUse
from ldapdiag.servers.ldbm.collations import collation

if TYPE_CHECKING:
    from ldapdiag.evidence.filter_tree import Assertion, Node
    from ldapdiag.evidence.indexes import IndexDefinition
    from ldapdiag.servers.ds389.scan_limits import Limits
    from ldapdiag.servers.indexes.candidates import Database, Leaf

SUBSTRING_KEY_LENGTH = KEY_LENGTH
DEFAULT_THRESHOLD = 4000
THRESHOLD = "more than {:,} entries: the all-ids threshold; a higher one applies after reindexing"


def forecast(filter_: Node, base: str, scope: str, database: Database) -> Forecast:
    """Predict the use of indexes for a search; a partly indexed one counts as indexed here."""
    of_389 = forecast_with(RULES, filter_, base, scope, database)
    possible = frozenset(IndexUse.INDEXED if one is IndexUse.PARTIALLY else one for one in of_389.possible)
    return replace(
        of_389,
        index_use=next(iter(possible)) if len(possible) == 1 else IndexUse.DEPENDS,
        leaves=tuple(_with_threshold(_without_rule(leaf)) for leaf in of_389.leaves),
        possible=possible,
        notes=frozenset("U" if note == "A" else "" for note in of_389.notes),
    )


def thresholds(
    definition: IndexDefinition | None,
    type_: str,  # noqa: ARG001  the parameters of limits_of
    assertion: Assertion | None,  # noqa: ARG001  the parameters of limits_of
    database: Database,
    *,
    in_and: bool,  # noqa: ARG001  the parameters of limits_of
) -> Limits:
    """Return the all-ids threshold of an index: its own, else its suffix's, else the server's."""
    configured = (
        definition.entry_limit if definition is not None else None,
        database.backend.entry_limit,
        database.configuration.scan_limit,
        DEFAULT_THRESHOLD,
    )
    threshold = next(one for one in configured if one is not None)
    return frozenset({threshold if threshold > 0 else UNLIMITED})


def longest_list(database: Database) -> int | None:
    """Return the longest ID list by the threshold of the suffix or the server; None: any."""
    (threshold,) = thresholds(None, "eq", None, database, in_and=False)
    return None if threshold == UNLIMITED else threshold


RULES = EvaluationRules(rearranges=False, checks_names=False, limits=thresholds)


def _without_rule(leaf: Leaf) -> Leaf:
    """Return a prediction without an index by a rule for equality: the manual names indexes by language rules only."""
    assertion = leaf.assertion
    if leaf.cause is Cause.LIMIT_PERHAPS:  # of an existing index the remedies change no rule
        return replace(leaf, change=None)
    if leaf.change is None or assertion.kind is not AssertionKind.EXTENSIBLE or collation(assertion.rule):
        return leaf
    return replace(leaf, cause=Cause.UNINDEXABLE, change=None, why=OTHER_RULE, unproven=True)


def _with_threshold(leaf: Leaf) -> Leaf:
    """Return a prediction whose reason names DSEE's threshold instead of the ID list scan limit."""
    if leaf.cause is not Cause.LIMIT:
        return leaf
    limit = "".join(letter for letter in leaf.why.partition("entries")[0] if letter.isdigit())
    return replace(leaf, why=THRESHOLD.format(int(limit)) if limit else leaf.why)
