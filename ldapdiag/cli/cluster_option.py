"""The option --cluster of `log` and `indexes`, and the connection to the cluster that it names."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from ldapdiag.cli.commands import Panel
from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from threading import Event

    from ldapdiag.cli.notices import Notices
    from ldapdiag.sources.cluster.executor import Executor

ClusterOption = Annotated[
    str | None,
    Panel.EVIDENCE.option(
        "--cluster",
        metavar="CLUSTER",
        help="Read the logs on the workers of this Dask cluster: tcp://HOST:8786, tls://HOST:8786, a scheduler file, "
        "env (DASK_SCHEDULER_ADDRESS), or local:N for N processes here. Workers need the same ldapdiag, and the "
        "logs under the same paths or in an object store.",
    ),
]


def check_alone(cluster: str | None, others: Mapping[str, object]) -> None:
    """Raise UsageError if one of the other options is used with --cluster."""
    for option, value in others.items():
        if cluster is not None and value:
            raise UsageError(f"--cluster excludes {option}: omit one of them")


@contextmanager
def cluster_executor(named: str | None, notices: Notices, stop: Event) -> Iterator[Executor | None]:
    """Connect to the cluster that the operator named; None: no cluster. Raise UsageError or ClusterError."""
    if named is None:
        yield None
        return
    from ldapdiag.sources.cluster.addresses import cluster_address  # noqa: PLC0415  import late
    from ldapdiag.sources.cluster.dask_executor import dask_executor  # noqa: PLC0415

    address = cluster_address(named)
    if address.scheduler.startswith("tcp://"):
        notices.write(f"warning: {address} has no TLS: who is on the way can read and change everything; use tls://")
    with dask_executor(address, stop) as executor:
        if executor.dashboard:
            notices.write(f"dashboard of the cluster: {executor.dashboard}")
        yield executor
