"""Advice for the owner of an application whose searches no additional index would answer."""

from __future__ import annotations

from ldapdiag.evidence.filter_tree import And, Assertion, AssertionKind, parse_shape
from ldapdiag.remedy import Remedy, RemedyKind, Where


def rewrite_filter(client: str, part: str, *, negated: bool, own: str = "") -> Remedy:
    """Advise another filter than the one with `part`, a part as logged; `own`: what is true of the product alone."""
    assertion = parse_shape(part)
    if own:
        text = own
    elif negated:
        text = (
            f"Combine {part} with a part that few entries match, as in (&(uid=joe){part}): the server then tests only "
            "those few. Or store the meaning in an attribute of its own, such as (accountStatus=active), and index it "
            "for equality. Or omit the part and discard the unwanted entries in the application."
        )
    elif assertion == And(()) or (isinstance(assertion, Assertion) and assertion.kind is AssertionKind.PRESENCE):
        text = (
            "Search below the branch in question, or with scope base for a single entry. To read all entries, use "
            "paged results at off-peak hours, or content synchronisation (RFC 4533) instead."
        )
    else:
        text = (
            f"Combine {part} with a part that few entries match, as in (&(uid=joe){part}). Or search for a stored "
            "attribute with the same meaning and an equality rule of its own, which an index can answer."
        )
    return _advice(client, "Change the filter: no index would help", text)


def ask_for_more_characters(client: str, why: str) -> Remedy:
    """Advise searches with longer substrings."""
    return _advice(
        client,
        "Search only once enough characters are entered",
        f"The index cannot be used: {why}. Let a search-as-you-type start one character later, and offer a search for "
        "the beginning of a name (smi*) before one for any part of it (*smi*).",
    )


def narrow_search(client: str, part: str) -> Remedy:
    """Advise a search that fewer entries match."""
    return _advice(
        client,
        "Narrow the search",
        f"So many entries match {part} that the server does not keep an ID list for it. Add a part that few entries "
        "match, or search below a smaller base. A higher limit makes every search with a long list slower: raise it "
        "for a single attribute only, to slightly more than the number of matching entries.",
    )


def replace_range(client: str, attribute: str) -> Remedy:
    """Advise filters for values in place of a range that slapd reads from each bound to the end of the index."""
    return _advice(
        client,
        "Search for values instead of a range",
        f"Ask for each value of a short range: (|({attribute}=1)({attribute}=2)). For the latest entries, send one "
        f"bound near the end of the index. Where no application searches for single values of {attribute}, remove the "
        "index: the server then tests every entry, which takes less time. Another part in an AND changes nothing: the "
        "range is still read.",
    )


def correct_attribute(client: str, attribute: str) -> Remedy:
    """Advise a correction of an attribute type that the schema lacks."""
    what = f"the attribute type {attribute}" if attribute else "the attribute type"
    return _advice(
        client,
        "Correct the filter or the schema",
        f"Look up {what} in the server's schema. If the name is misspelled, correct the application. If it belongs to "
        "a schema that was never loaded, load that. If it has no rule for this comparison, search for equality.",
    )


def search_each_domain(client: str, attribute: str) -> Remedy:
    """Advise a search of another server than a global catalog, which lacks an attribute."""
    return _advice(
        client,
        "Search the domains, not the global catalog",
        f"Search a domain controller of each domain on port 389 below the domain's DN. Or let the global catalog have "
        f"{attribute}: isMemberOfPartialAttributeSet TRUE in the schema, which replicates its values to every one.",
    )


def _advice(client: str, title: str, text: str) -> Remedy:
    return Remedy(
        title=title,
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text=text,
        changes="The number of entries that the server tests for each search.",
        risk="The application may find other entries than before: ask its owner to compare the results.",
        undo="Restore the former filter.",
        verify="The search's RESULT in the access log has a low etime and no note of an unindexed search.",
    )
