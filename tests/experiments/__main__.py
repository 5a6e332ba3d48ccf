"""Go on with experiments, one after the other, from where they were interrupted: `make experiments [ONLY=name]`.

A finished one adds a dated table to docs/experiments/, to be committed. With --small: a case of seconds, no table.
"""

from __future__ import annotations

import argparse
import sys

from experiments import (
    active_directory,
    brackets,
    client_pools,
    connection_cases,
    distinct_fields,
    drawn_examples,
    drawn_filters,
    drawn_incident,
    first_action,
    fleet_on_cluster,
    fuzzing,
    hostile_logs,
    idle_pools,
    index_incident,
    index_life,
    installing,
    mutants,
    needed_indexes,
    nights,
    reader_fuzzing,
    side_by_side,
    top,
)
from experiments.notebook import AS_EXPECTED, go_on

EXPERIMENTS = {
    one.name: one
    for one in (
        active_directory.EXPERIMENT,
        hostile_logs.EXPERIMENT,
        distinct_fields.EXPERIMENT,
        drawn_examples.EXPERIMENT,
        drawn_filters.EXPERIMENT,
        drawn_incident.EXPERIMENT,
        fuzzing.EXPERIMENT,
        index_incident.EXPERIMENT,
        index_life.EXPERIMENT,
        needed_indexes.EXPERIMENT,
        client_pools.EXPERIMENT,
        brackets.EXPERIMENT,
        idle_pools.EXPERIMENT,
        connection_cases.EXPERIMENT,
        fleet_on_cluster.EXPERIMENT,
        first_action.EXPERIMENT,
        installing.EXPERIMENT,
        mutants.EXPERIMENT,
        nights.EXPERIMENT,
        reader_fuzzing.EXPERIMENT,
        side_by_side.EXPERIMENT,
        top.EXPERIMENT,
    )
}


def main() -> None:
    """Print each row; end with 1 if one was not as expected."""
    parser = argparse.ArgumentParser(prog="experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(EXPERIMENTS)}; without: all")
    parser.add_argument("--small", action="store_true", help="try a small case, and write nothing")
    chosen = parser.parse_args()
    surprises = 0
    for name in chosen.names or EXPERIMENTS:
        experiment = EXPERIMENTS[name]
        print(f"{name}: {experiment.title}", flush=True)
        rows = (
            ({"step": step, **experiment.run(step, small=True)} for step in experiment.steps[: experiment.small])
            if chosen.small
            else go_on(experiment)
        )
        for row in rows:
            print("  " + " · ".join(f"{column} {cell}" for column, cell in row.items()), flush=True)
            surprises += row["result"] != AS_EXPECTED
    sys.exit(surprises > 0)


if __name__ == "__main__":
    main()
