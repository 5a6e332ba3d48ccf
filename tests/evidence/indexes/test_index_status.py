from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldapdiag.evidence.indexes.index_status import FORMAT, IndexState, IndexStatus
from reading import facts_of

if TYPE_CHECKING:
    from pathlib import Path

HEADING = "Index Name  Raw DB Name  Valid  Confidential  Record Count  Over Entry Limit  95%  90%  85%\n"


def status_of(content: bytes | str) -> IndexStatus:
    (found,) = [fact for fact in facts_of(content) if isinstance(fact, IndexStatus)]
    return found


def test_reads_keys_over_the_limit(captures: Path) -> None:
    found = status_of((captures / "opendj" / "indexes" / "backendstat-show-index-status.txt").read_bytes())
    assert (found.suffix, len(found.states), found.origin.not_understood) == ("dc=example,dc=com", 18, 0)
    assert found.over_limit == {"objectClass": ("inetorgperson", "organizationalperson", "person", "top")}
    substring = found.state("givenname", "substring")
    assert substring is not None
    assert (substring.keys, substring.over_limit, substring.over) == (67, 2, ("a", "na"))
    assert all(one.valid for one in found.states)


def test_the_stopped_and_the_running_server_name_the_same_unbuilt_index(captures: Path) -> None:
    folder = captures / "opendj" / "unbuilt-index"
    stopped = status_of((folder / "backendstat-show-index-status.txt").read_bytes())
    running = status_of((folder / "cn-monitor-userRoot.ldif").read_bytes())
    invalid = [one for one in stopped.states if not one.valid]
    assert [(one.attribute, one.type, one.keys) for one in invalid] == [("title", "substring", None)]
    assert [(one.attribute, one.type) for one in running.states] == [("title", "substring")]
    assert stopped.suffix == running.suffix
    equality = stopped.state("title", "equality")
    assert equality is not None
    assert equality.valid


def test_a_list_of_names_is_known_and_of_no_use(captures: Path) -> None:
    with pytest.raises(AssertionError, match="known but never read"):
        facts_of((captures / "opendj" / "unbuilt-index" / "backendstat-list-indexes.txt").read_bytes())


def test_keys_may_hold_brackets_and_dns_may_hold_commas() -> None:
    raw = r"/dc=com,o=a\,b/cn.caseIgnoreMatch"
    found = status_of(
        f"{HEADING}cn.caseIgnoreMatch  {raw}  true  false  9  2  0  0  0\n\nTotal: 1\n\nIndex: {raw}\n"
        "Over index-entry-limit keys: [a[b]c] [ ]\n"
    )
    assert found.suffix == r"o=a\,b,dc=com"
    assert found.states == (
        IndexState(attribute="cn", index="caseIgnoreMatch", valid=True, keys=9, over_limit=2, over=("a[b]c", " ")),
    )


@given(st.text(alphabet="/. [:]-atruefls0195%\n", max_size=300))
def test_nothing_breaks_it_and_every_line_is_counted(text: str) -> None:
    for fact in facts_of(HEADING + text, form=FORMAT):
        assert fact.origin.lines == fact.origin.understood + fact.origin.not_understood
