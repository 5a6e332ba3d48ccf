"""Advice for whoever runs an application whose searches no new index helps."""

from __future__ import annotations

from ldapdiag.evidence.filter_tree import Assertion, AssertionKind, parse_shape
from ldapdiag.remedy import Remedy, RemedyKind, Where


def rewrite_filter(client: str, part: str, *, negated: bool) -> Remedy:
    """Ask for what is wanted, not for what is not; `part` is that of the filter, as logged."""
    asked = parse_shape(part)
    if negated:
        text = (
            f"Put {part} beside a part that few entries match, as in (&(uid=joe){part}): the server looks at those few "
            "only. Or keep what it means in an attribute of its own, (accountStatus=active), and index that for "
            "equality; or leave the part out and drop in the application what is not wanted."
        )
    elif isinstance(asked, Assertion) and asked.kind is AssertionKind.PRESENCE:
        text = (
            "Search below the branch that is meant, or with scope base where one entry is; to read all entries, read "
            "them paged, at a quiet hour, or follow changes by synchronisation (RFC 4533) instead."
        )
    else:
        text = (
            f"Put {part} beside a part that few entries match, as in (&(uid=joe){part}); or ask for a stored attribute "
            "that means the same, with its own equality rule, which an index can answer."
        )
    return _of_client(client, "Ask differently: no index will help", text)


def ask_for_more_characters(client: str, why: str) -> Remedy:
    """Wait for another character."""
    return _of_client(
        client,
        "Let the application ask once it has enough characters",
        f"The index cannot be used: {why}. Let a search that runs while people type begin one character later, and "
        "offer a search for the beginning of a name (smi*) before one for any part of it (*smi*).",
    )


def narrow_search(client: str, part: str) -> Remedy:
    """Ask for fewer entries."""
    return _of_client(
        client,
        "Ask for fewer entries",
        f"So many entries match {part} that the server does not keep a list of them. Add a part that few entries "
        "match, or search below a smaller base. A higher limit makes every search with a long list slower; raise it "
        "only for one attribute, and only a little above the number of entries that are meant.",
    )


def correct_attribute(client: str, attribute: str) -> Remedy:
    """Ask for an attribute that there is."""
    what = f"the attribute type {attribute}" if attribute else "the attribute type"
    return _of_client(
        client,
        "Correct the filter, or the schema",
        f"Look {what} up in the server's schema. If its name is misspelled, correct the application; if it is of a "
        "schema that was never loaded, load it; if it has no rule for this comparison, ask for equality.",
    )


def _of_client(client: str, title: str, text: str) -> Remedy:
    return Remedy(
        title=title,
        target=client,
        where=Where.CLIENT,
        kind=RemedyKind.ADVICE,
        text=text,
        changes="What the server has to look at for one search.",
        risk="The application may find other entries than before: let its owner compare.",
        undo="Ask as before.",
        verify="The search's RESULT in the access log: its etime, and no note any more.",
    )
