"""How fast ldapdiag is: ratios to the time of the bare work (Python alone, ss, grep), measured in one run.

    make bench

Times depend on the machine, ratios hardly do; so each line is: what, ours, theirs, ratio, goal, met or not.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import every_table
import index_advice
import instructions
import live_diagnosis
import live_sockets
import log_hostile
import log_speed
import many_clients
import many_shapes
import object_stores
import one_stream
import pairing
import socket_tables
import starting
from measure import HEADER


def main() -> None:
    """Print every figure."""
    print(HEADER, flush=True)
    with TemporaryDirectory(prefix="ldapdiag-bench-") as folder:
        tables = Path(folder)
        for figures in (
            socket_tables.figures(tables),
            every_table.figures(tables),
            live_sockets.figures(),
            pairing.figures(),
            many_clients.figures(tables),
            starting.figures(),
            live_diagnosis.figures(),
            log_speed.figures(tables),
            object_stores.figures(tables),
            one_stream.figures(tables),
            instructions.figures(tables),
            index_advice.figures(tables),
            many_shapes.figures(tables),
        ):
            for figure in figures:
                print(figure, flush=True)
        print(every_table.HEADER, flush=True)
        for growth in every_table.growths(tables):
            print(growth, flush=True)
        for header, lines in (
            (log_speed.GROWTH_HEADER, log_speed.growths(tables)),
            (log_hostile.HEADER, log_hostile.rows(tables)),
        ):
            print(header, flush=True)
            for line in lines:
                print(line, flush=True)


if __name__ == "__main__":
    main()
