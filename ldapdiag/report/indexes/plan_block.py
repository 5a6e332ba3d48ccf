"""A plan of indexes on the screen of a diagnosis, in the place of the findings that it contains, and its first step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ldapdiag.evidence.indexes import IndexConfiguration
from ldapdiag.report.common_parts import hint_for
from ldapdiag.report.findings import LONG_FIRST, first_sentence, print_commands
from ldapdiag.report.headline import FirstStep
from ldapdiag.servers.traits import traits_of
from ldapdiag.wording import counted, duration, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ldapdiag.evidence.family import Family
    from ldapdiag.report.page import Page

PLAN = "PLAN"


def print_plan(page: Page, document: Mapping[str, Any], plan: Mapping[str, Any], step: FirstStep | None) -> None:
    """Print what a plan saves and adds, its commands if they are few and not printed yet, and where all of it is."""
    page.labelled(PLAN, f"{plan['server']}: {plan['summary']}", "bold")
    page.indented(" · ".join(f"{row['attribute']} {','.join(row['types'])}" for row in plan["indexes"]))
    done = step is not None and step.remedy is not None and step.remedy["target"] == plan["server"]
    if plan["commands"] and not done and page.rows_of(plan["commands"]) <= LONG_FIRST:
        page.indented(f"risk: {first_sentence(plan['risk'])}")
        print_commands(page, plan["commands"])
    many = counted(len(plan["findings"]), "finding")
    page.indented(f"{many} on its searches in one place, with all commands:")
    print_commands(page, audit_command(document))


def unindexed_share(plan: Mapping[str, Any]) -> str:
    """Return the search time of a server without an index: `none`, `190 min (87 %)`, `3 to 9 s (30 to 90 %)`."""
    total = plan["etime_seconds"]
    least, most = _unindexed(plan)
    if not total or not most:
        return duration(most) if most else "none"
    shares = [percent(each / total) for each in (least, most)]
    share = shares[1] if shares[0] == shares[1] else f"{shares[0].removesuffix(' %')} to {shares[1]}"
    return f"{unindexed_time(plan)} ({share})"


def unindexed_time(plan: Mapping[str, Any], in_words: Callable[[float], str] = duration) -> str:
    """Return that time alone; its bounds where not all searches are judged."""
    least, most = map(in_words, _unindexed(plan))
    return most if least == most else f"{least} to {most}"


def _unindexed(plan: Mapping[str, Any]) -> tuple[float, float]:
    """Return the bounds of the search time of a server that is without an index, in seconds."""
    least = plan["unindexed_etime_seconds"]
    bounds = plan["not_judged"]["unindexed_etime_seconds"] if "not_judged" in plan else {"least": 0, "most": 0}
    return least, least - bounds["least"] + bounds["most"] + plan.get("undecided_etime_seconds", 0)


def audit_command(document: Mapping[str, Any]) -> str:
    """Return the command that prints the plans of the same evidence in full."""
    return " ".join(filter(None, ["ldapdiag indexes", document["tool"]["arguments"]]))


def step_of_plan(row: Mapping[str, Any], family: Family | None) -> FirstStep | None:
    """Return what to do first with the plan of a server; None if there is nothing to add."""
    if not row["plan"]:
        return None
    if row["configured"]:
        once = traits_of(family).replicates_indexes
        where = "once for all servers" if once else "one server at a time"
        return FirstStep(f"add the indexes with the commands of this plan, {where}, off peak")
    how = hint_for(IndexConfiguration.how, [family] if family else [])
    return FirstStep(f"add the index configuration{f': {how}' if how else ''}")
