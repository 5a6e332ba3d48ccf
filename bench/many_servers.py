"""Ten thousand finished Segments combined into one, as the logs of so many servers are: time, memory, what stays right.

    PYTHONPATH=tests python bench/many_servers.py [SERVERS]

Each server has the same 20,000 lines (3 MB) with 303 clients: the same ones everywhere, or 300 of its own, so that
the caps of the tables are hit. Three clients are the truth of the capped case: one that uses every server, one with one
connection to each, and one that opens 5,000 connections to a single server late in the fleet. A tenth of the servers is
also compared, as `--by server` does.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from measure import peak_memory

from ldapdiag.analysis.fleet.comparison import Comparison
from ldapdiag.analysis.fleet.replicas import fleet_of
from ldapdiag.analysis.log.workload import Workload
from ldapdiag.evidence.family import Family
from ldapdiag.evidence.log.combine import combine
from ldapdiag.evidence.log.dialects import named
from ldapdiag.evidence.log.line_scan import Hints
from ldapdiag.evidence.log.segment import Segment
from ldapdiag.report.log.content import fleet_as_data
from ldapdiag.sources.logs import native

GENERATOR = Path(__file__).resolve().parents[2] / "shared/lab/gen_access_log.py"
SERVERS = 10_000
LINES = 20_000
GROUP = 100
"""Servers whose Segments are in memory at once."""
STAMP = b"[20/Sep/2026:17:00:00.000000000 +0000]"
EVERYWHERE, ONE_EACH, ONE_SERVER = b"10.10.1.168", b"192.0.2.1", b"192.0.2.7"
PLANTED = {"of all servers": EVERYWHERE, "one on each": ONE_EACH, "of one server": ONE_SERVER}
HEAVY = 5_000
"""Connections of the client of one server."""
CASES = ("the same clients", "other clients on each")
COMPARED = "compared"

HEADER = (
    f"{'servers':>8}  {'clients':22} {'scan':>7} {'load':>7} {'combine':>8} {'last tenth':>10} "
    f"{'in memory':>10} {'result':>8} {'peak':>9}"
)


@dataclass(slots=True)
class Costs:
    """Seconds of processor time of one case, and bytes."""

    scan: float = 0.0
    load: float = 0.0
    combine: float = 0.0
    last_tenth: float = 0.0
    in_memory: int = 0
    """Bytes of one finished Segment as objects."""


def text_of(text: bytes, server: int, servers: int, *, others: bool) -> bytes:
    """Return the log of one server."""
    if others:
        text = text.replace(b" from 10.20.", b" from 10.%d.%d." % (11 + server // 250, server % 250))
    text += opened(900_000, ONE_EACH)
    if server == servers * 3 // 4:
        text += b"".join(opened(1_000_000 + number, ONE_SERVER) for number in range(HEAVY))
    return text


def opened(conn: int, client: bytes) -> bytes:
    """Return the lines of a connection without operations."""
    head = b"%b conn=%d" % (STAMP, conn)
    return b"%b fd=64 slot=64 connection from %b to 10.0.0.5\n%b op=-1 fd=64 Disconnect - B1\n" % (head, client, head)


def scanned(text: bytes) -> Segment:
    """Return the finished Segment of a log."""
    scan = native.scan(named("389-text"), Hints(), None)
    scan.feed(text)
    counts = native.NativeCounts()
    for _, part in native.take_parts(scan):
        counts.merge(part)
    return counts.finished()


def combined(text: bytes, servers: int, costs: Costs, *, others: bool) -> Segment:
    """Return the sum of all servers; each arrives pickled, as from a worker."""
    total = Segment()
    for first in range(0, servers, GROUP):
        segments = []
        for server in range(first, min(first + GROUP, servers)):
            at = process_time()
            arrived = pickle.dumps(scanned(text_of(text, server, servers, others=others)))
            costs.scan += process_time() - at
            at = process_time()
            segments.append(pickle.loads(arrived))  # noqa: S301  made above
            costs.load += process_time() - at
        at = process_time()
        total = combine(total, *segments)
        spent = process_time() - at
        costs.combine += spent
        costs.last_tenth += spent if first >= servers * 9 // 10 else 0
    return total


def report(text: bytes, servers: int, case: str) -> None:
    """Measure one case, and print it with what differs from the truth."""
    costs = Costs()
    costs.in_memory = bytes_as_objects(text)
    began = perf_counter()
    total = combined(text, servers, costs, others=case == CASES[1])
    size = len(pickle.dumps(total))
    print(
        f"{servers:8,}  {case:22} {costs.scan:5.0f} s {costs.load:5.1f} s {costs.combine:6.1f} s "
        f"{costs.last_tenth:8.1f} s {costs.in_memory / 1e6:7.2f} MB {size / 1e6:5.1f} MB {peak_memory() >> 10:5} MiB"
        f"   ({perf_counter() - began:.0f} s on the clock)"
    )
    for line in truths(text, total, servers):
        print(f"{'':10}{line}")


def report_comparison(text: bytes, servers: int) -> None:
    """Measure the comparison of servers with the same clients."""
    segments = [scanned(text_of(text, server, servers, others=False)) for server in range(servers)]
    at = process_time()
    fleet = fleet_of((f"ds{number}", Workload(one, Family.DS389)) for number, one in enumerate(segments))
    found = fleet_as_data(Comparison(fleet))["differing_searches"]
    spent = process_time() - at
    print(f"{servers:8,}  compared side by side: {spent:.1f} s, {peak_memory() >> 10} MiB; {len(found)} differ")


def truths(text: bytes, total: Segment, servers: int) -> list[str]:
    """Return what is exact, and what is not."""
    one = scanned(text)
    lines = servers * (one.lines + 2) + 2 * HEAVY
    connections = servers * (one.opened + 1) + HEAVY
    expected = {EVERYWHERE: servers * one.clients[EVERYWHERE].opened, ONE_EACH: servers, ONE_SERVER: HEAVY}
    rows = {client: total.clients[client].opened if client in total.clients else 0 for client in expected}
    cells = sum(cell[0] for cell in total.attribution.values())
    found = "; ".join(f"{what} {exact(rows[client], expected[client])}" for what, client in PLANTED.items())
    tables = f"rows of clients {len(total.clients):,}, of attribution {len(total.attribution):,}"
    opened_by = exact(sum(row.opened for row in total.clients.values()), connections)
    return [
        f"full tables: {', '.join(total.caps_hit) or 'none'}; {tables}",
        f"lines {exact(total.lines, lines)}; connections {exact(total.opened, connections)}, by client {opened_by}",
        f"results of the attribution's rows {exact(cells, sum(total.results.values()))}",
        f"connections of clients: {found}",
        f"omitted at most: {total.clients.omitted:,} connections and operations of a client",
    ]


def exact(found: int, expected: int) -> str:
    """Return a number, compared with the truth."""
    return f"{found:,} exact" if found == expected else f"{found:,} of {expected:,}"


def bytes_as_objects(text: bytes) -> int:
    """Return the memory of one finished Segment, from that of a hundred."""
    resident = _resident()
    arrived = pickle.dumps(scanned(text))
    kept = [pickle.loads(arrived) for _ in range(100)]  # noqa: S301  made above
    return (_resident() - resident) // len(kept)


def _resident() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024


def main() -> None:
    """Run each case in a process of its own, for its peak memory."""
    servers = int(sys.argv[1]) if len(sys.argv) > 1 else SERVERS
    if len(sys.argv) > 2:
        text = Path(sys.argv[3]).read_bytes()
        if sys.argv[2] == COMPARED:
            report_comparison(text, servers)
        else:
            report(text, servers, sys.argv[2])
        return
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory(prefix="ldapdiag-bench-") as folder:
        log = Path(folder) / "access"
        subprocess.run([sys.executable, GENERATOR, str(LINES), log], check=True)
        for case in CASES:
            subprocess.run([sys.executable, __file__, str(servers), case, log], check=True)
        subprocess.run([sys.executable, __file__, str(servers // 10), COMPARED, log], check=True)


if __name__ == "__main__":
    main()
