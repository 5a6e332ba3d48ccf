"""The remedy that changes nothing: searches that prove whether an index answers right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldapdiag.remedy import Remedy, RemedyKind, Where, is_distinguished_name
from ldapdiag.servers.index_answers import FUNCTIONS, check_answers, search_function
from ldapdiag.servers.index_remedies import ldapsearch_command
from ldapdiag.servers.missing_names import NO_SUFFIX, advice_if_missing
from ldapdiag.servers.shell_session import block, from_file

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration, IndexDefinition
    from ldapdiag.servers.server_address import ServerAddress


def prove_answers(
    server: ServerAddress, backend: Backend, definition: IndexDefinition, configuration: IndexConfiguration
) -> tuple[Remedy, ...]:
    """Return the commands that compare the answers of one index with an entry; nothing for an unknown product."""
    tool = ldapsearch_command(server, configuration)
    suffix = next(filter(is_distinguished_name, backend.suffixes), "")
    if not tool:
        return ()
    check = check_answers(suffix, definition.attribute, sorted(definition.types), definition.rules)
    steps = (
        f"step='Compare the answers of the index {definition.attribute} with an entry' state='nothing is changed'",
        check,
        "answers_right",
    )
    remedy = Remedy(
        title=f"Prove whether the index {definition.attribute} of {backend.name} answers right",
        target=server.name,
        where=Where.SERVER,
        kind=RemedyKind.SHELL,
        text=block(search_function(from_file(tool)), "\n".join(steps), FUNCTIONS),
        changes="Nothing: an entry that has the attribute is searched by its value, by the index and by itself.",
        risk="It reads entries without an index, until it has found 100 or for 30 s. It compares one old entry, which "
        "an index that was built in part may find: ldapdiag indexes ldap://HOST --probe-answers compares several.",
        undo="",
        verify="",
        family=configuration.identity.family,
    )
    return (advice_if_missing(remedy, [] if suffix else [NO_SUFFIX]),)
