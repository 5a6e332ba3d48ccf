"""ldapdiag exporter: diagnose by a timer, and serve the numbers to Prometheus."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any

from ldapdiag.cli.collecting import Collecting
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.destinations import Output
from ldapdiag.cli.diagnose import EvidenceArgument, LdapPortOption, NoAccountsOption
from ldapdiag.cli.judging import collected_again, report_of
from ldapdiag.cli.judging_options import Detail, Gate, Judging
from ldapdiag.cli.notices import Notices, QuietOption
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.output import print_error
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from wsgiref.simple_server import WSGIServer

    from ldapdiag.exporter.web_configuration import WebConfiguration
    from ldapdiag.exporter.web_server import Collections

HIGHEST_PORT = 65535
NOTHING = "nothing was collected; what is served is the collection before, with its time"

ListenOption = Annotated[
    str,
    Panel.OUTPUT.option(
        "--listen",
        metavar="ADDRESS:PORT",
        help="Answer at this address; [::]:PORT or 0.0.0.0:PORT is every one of this host.",
    ),
]
EveryOption = Annotated[
    float,
    Panel.COLLECTING.option(
        "--every",
        parser=DurationOption(least=5, most=86_400),
        metavar="SECONDS",
        help="Wait SECONDS after a collection before the next.",
    ),
]
WebConfigOption = Annotated[
    Path | None,
    Panel.OUTPUT.option(
        "--web-config",
        metavar="FILE",
        help="Use TLS and basic authentication as FILE says, a web configuration of Prometheus exporters.",
    ),
]


@command
def exporter(  # noqa: PLR0913  option by option
    evidence: EvidenceArgument = None,
    *,
    listen: ListenOption = "127.0.0.1:9942",
    every: EveryOption = 60,
    web_config: WebConfigOption = None,
    no_accounts: NoAccountsOption = False,
    ldap_port: LdapPortOption = None,
    collecting: Collecting,
    quiet: QuietOption = False,
) -> None:
    """Serve the numbers of a diagnosis to Prometheus.

    Collects by a timer, one collection at a time, and answers GET /metrics with the last one and its time. Nothing is
    changed or left on the targets. What was not judged is absent.

    The metrics are those of diagnose --format openmetrics, and the number of collections, of those that failed, and
    the duration of the last.

    Exit code:
        0  ended by SIGTERM or Ctrl-C
        2  the address or the web configuration cannot be used

    Examples:
        This host, as root:
            ldapdiag exporter
        A server and a host of its clients, for Prometheus on another host, with TLS and a password:
            ldapdiag exporter ldaps://ds1 ssh://ds1 ssh://app1 --listen 0.0.0.0:9942 --web-config web.yml
    """
    if collecting.binding.prompt:
        raise UsageError("-W: a daemon cannot be asked for a password before each collection; use -y FILE")
    from ldapdiag.exporter.web_configuration import read  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.exporter.web_server import Collections  # noqa: PLC0415
    from ldapdiag.report.monitoring.gauges import require_library  # noqa: PLC0415

    require_library("ldapdiag exporter")
    stop = Event()
    asked = Judging(Output(), Detail(), Gate(), collecting, quiet=True)
    ports = {"ldap_ports": frozenset(ldap_port or ())}

    def collect() -> Mapping[str, Any]:
        return report_of(collected_again(evidence or [], asked, stop, ports, NOTHING))()

    collections = Collections(collect, print_error, with_accounts=not no_accounts)
    configuration = read(web_config)
    server = _listening(listen, collections, configuration)

    def end(*_: object) -> None:
        stop.set()
        Thread(target=server.shutdown, daemon=True).start()  # it waits for the thread that runs this handler

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    secure = "s" * (configuration.tls is not None)
    Notices(quiet=quiet).write(f"http{secure}://{listen}/metrics; a collection every {every:g} s")
    Thread(target=collections.run, args=(every, stop), daemon=True).start()
    server.serve_forever(poll_interval=0.5)
    server.server_close()


def _listening(listen: str, collections: Collections, configuration: WebConfiguration) -> WSGIServer:
    """Return the server. Raises UsageError."""
    from ldapdiag.exporter.web_server import serve  # noqa: PLC0415  import late

    host, port = _address(listen)
    try:
        return serve(collections, configuration, host, port)
    except OSError as error:
        raise UsageError(f"cannot listen at {listen}: {(error.strerror or str(error)).lower()}") from error


def _address(listen: str) -> tuple[str, int]:
    """Return address and port. Raises UsageError."""
    host, _, port = listen.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) <= HIGHEST_PORT):
        raise UsageError(f"--listen {listen}: write ADDRESS:PORT, as in 127.0.0.1:9942 or [::]:9942")
    return host.removeprefix("[").removesuffix("]"), int(port)
