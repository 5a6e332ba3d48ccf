"""The remedies of a plan alone: LDIF for ldapmodify, or a shell script, of validated values only.

The variables at the top of a script that stand for addresses which the evidence does not contain.

    LDAP_URI=${LDAP_URI:-}    # the URL of ds1
    [ -n "$LDAP_URI" ] || { echo 'nothing was changed: …' >&2; exit 2; }

Of several servers each has its own, as LDAP_URI_ds1.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ldapdiag.analysis.indexes.build_states import INCOMPLETE, BuildState, shown
from ldapdiag.analysis.indexes.coverage import IndexCoverage
from ldapdiag.analysis.indexes.plan import IndexPlan
from ldapdiag.analysis.indexes.server_indexes import ServerIndexes
from ldapdiag.errors import LdapdiagError
from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.evidence.ldif import comparable
from ldapdiag.lazy_pattern import pattern
from ldapdiag.remedy import Needs, RemedyKind
from ldapdiag.report.findings import first_sentence
from ldapdiag.report.neutral import neutral
from ldapdiag.servers.commands.shell_session import SESSION, is_block, without_libraries
from ldapdiag.servers.index_remedies import (
    add_indexes,
    between_ldif,
    build_indexes,
    ldapsearch_command,
    libraries_of,
    without_ldif,
    without_script,
)
from ldapdiag.servers.indexes.example_search import search_command
from ldapdiag.servers.indexes.index_answers import COST, FUNCTIONS
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ldapdiag.analysis.indexes.search_coverage import SearchCoverage
    from ldapdiag.diagnosis import Diagnosis
    from ldapdiag.evidence.indexes import Backend
    from ldapdiag.remedy import Remedy
    from ldapdiag.servers.indexes.candidates import Change, IndexPlace

NOTHING = "nothing to change"
WRONG_ANSWERS, LIST_VIEWS = "wrong-answers-possible", "missing-vlv-index"
"""The checks whose remedies are in the script as well: wrong answers come first, list views last."""
NO_CONFIGURATION = "no index configuration: nothing can be planned"
NO_LOG = "no access log: nothing can be planned"
ADD = "name it, too (see ldapdiag indexes --help)"
FIRST = "#!/bin/sh\nset -e\n"
HEAD = f"""# Adds the indexes of one database after the other, builds them, waits for the build, and checks the answers.
# The check {COST}
# Stops at the first failure and prints the state that it leaves. LDAP_PASSWORD_FILE may name a file with the password.
"""
AT_SERVER = """server=
at() {
[ "$1" = "$server" ] || { forget_password; say "At $1:"; }
server=$1
}
"""
"""Each server is named, and has a password of its own."""
UNBUILT = "what this step configured may not be built: do not restart the server before it is built or removed."
NONE_CHECKED = "say 'Done. Every command ended without an error; the answers of the indexes are not checked.'\n"
CHECKED = """Kinds of searches without a wrong answer: $right, each for 12 values at most."
[ "$unchecked" -eq 0 ] || say "Not checked (see above): $unchecked."
"""
SOME_CHECKED = f"""say "Done. Every command ended without an error. {{steps}}"
say "{CHECKED}"""
SOME_APART = """say "Done. Every command ended without an error. {steps}"
say "The lines above show which answers of the others are right, and which are not checked."
"""
DONE_APART = (
    "say 'Done. Every index is built; the lines above show which answers are right, and which are not checked.'\n"
)
UNWATCHED = "# Nothing here waits for the end of a build or checks the answers of an index: --script does.\n"
DONE = f"""say "Done. Every index is built. {CHECKED}"""


