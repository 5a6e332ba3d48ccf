"""However a real log is fed in pieces, it gives what the whole gives, in every number."""

from __future__ import annotations

import pickle
from functools import reduce
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from conftest import CAPTURES, CORPUS
from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.dialects import scan_stream
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.stream_scan import StreamScan
from ldapdiag.sources.logs.log_files import LogFile, find_logs
from log.cuts import boundaries, content_of, dialect_of, fed, pieces, text, whole

OURS = [CAPTURES / name for name in ("389ds/hostile-filters/access", "access-logs/389-unindexed.head500.access")]
SHARED = [
    "1-389ds-unindexed/access",
    "1-389ds-unindexed/access.level260-plugin-statlog",
    "2-openldap-unindexed/slapd.stderr.log",
    "2-openldap-unindexed/syslog-traditional.log",
    "2-openldap-unindexed/syslog-iso.log",
    "2-openldap-unindexed/syslog-rfc5424.head1500.log",
    "2-openldap-unindexed/filter-level/head2500.slapd.stderr.stats-filter.log",
    "2-openldap-unindexed/filter-level/head2500.syslog-traditional.stats-filter.log",
    "3-opendj-unindexed/access",
    "3-opendj-unindexed/access-combined",
    "3-opendj-unindexed/ldap-access.audit.json",
    "5a-ghost-389ds/ldap/access",
    "5c-fd-exhaustion-openldap/ldap/slapd.stderr.log",
    "6b-symmetric-leak/ldap/access",
    "6e-churn-skew/access.head4000",
    "6f-idletimeout-90-above-fw-30/ldap/access",
    "7-traps/389-nasty/access",
    "7-traps/389-restart/access",
    "7-traps/389-rotation-gzip/access.20261120-090639.gz",
    "7-traps/crlf/access.389.crlf",
    "7-traps/crlf/syslog.openldap.crlf",
    "7-traps/truncated/access.389.truncated-last-line",
]
PUBLIC = CORPUS / "public" / "accesslog"
LEAST_DIALECTS = 7
"""So many of our dialects have a real log here."""

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the shared corpus is not beside this checkout (it is in CI)"
)


def logs() -> list[Path]:
    """Return every log at hand: our captures, the cases of the corpus, and what others have published."""
    if not CORPUS.is_dir():
        return OURS
    public = [path for path in sorted(PUBLIC.iterdir()) if isinstance(next(iter(find_logs([str(path)]))), LogFile)]
    return [*OURS, *(CORPUS / name for name in SHARED if (CORPUS / name).exists()), *public]


LOGS = logs()
each_log = pytest.mark.parametrize("path", examples.some(LOGS, 6), ids=lambda path: "/".join(path.parts[-3:]))


def test_every_dialect_that_real_logs_have_is_here() -> None:
    names = {dialect_of(path).name for path in LOGS}
    assert len(names) >= LEAST_DIALECTS, names


@each_log
def test_it_can_be_cut_in_many_places(path: Path) -> None:
    """Else the other tests would prove nothing."""
    assert len(boundaries(path)) >= min(3, text(path).count(b"\n") - 2)


@each_log
@pytest.mark.parametrize("seed", examples.rounds(6))
def test_read_in_any_pieces_it_is_the_whole(path: Path, seed: int) -> None:
    choose = examples.choices(f"{path.name} {seed}")
    places = [choose.randrange(1 << 30) for _ in range(choose.choice([1, 2, 7, 40]))]

    assert content_of(fed(dialect_of(path), pieces(path, places))) == whole(path)


@each_log
def test_each_boundary_of_its_beginning_and_end(path: Path) -> None:
    """Where connections are opened and closed is where a cut hurts most: each place there."""
    ends, most = boundaries(path), len(examples.rounds(25))
    places = [*range(len(ends))][:most] + [*range(len(ends))][-most:]
    assert content_of(fed(dialect_of(path), pieces(path, places))) == whole(path)


@each_log
def test_read_elsewhere_between_two_pieces_it_is_the_whole(path: Path) -> None:
    """As a cluster does it: what is counted so far goes from one process to another."""
    ends, scan = boundaries(path), StreamScan()
    for part in pieces(path, [*range(0, len(ends), max(1, len(ends) // 10))]):
        scan.feed(dialect_of(path), part, Hints())
        scan = pickle.loads(pickle.dumps(scan))  # noqa: S301  our own
    assert content_of(scan.finish()) == whole(path)


@given(st.data())
@examples.every(5)
def test_any_pieces_of_the_beginning_of_any_log(data: st.DataObject) -> None:
    """Hypothesis looks for the smallest cut that breaks the law: of the first 300 records, that is soon."""
    path = data.draw(st.sampled_from(LOGS))
    ends = boundaries(path)[:300]
    if not ends:
        return
    head = text(path)[: ends[-1]]
    places = sorted({ends[place % len(ends)] for place in data.draw(st.lists(st.integers(0, 299), max_size=8))})
    parts = [head[left:right] for left, right in pairwise(sorted({0, *places, len(head)}))]

    assert content_of(fed(dialect_of(path), parts)) == content_of(scan_stream(dialect_of(path), head))


@pytest.mark.parametrize("seed", examples.rounds(10))
def test_streams_combine_in_any_order(seed: int) -> None:
    choose = examples.choices(seed)
    chosen = choose.sample([path for path in LOGS if len(text(path)) < 1 << 20], 6)
    shuffled = list(chosen)
    choose.shuffle(shuffled)

    one, other = (
        content_of(reduce(combine, (scan_stream(dialect_of(path), text(path)) for path in order)))
        for order in (chosen, shuffled)
    )

    assert one == other
