"""AppliedLimits: which limits a product applies to the searches of one account, as its configuration has them."""

from __future__ import annotations

from ldapdiag.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedLimits:
    """The limits of an account in one database."""

    rule: str
    """Where they are, in words; or why that is not judged."""
    known: bool = True
    certain: bool = True
    """No other rule can be the one in force."""
    candidates: int | None = None
    """How many entries one search may examine; 0: it may not search at all. None: no limit, or not known."""
    refuses_pages: bool = False
    """Paged searches are refused, or those with large pages."""
    time: str = ""
    """How long one search may take, in words; empty: not known."""
    own_rule: str = ""
    """The rule for this account alone that would leave its other limits as they are, as far as `size.unchecked=`."""