def of_plans(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Yield the remedies of every plan: all its indexes of one database at once; of a replicated one, of all plans."""
    coverages = {coverage.server: coverage for coverage in diagnosis.facts.every(IndexCoverage)}
    shared: dict[str, list[tuple[int, IndexPlace, list[Change]]]] = defaultdict(list)
    for plan in diagnosis.facts.every(IndexPlan):
        indexing = coverages[plan.server].indexes
        if indexing is None:
            continue
        replicated = traits_of(indexing.configuration.identity.family).replicates_indexes
        backends: dict[str, tuple[Backend, list[Change], SearchCoverage]] = {}
        for row in plan.indexes:
            if row.backend is not None:
                of_backend = backends.setdefault(row.backend.name, (row.backend, [], row.resolved[0]))
                of_backend[1].extend(row.changes)
        tool = ldapsearch_command(indexing.address, indexing.configuration)
        for backend, changes, one in backends.values():
            if replicated:
                shared[comparable(backend.entry)].append((plan.saved, indexing.place(backend), changes))
                continue
            search = search_command(tool, one.group.base, one.group.scope, one.filter)
            yield from add_indexes(indexing.place(backend), changes, search, verifies=False)
    for plans in shared.values():
        _, place, _ = max(plans, key=lambda one: one[0])
        yield from add_indexes(place, list(dict.fromkeys(change for one in plans for change in one[2])), None)


def of_wrong_answers(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Yield the remedies that build the indexes which lack entries, or will: those of one database at once.

    Those of other kinds follow; those that only prove it are left out.
    """
    unbuilt: dict[tuple[str, str], list[str]] = defaultdict(list)
    others: list[Remedy] = []
    for finding in (one for check, one in diagnosis.found if check == WRONG_ANSWERS):
        observed = finding.observed
        if observed["state"] in INCOMPLETE | {BuildState.UNUSED} and _has_entry(diagnosis, observed):
            unbuilt[observed["server"], observed["backend"]].append(observed["attribute"])
        else:
            others += (remedy for remedy in finding.remedies if remedy.needs is Needs.REINDEX)
    for (server, name), attributes in unbuilt.items():
        if (indexing := diagnosis.facts.of(ServerIndexes, server)) is not None:
            (backend,) = (one for one in indexing.configuration.backends if one.name == name)
            yield from build_indexes(indexing.place(backend), attributes)
    yield from others


def _has_entry(diagnosis: Diagnosis, observed: Mapping[str, Any]) -> bool:
    """Return whether the index of a finding is configured; a default index that a start adds is not yet."""
    indexing = diagnosis.facts.of(ServerIndexes, observed["server"])
    backends = indexing.configuration.backends if indexing is not None else ()
    names = {observed["attribute"].lower()}
    return any(one.name == observed["backend"] and one.definition(names) is not None for one in backends)


def of_list_views(diagnosis: Diagnosis) -> Iterator[Remedy]:
    """Yield the remedies that add VLV indexes, or let accounts use them."""
    for check, finding in diagnosis.found:
        if check == LIST_VIEWS:
            yield from finding.remedies


def as_script(diagnosis: Diagnosis) -> str:
    """Return a shell script; advice that is no command becomes a comment, an empty plan a comment alone.

    Raises LdapdiagError if no server can have a plan.
    """
    remedies = [*of_wrong_answers(diagnosis), *of_plans(diagnosis), *of_list_views(diagnosis)]
    advice = [*_not_planned(diagnosis)]
    later = [*_indexed_later(diagnosis)]
    advice += [
        f"# Not done by this: {neutral(remedy.text, longest=2000)}\n"
        for remedy in remedies
        if remedy.kind is RemedyKind.ADVICE
    ]
    families = dict.fromkeys(remedy.family for remedy in remedies if remedy.kind is RemedyKind.CONFIG)
    advice += [f"# {why}\n" for family in families if (why := without_script(family))]
    shell = [remedy for remedy in remedies if remedy.kind is RemedyKind.SHELL]
    if not shell:
        return "\n".join([FIRST, *later, *(advice or [f"# {NOTHING}\n"])])
    blocks = [remedy for remedy in shell if is_block(remedy.text)]
    shared = libraries_of(remedy.family for remedy in blocks)
    libraries = [one for one in shared if any(one in remedy.text for remedy in blocks)]
    steps = [_step(one, libraries) for one in shell]
    head = [f"{FIRST}{address_variables(shell)}{HEAD}", *later, *advice, SESSION, *libraries, AT_SERVER]
    return "\n".join([*head, *steps, end_of(shell)])


def end_of(shell: list[Remedy]) -> str:
    """Return the command that prints what has been done: all of it, because a failure ends the script before."""
    checked = [one for one in shell if FUNCTIONS in one.text]
    together = all(is_block(one.text) for one in checked)
    if len(checked) == len(shell):
        return DONE if together else DONE_APART
    steps = f"The answers of the indexes of {len(shell) - len(checked):,} of {len(shell):,} steps are not checked."
    return (SOME_CHECKED if together else SOME_APART).format(steps=steps) if checked else NONE_CHECKED


def _step(remedy: Remedy, libraries: list[str]) -> str:
    """Return the commands that add indexes and build them, preceded by the text to print if one fails."""
    lines = ["undo() { :; }"]
    if remedy.undo:
        lines = ["undo() {", "say 'To undo this step:'", "cat <<'UNDO'", remedy.undo, "UNDO", "}"]
    risk = shlex.quote(f"risk: {neutral(first_sentence(remedy.risk), longest=2000)}")
    lines = [f"at {shlex.quote(neutral(remedy.target))}", f"say {risk}", *lines]
    if is_block(remedy.text):
        return "\n".join([_comments(remedy), *lines, without_libraries(remedy.text, libraries), ""])
    title = shlex.quote(neutral(f"{remedy.title} at {remedy.target}"))
    return "\n".join([_comments(remedy), *lines, f"step={title} state='{UNBUILT}'", remedy.text, ""])


def as_ldif(diagnosis: Diagnosis) -> str:
    """Return LDIF; with nothing to do, a comment. Raises LdapdiagError if no server can have a plan."""
    unplanned = [*_not_planned(diagnosis), *_indexed_later(diagnosis)]
    others = [answer for answer in of_wrong_answers(diagnosis) if answer.kind is RemedyKind.SHELL]
    others += of_list_views(diagnosis)
    unplanned += [f"# Not in this LDIF, but in --script: {neutral(other.title)}\n" for other in others]
    changes = [plan for plan in of_plans(diagnosis) if plan.kind is RemedyKind.LDIF]
    if changes:
        watched = any(without_script(change.family) for change in changes)
        return "\n".join([*[UNWATCHED] * (not watched), *unplanned, *_ldif_parts(changes)])
    advice = [
        f"# {neutral(plan.text, longest=2000)}\n" for plan in of_plans(diagnosis) if plan.kind is RemedyKind.ADVICE
    ]
    planned = {plan.server for plan in diagnosis.facts.every(IndexPlan) if plan.indexes}
    indexings = [
        coverage.indexes
        for coverage in diagnosis.facts.every(IndexCoverage)
        if coverage.indexes and coverage.server in planned
    ]
    why = {f"# {without_ldif(indexing.configuration)}\n": None for indexing in indexings}
    return "".join([*unplanned, *(advice or why or [f"# {NOTHING}\n"])])


def _ldif_parts(changes: Iterable[Remedy]) -> Iterator[str]:
    """Yield the LDIF of each database; as comments where the index of another one must be built before."""
    begun = set[str]()
    for change in changes:
        lines = change.text.rstrip().split("\n")
        if change.target in begun and (between := between_ldif(change.family)):
            lines = [f"# {line}" for line in (between, *lines)]
        begun.add(change.target)
        yield "\n".join([_comments(change), *lines, ""])


def _not_planned(diagnosis: Diagnosis) -> list[str]:
    """Return a comment for each server without index configuration. Raises LdapdiagError if there is no other."""
    coverages = list(diagnosis.facts.every(IndexCoverage))
    lacking = [coverage.server for coverage in coverages if coverage.indexes is None]
    if len(lacking) == len(coverages):
        raise LdapdiagError(f"{NO_CONFIGURATION if lacking or not _is_configured(diagnosis) else NO_LOG}; {ADD}")
    return [f"# {neutral(server)}: {NO_CONFIGURATION}\n" for server in lacking]


def _indexed_later(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield a comment for each server with searches from before an index that answers them, or perhaps from before."""
    for plan in diagnosis.facts.every(IndexPlan):
        if plan.younger:
            many = counted(sum(scan.count for scan in plan.younger), "search", "searches")
            text = f"{many} not judged: an index that answers them was, or may have been, added or built later"
            needs = f"a log from {shown(plan.indexed_since)} on" if plan.indexed_since else "a later log"
            yield f"# {neutral(plan.server)}: {text}. That needs {needs}.\n"


def _is_configured(diagnosis: Diagnosis) -> bool:
    return any(isinstance(fact, IndexConfiguration) for fact in diagnosis.bundle.facts)


def _comments(remedy: Remedy) -> str:
    """Return title, changes and risk as comments of one line each."""
    lines = (f"{remedy.title} at {remedy.target}", remedy.changes, remedy.risk)
    return "\n".join(f"# {neutral(line, longest=2000)}" for line in lines)


VARIABLE = pattern(r"\$\{((?:LDAP_URI|LDAP_HOST)\w*):\?\}", re.ASCII)
STATED = pattern(r"^# (LDAP_\w+), exported once, must be (.+)$", re.MULTILINE | re.ASCII)


def address_variables(remedies: Iterable[Remedy]) -> str:
    """Return the lines that set the variables of the commands, and stop the script while one is empty."""
    texts = [remedy.text for remedy in remedies]
    needed = dict.fromkeys(name for text in texts for name in VARIABLE.findall(text))
    stated = {name: what for text in texts for name, what in STATED.findall(text)}
    return "".join(f"{_setting(name, stated.get(name, 'the address of the server'))}\n" for name in needed)


def _setting(name: str, what: str) -> str:
    reason = shlex.quote(f"nothing was changed: set {name} at the top of this script: {neutral(what)}")
    # A value in the environment counts, too.
    refusal = f"printf '%s\\n' {reason} >&2; exit 2"
    return f'{name}=${{{name}:-}}    # {neutral(what)}\n[ -n "${name}" ] || {{ {refusal}; }}'
