"""wrong-answers-possible: an index that may lack entries, so that searches silently return too few.

The remedy that changes nothing: searches that prove whether an index answers right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ldapdiag.analysis.indexes.build_history import BuildHistory, IndexHistory
from ldapdiag.analysis.indexes.build_states import DOUBTFUL, INCOMPLETE, NO_TIME, BuildState
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.check import MainNumber, check
from ldapdiag.evidence.indexes import IndexDefinition
from ldapdiag.finding import Clear, Confidence, Finding, NotJudged, Severity, Verdict
from ldapdiag.remedy import Remedy, RemedyKind, Where, is_distinguished_name
from ldapdiag.servers.commands.remedy_texts import NO_SUFFIX, advice_if_missing
from ldapdiag.servers.commands.shell_session import block, from_file
from ldapdiag.servers.index_remedies import add_indexes, build_indexes, ldapsearch_command
from ldapdiag.servers.indexes.candidates import Change
from ldapdiag.servers.indexes.index_answers import FUNCTIONS, check_answers, search_function
from ldapdiag.servers.ldbm.collations import RULE
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from ldapdiag.evidence.indexes import Backend, IndexConfiguration
    from ldapdiag.servers.commands.server_address import ServerAddress

TITLES = {
    BuildState.UNUSED: "is not built, and the next start of the server uses it without entries",
    BuildState.WRONG: "does not find entries that have the value",
    BuildState.NEVER_BUILT: "was added and never built, and the server uses it",
    BuildState.RECREATED: "is a default index that a start of the server has added again, without entries",
    BuildState.ABSENT: "is a default index without an entry, which a start of the server adds again, without entries",
    BuildState.INTERRUPTED: "was built in part only, and the server uses it",
    BuildState.CHANGED: "was changed and not built since",
    BuildState.TEXT_ORDER: "sorts numbers as text, so that ranges miss entries",
}
CONFIDENCES = {
    BuildState.UNUSED: Confidence.LIKELY,
    BuildState.WRONG: Confidence.CERTAIN,
    BuildState.NEVER_BUILT: Confidence.LIKELY,
    BuildState.RECREATED: Confidence.LIKELY,
    BuildState.ABSENT: Confidence.POSSIBLE,
    BuildState.INTERRUPTED: Confidence.LIKELY,
    BuildState.CHANGED: Confidence.POSSIBLE,
    BuildState.TEXT_ORDER: Confidence.LIKELY,
}
LACKS_ENTRIES = (
    "Searches that use it may return too few entries, or none, without an error or a note.\n"
    "Do not restart the server, and do not trust empty answers, before it is built."
)
EFFECTS = {
    BuildState.UNUSED: "Until then searches examine every entry and are right; after the next start they return too "
    "few entries, or none, without an error or a note.\nBuild it before the server starts again.",
    BuildState.TEXT_ORDER: "Ranges (>= and <=) are read from the keys that are in the range as text, in which 10 is "
    "before 9. They return too few entries, without an error or a note, unless so many keys are read that the server "
    "examines every entry.\n"
    "Equality is right.",
}
"""What such an index does to searches, where that is not LACKS_ENTRIES."""
SETTLED = "ldapdiag indexes ldap://HOST --probe-answers -D DN -W compares its answers with the entries and settles it."
FEW, MOST_NAMED = 3, 10
"""More than a few are counted if they are all of a server; of others at most so many are named."""


@check(group="indexes", number=MainNumber("missing", "entries that the index lacks"))
def judge(builds: BuildHistory, indexing: ServerIndexes) -> Iterator[Verdict]:
    """An index that may lack entries, so that searches silently return too few of them.

    ## What it looks at
    Each configured index that the server itself does not need. On 389-ds: the times of its entry (createTimestamp,
    modifyTimestamp), the builds, imports and starts in the errors log, and the starts that cn=monitor, the process and
    the access log show. On request (--probe-answers) the answers themselves: entries that have a value are searched by
    it, each by the index and by itself.

    - certain: such a search did not find the entry.
    - likely: the index was added and never built, a build was interrupted, or a default index was deleted and added
      again by a start; and the server has started since. Or it was added and not built, and the next start uses it.
    - possible: the entry was changed after the last build. Which of its attributes is not recorded: a matching rule
      or a type needs a build, a scan limit does not. Or a start added a default index again, and no errors log shows
      whether it was built since.

    The errors logs must be whole from the change of the entry to their end. They are not where another file begins
    after a pause, where a start or a build task that other evidence shows is not in them, or where they have a start
    without the end of the server before it. Then the index is not judged.

    OpenLDAP records nowhere whether an index was built, and logs nothing: without a probe it is not judged. OpenDJ and
    PingDirectory use an index only when it is built.

    ## Severity
    - critical: the index lacks entries, certainly or likely.
    - high: the index is not built, and the next start of the server uses it.
    - high: a default index has no entry in its database, so that a start adds it again; or a start has added it, and
      no errors log shows whether it was built since.
    - high: an index with a matching rule (nsMatchingRule) was changed: its keys have another form then.
    - high: an index of 389-ds sorts numbers as text, and searches for ranges in the log used it (without a note).
    - medium: another index was changed.

    ## Why it matters
    Such a search returns too few entries, or none, with success, without a note and within a millisecond. Accounts,
    group members and access rules are missing, and no log shows it. Ranges of an integer attribute without an
    ordering rule (uidNumber by default) are right where the server notes them as unindexed, and slow; without a note
    they are read in the order of text.

    ## What to do
    Prove it with the printed searches, then build the index. Do not restart the server before the build is finished.

    ## When it is harmless
    When only a scan limit of the entry was changed, or the index was built in a way that the errors log does not show,
    as by a restored backup.
    """
    doubtful = [index for index in builds.indexes if index.state in DOUBTFUL or index.state is BuildState.UNUSED]
    unknown = [index for index in builds.indexes if index.state is BuildState.UNKNOWN]
    for one in doubtful:
        yield _finding(one, builds, indexing)
    if unknown:
        yield _not_judged(unknown, builds, indexing)
    elif not doubtful:
        yield Clear(subject=builds.server, reason=_why_clear(builds))


def _why_clear(builds: BuildHistory) -> str:
    """Return why no index is doubtful, and which ones are not built yet."""
    if not builds.indexes:
        return "no index is configured"
    waiting = (BuildState.BUILDING, BuildState.PENDING)
    unbuilt = [index.definition.attribute for index in builds.indexes if index.state in waiting]
    why = "built since they were last changed, as old as their database, or shown to answer right"
    until = f"; the build must have ended before the next start: {', '.join(unbuilt[:MOST_NAMED])}" if unbuilt else ""
    return f"{counted(len(builds.indexes), 'index', 'indexes')}: {why}{until}"


def _severity(one: IndexHistory) -> Severity:
    if one.state in {BuildState.TEXT_ORDER, BuildState.ABSENT, BuildState.UNUSED} or _is_unlogged(one):
        return Severity.HIGH
    if one.state is BuildState.CHANGED:
        return Severity.HIGH if one.definition.rules else Severity.MEDIUM
    return Severity.CRITICAL


def _confidence(one: IndexHistory) -> Confidence:
    """Return how sure it is; without an errors log a default index may have been built since."""
    if one.state is BuildState.TEXT_ORDER and one.answer is not None and one.answer.missing:
        return Confidence.CERTAIN
    return Confidence.POSSIBLE if _is_unlogged(one) else CONFIDENCES[one.state]


def _is_unlogged(one: IndexHistory) -> bool:
    return one.state is BuildState.RECREATED and not one.logged


def _finding(one: IndexHistory, builds: BuildHistory, indexing: ServerIndexes) -> Finding:
    attribute, backend = one.definition.attribute, one.backend
    remedies = _remedies(one, indexing)
    return Finding(
        subject=f"{attribute} of {backend.name} at {builds.server}",
        key=f"{builds.server}|{backend.name}|{attribute.lower()}",
        severity=_severity(one),
        confidence=_confidence(one),
        title=f"the index {attribute} of {backend.name} at {builds.server} {TITLES[one.state]}",
        detail=_detail(one),
        observed={
            "server": builds.server,
            "backend": backend.name,
            "attribute": attribute,
            "types": sorted(one.definition.types),
            "rules": list(one.definition.rules),
            "state": one.state,
            "changed": f"{one.changed:%Y-%m-%dT%H:%M:%SZ}" if one.changed else None,
            "samples": one.answer.samples if one.answer else None,
            "missing": one.answer.missing if one.answer else None,
            "reason": one.why,
        },
        server=builds.server,
        hosts=(builds.host,),
        remedies=remedies,
        origins=builds.origins,
    )


def _detail(one: IndexHistory) -> str:
    """Return what shows the state, what it does to searches, and what settles it; a sentence a line."""
    sentences = [f"{one.why[:1].upper()}{one.why[1:]}.", EFFECTS.get(one.state, LACKS_ENTRIES)]
    if one.state in INCOMPLETE and one.answer is None:
        sentences.append(SETTLED)
    return "\n".join(sentences)


def _remedies(one: IndexHistory, indexing: ServerIndexes) -> tuple[Remedy, ...]:
    """Return the searches that prove it, and the commands that build the index, if need be with an ordering rule."""
    place, backend, attribute = indexing.place(one.backend), one.backend, one.definition.attribute
    if one.state is BuildState.TEXT_ORDER:
        rule = Change(attribute, "eq", RULE)
        return add_indexes(place, (rule,), None)
    if backend.definition({attribute.lower()}) is None:
        return add_indexes(place, _all_of(one.definition), None)
    build = build_indexes(place, (attribute,))
    if one.state is BuildState.UNUSED:
        return build
    return (*prove_answers(indexing.address, backend, one.definition, indexing.configuration), *build)


def _all_of(definition: IndexDefinition) -> tuple[Change, ...]:
    """Return the changes that add every type and matching rule of an index."""
    rules = [Change(definition.attribute, type_, rule) for type_ in definition.types for rule in definition.rules]
    return (*(Change(definition.attribute, type_) for type_ in sorted(definition.types)), *rules)


def _not_judged(unknown: Sequence[IndexHistory], builds: BuildHistory, indexing: ServerIndexes) -> Verdict:
    """Return one verdict on all indexes of unknown state, with the first of the reasons."""
    names = [one.definition.attribute for one in unknown]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    named = ", ".join(names[:MOST_NAMED]) + more
    reason = f"{named}: {unknown[0].why}"
    if len(names) == len(builds.indexes) > FEW:
        alike = {one.why for one in unknown} == {NO_TIME}
        reason = (
            f"none of the {len(names)} index entries has a time stamp"
            if alike
            else f"all {len(names)} indexes: {unknown[0].why}"
        )
    is_logged = traits_of(indexing.configuration.identity.family).logs_index_builds
    return NotJudged(
        subject=builds.server,
        reason=reason,
        missing=(BuildHistory.kind,),
        how=BuildHistory.how if is_logged else BuildHistory.probe,
    )


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
    return (server.adapt(advice_if_missing(remedy, [] if suffix else [NO_SUFFIX])),)
