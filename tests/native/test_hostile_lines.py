"""Lines that no server would write, and logs that one could have written: both scanners give the same Segment."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import examples
from hostile_logs import HOSTILE, Hostile
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.tables import Caps
from log.comparable import plain
from log.mutations import FORGED, NUMBERS, mutated
from log.real_logs import ALL_LOGS
from log.reports import rendered
from log.scanners import NATIVE_DIALECTS, merged, need_native
from log.servers import confuses_dropped_requests, drawn_logs
from log.vectors import HINTS

if TYPE_CHECKING:
    from ldapdiag.evidence.log.dialect import Dialect
    from ldapdiag.evidence.log.segment import Segment

AT_ONCE = len(examples.some(range(200), 2))
MOST_LINES = 4000
"""Of one dialect, to choose from."""

TINY = Caps(
    shapes=2, clients=2, accounts=1, attribution=2, owed=2, targets=1, codes=1, notes=1, results=2, pending=2, pages=2,
    connections=2,
)  # fmt: skip
ACCOUNT_MARKS = (b"AUTOBIND", b" bound as ", b" mech=")
TOTALS = ("lines", "misread", "passed_over", "operations", "opened", "internal", "first_time", "last_time")

each_dialect = pytest.mark.parametrize("dialect", NATIVE_DIALECTS, ids=lambda dialect: dialect.name)


@pytest.fixture(autouse=True)
def _installed() -> None:
    need_native()


def agreed(dialect: Dialect, *chunks: bytes) -> tuple[Segment, Segment]:
    """Return the Segments of both scanners, which are found to be the same."""
    python, native = (merged(one, dialect, chunks, HINTS) for one in ("python", "native"))
    assert plain(native) == plain(python), chunks
    return python, native


def agree_at_some_cut(dialect: Dialect, data: bytes) -> bool:
    """Compare both scanners; what no server writes in this order, the native one may count otherwise by its cuts."""
    ends = sorted({dialect.cut(data, place + 1) for place in range(len(data)) if data[place] == ord("\n")})
    records = [data[left:right] for left, right in pairwise([*dict.fromkeys([0, *ends, len(data)])])]
    return any(
        plain(merged("native", dialect, chunks, HINTS)) == plain(merged("python", dialect, chunks, HINTS))
        for chunks in ([data], records)
    )


def without_accounts(data: bytes) -> bytes:
    """Remove the lines that name an account outside of the request and the result of a BIND.

    Where the BIND is under way and its request in an earlier chunk, or before the log, the native scanner may take
    another account for that of the results that follow.
    """
    return b"".join(line for line in data.splitlines(keepends=True) if not any(mark in line for mark in ACCOUNT_MARKS))


TLS_BEFORE_ACCEPT = b"".join(
    b"Nov 20 08:00:00 h slapd[100]: conn=1000 %b\n" % event
    for event in (
        b"fd=16 TLS established tls_ssf=256 ssf=256 tls_proto=TLSv1.3 tls_cipher=TLS_AES_256_GCM_SHA384",
        b"fd=16 ACCEPT from IP=10.0.0.1:41000 (IP=0.0.0.0:636)",
        b'op=0 BIND dn="cn=app" method=128',
        b'op=0 BIND dn="cn=app" mech=SIMPLE bind_ssf=0 ssf=256',
        b"op=0 RESULT tag=97 err=0 qtime=0.000010 etime=0.000071 text=",
        b"op=1 UNBIND",
        b"fd=16 closed",
    )
)


def test_what_is_written_before_an_opening_is_of_its_connection() -> None:
    _, native = agreed(named("openldap-syslog"), TLS_BEFORE_ACCEPT)
    assert (native.opened, native.open_before, native.open_at_end, sum(native.closed.values())) == (1, 0, 0, 1)
    assert (dict(native.accounts), dict(native.clear_binds)) == ({b"cn=app": 1}, {})


@cache
def lines_of(dialect: Dialect) -> list[bytes]:
    """Return lines of every log of a dialect, the small logs whole."""
    logs = [log.head.splitlines(keepends=True) for log in ALL_LOGS if log.dialect == dialect]
    each = max(40, MOST_LINES // len(logs))
    return [line for lines in logs for line in lines[:: len(lines) // each + 1]]


@each_dialect
@pytest.mark.parametrize("seed", examples.rounds(8))
def test_damaged_lines_are_read_alike(dialect: Dialect, seed: int) -> None:
    choose = examples.choices(f"{dialect.name} {seed}")
    for _ in range(AT_ONCE):
        data = mutated(lines_of(dialect), choose)
        assert agree_at_some_cut(dialect, data) or agree_at_some_cut(dialect, without_accounts(data)), data


@each_dialect
def test_every_forged_text_at_every_place_of_a_line_is_read_alike(dialect: Dialect) -> None:
    longest = {}
    for line in lines_of(dialect):
        words = tuple(word for word in line.split() if word.isalpha())[:3]
        longest.setdefault(words, line)
    lines = [line for line in longest.values() if len(line) < 250][:12]
    for number, line in enumerate(lines):
        for place in examples.some(range(number % 5, len(line), 5), 4):
            forged = (FORGED + NUMBERS)[place % 3 :: 3]
            agreed(dialect, b"".join(line[:place] + text + line[place:] for text in forged))


@given(drawn_logs(), st.lists(st.integers(0, 10_000), max_size=12))
def test_what_a_server_could_have_written_is_read_alike(lines: list[bytes], places: list[int]) -> None:
    cuts = pairwise(sorted({0, *(place % (len(lines) + 1) for place in places), len(lines)}))
    python, native = agreed(named("389-text"), *(b"".join(lines[left:right]) for left, right in cuts))
    assert rendered(native) == rendered(python)


@given(drawn_logs(), st.integers(0, 60))
def test_with_caps_hit_the_totals_are_alike(lines: list[bytes], place: int) -> None:
    chunks = [b"".join(lines[:place]), b"".join(lines[place:])]
    python, native = (merged(scanner, named("389-text"), chunks, caps=TINY) for scanner in ("python", "native"))
    check_totals(native, python, is_exact=not confuses_dropped_requests(lines))


def check_totals(native: Segment, python: Segment, *, is_exact: bool = True) -> None:
    """Compare what is exact even where a cap was hit; without `is_exact`, the requests are not."""
    for name in [name for name in TOTALS if is_exact or name != "operations"]:
        assert plain(getattr(native, name)) == plain(getattr(python, name)), name
    assert sum(native.results.values()) == sum(python.results.values())
    assert sum(native.closed.values()) == sum(python.closed.values())
    assert sum(native.noted.values()) == sum(python.noted.values())
    ours, theirs = (sum(row.requests for row in one.shapes.values()) for one in (python, native))
    assert theirs == ours or not is_exact
    assert sum(row.opened for row in native.clients.values()) == sum(row.opened for row in python.clients.values())


@pytest.mark.parametrize("hostile", examples.some(HOSTILE, 6), ids=lambda one: one.what)
def test_hostile_logs_are_read_alike(hostile: Hostile) -> None:
    """The logs of test_bounds, in chunks that hit a cap now and then."""
    units = 1000 if hostile.size == 1 else 2
    chunks = list(hostile.blocks(units, 700))
    for chunk in chunks:
        agreed(named("389-text"), chunk)
    python, native = (merged(scanner, named("389-text"), chunks) for scanner in ("python", "native"))
    assert native.caps_hit == python.caps_hit
    check_totals(native, python)
    if not python.caps_hit:
        assert rendered(native) == rendered(python)


@each_dialect
@given(data=st.data())
def test_any_bytes_are_read_alike(dialect: Dialect, data: st.DataObject) -> None:
    words = st.sampled_from([word for line in lines_of(dialect)[:400] for word in line.split(b" ")])
    bits = st.one_of(words, st.sampled_from(FORGED + NUMBERS), st.binary(max_size=4), st.just(b"\n"))
    agreed(dialect, data.draw(st.sampled_from((b" ", b"", b"\n"))).join(data.draw(st.lists(bits, max_size=40))))
