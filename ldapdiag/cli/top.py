"""ldapdiag top: a live view of directory servers on the terminal."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any

from ldapdiag.cli.collecting import Binding, Collecting
from ldapdiag.cli.commands import Panel
from ldapdiag.cli.destinations import Output, write_files
from ldapdiag.cli.diagnose import EvidenceArgument, LdapPortOption, Recording, summary_of
from ldapdiag.cli.exporter import EveryOption
from ldapdiag.cli.judging import collected_again, report_of
from ldapdiag.cli.judging_options import Detail, Gate, Judging
from ldapdiag.cli.notices import Notices
from ldapdiag.cli.option_groups import command
from ldapdiag.cli.rendering import made
from ldapdiag.cli.repeated_diagnosis import RepeatedDiagnosis
from ldapdiag.cli.times import DurationOption
from ldapdiag.errors import LdapdiagError, UsageError
from ldapdiag.wording import shown_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ldapdiag.cli.watched_logs import Watched
    from ldapdiag.live_view.model import Model
    from ldapdiag.live_view.replay import Moment
    from ldapdiag.live_view.server import ServerModel
    from ldapdiag.live_view.socket_look import SocketLook
    from ldapdiag.live_view.source import TimedSource
    from ldapdiag.live_view.view import View
    from ldapdiag.sources.collection_options import CollectionOptions
    from ldapdiag.sources.live.ldap.watch import Watch
    from ldapdiag.sources.live.socket_watch import SocketWatch
    from ldapdiag.sources.logs.log_watch import LogLook, LogWatch
    from ldapdiag.sources.targets import LdapTarget

END_SECONDS = 5.0
"""That the sources have to end their sessions, before the program ends without them."""
HANGUP = 128 + 1
LOG_SECONDS = 30.0
"""Between two attempts to find a log."""
LOCAL_SECONDS, REMOTE_SECONDS, SUDO_SECONDS = 5.0, 10.0, 30.0
"""Between two readings of the tables of hosts: of this host by netlink; over ssh; by sudo, which logs each command."""
TABLES_SHARE = 0.05
"""Of a core, that they may cost; else they are read less often."""

IntervalOption = Annotated[
    float,
    Panel.COLLECTING.option(
        "--interval",
        parser=DurationOption(least=1, most=60),
        metavar="SECONDS",
        help="Look at the counters every SECONDS.",
    ),
]
ReplayOption = Annotated[
    bool, Panel.HISTORY.option("--replay", help="Show what was recorded: captures, or a history of --record.")
]


@command
def top(
    evidence: EvidenceArgument = None,
    *,
    interval: IntervalOption = 2,
    every: EveryOption = 60,
    ldap_port: LdapPortOption = None,
    replay: ReplayOption = False,
    recording: Recording,
    collecting: Collecting,
) -> None:
    """Watch directory servers live on the terminal.

    Shows who has the connections, how fast they grow, which are dead at the other end, and the costliest searches. Each
    LDAP target is asked over one connection; local: and netns: stand for the LDAPI sockets of their servers. Both
    ends' sockets are read every 5 or 10 s, all else every --every. Logs are followed: those of local servers and of a
    server on a named ssh://HOST, FILE or ssh://HOST/FILE, and TARGET=FILE with several servers.

    What is not known is -, never 0; what is old is dim. ? lists all keys.

    Recorded:
        --record FILE adds each diagnosis to a history, as diagnose does. --replay FILE... shows captures of collect, or
        a history, moment by moment, each for --interval seconds; the keys left, right and p step and stop.

    Exit code:
        0  ended by q, SIGTERM or Ctrl-C
        2  no terminal, no live target, or textual is not installed

    Examples:
        On the directory server itself, as root:
            ldapdiag top
        The server, and a host of its clients for what is dead there:
            ldapdiag top ldaps://ds1 ssh://ds1 ssh://app1 -D "cn=Directory Manager" -W
        With its log:
            ldapdiag top ldap://localhost /var/log/dirsrv/slapd-ds1/access -D "cn=Directory Manager" -W
        Two servers with their logs:
            ldapdiag top ldap://ds1=/logs/ds1/access ldap://ds2=ssh://ds2/var/log/dirsrv/slapd-ds2/access -y password
        Look at an incident afterwards:
            ldapdiag top --replay incident-*.tar.gz
    """
    _require_terminal()
    from ldapdiag.live_view.view import View  # noqa: PLC0415  import late: --help must be quick

    stop, view = Event(), View(interval=interval)
    if replay:
        if recording.record:
            raise UsageError("--record excludes --replay: a replay collects nothing")
        from ldapdiag.live_view.replay import Replay  # noqa: PLC0415  import late

        asked = Judging(Output(), Detail(), Gate(), collecting, quiet=True)
        moments = recorded_moments(evidence or [], asked, stop, Notices(quiet=False))
        _run(Replay(moments, lambda: view.interval), view, stop, ())
        return
    from ldapdiag.cli.watched_logs import log_watches, sorted_by_use  # noqa: PLC0415  import late: --help must be quick
    from ldapdiag.sources.targets import split_targets  # noqa: PLC0415  import late

    named = sorted_by_use(evidence or [])
    targets, _ = split_targets([*named.targets, *named.others])
    options = replace(collecting.options(Notices(quiet=True)), ldap_ports=frozenset(ldap_port or ()))
    from ldapdiag.sources.live.socket_watch import SocketWatch, is_host  # noqa: PLC0415  import late

    found = _watches(targets, options, stop)
    watches, logs = [one.watch for one in found], log_watches(found, named, options, stop)
    # The password is asked for once, here: a diagnosis takes the bind as it is.
    asked = Judging(Output(), Detail(), Gate(), collecting._replace(binding=Binding()), quiet=True)
    diagnoses = RepeatedDiagnosis(named.targets, asked, options, stop, recording, logs)
    tables = SocketWatch(targets, options, stop) if any(map(is_host, targets)) else None
    sockets = _sockets(diagnoses, tables, view, sudo=options.sudo) if tables else None
    model = _model(list(zip(watches, logs, strict=True)), view, diagnoses.next, every, sockets)
    diagnoses.say = model.add_event
    _run(model, view, stop, [*watches, *logs, *([tables] if tables else [])])


def _require_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("top needs a terminal; ldapdiag diagnose prints the same once")
    from ldapdiag.extras import require  # noqa: PLC0415  import late: --help must be quick

    require("textual", "ldapdiag top", "top")


def _watches(targets: Sequence[Any], options: CollectionOptions, stop: Event) -> list[Watched]:
    """Return each directory server that is named, or has an LDAPI socket in a place that is named."""
    from ldapdiag.cli.watched_logs import Watched  # noqa: PLC0415  import late
    from ldapdiag.sources.collection_options import BindOptions, Mechanism  # noqa: PLC0415
    from ldapdiag.sources.live.ldap.watch import Watch  # noqa: PLC0415
    from ldapdiag.sources.live.local_host import local_directories  # noqa: PLC0415
    from ldapdiag.sources.targets import LdapTarget, LocalTarget, NamespaceTarget  # noqa: PLC0415

    seconds = options.timeout_seconds
    named: list[LdapTarget] = [one for one in targets if isinstance(one, LdapTarget)]
    watches = [
        Watched(Watch(one.address, one.label, options.bind, seconds, stop), one.address.host, None) for one in named
    ]
    as_user = BindOptions(mechanism=Mechanism.EXTERNAL)
    for target in targets:
        if isinstance(target, LocalTarget | NamespaceTarget) and not named:
            try:
                found = local_directories(target)
            except OSError as error:
                raise UsageError(f"{target.label}: {(error.strerror or str(error)).lower()}") from error
            watches += [Watched(Watch(one, one.url, as_user, seconds, stop), "", (pid, target)) for one, pid in found]
    if not watches:
        raise UsageError("no directory server to watch: name it, ldap://HOST; ldapdiag diagnose reads the others")
    return watches


def _sockets(diagnoses: RepeatedDiagnosis, tables: SocketWatch, view: View, *, sudo: bool) -> TimedSource[SocketLook]:
    """Return the tables of the hosts between two diagnoses, less often over ssh, which costs the host processes."""
    from ldapdiag.live_view.source import TimedSource  # noqa: PLC0415  import late

    least = SUDO_SECONDS if sudo else REMOTE_SECONDS if tables.is_remote else LOCAL_SECONDS
    return TimedSource(
        "sockets",
        partial(diagnoses.sockets, tables),
        lambda: max(least, view.interval),
        took=lambda look: look.seconds,
        share=TABLES_SHARE,
    )


def _model(
    watches: Sequence[tuple[Watch, LogWatch]],
    view: View,
    diagnose: Callable[[], Mapping[str, Any]],
    every: float,
    sockets: TimedSource[SocketLook] | None,
) -> Model:
    from ldapdiag.live_view.model import Model  # noqa: PLC0415  import late
    from ldapdiag.live_view.server import ServerModel  # noqa: PLC0415
    from ldapdiag.live_view.source import TimedSource  # noqa: PLC0415

    def server(watch: Watch, log_watch: LogWatch) -> ServerModel:
        counters = TimedSource("counters", watch.counters, lambda: view.interval, took=lambda look: look.seconds)

        def interval() -> float | None:
            look = counters.state.value
            return watch.list_interval(look.monitor.current_connections or 0) if look else view.interval

        listing = TimedSource("list", watch.listing, interval, took=lambda look: look.seconds)

        # The search for a log runs a script: after one that failed it waits.
        log: TimedSource[LogLook] = TimedSource(
            "log",
            log_watch.look,
            lambda: view.interval if log.state.value and not log.state.error else LOG_SECONDS,
            took=lambda look: look.seconds,
        )

        def endpoint() -> tuple[str, int] | None:
            return (watch.peer, watch.port) if watch.peer else None

        return ServerModel(watch.label, counters, listing, log, endpoint)

    # A diagnosis waits between two snapshots: most of its time costs nothing.
    diagnosis = TimedSource("diagnosis", diagnose, lambda: every, share=0.5)
    return Model([server(*one) for one in watches], diagnosis, sockets)


def _run(model: Model, view: View, stop: Event, opened: Sequence[Watch | LogWatch | SocketWatch]) -> None:
    """Show the screen until the operator leaves it, and end what was begun."""
    from ldapdiag.live_view.terminal import LiveApp  # noqa: PLC0415  import late: an extra

    sources: list[TimedSource[Any]] = [] if model.is_replay else [model.diagnosis]
    sources += [model.sockets] if model.sockets else []
    for server in model.servers if sources else ():
        sources += server.counters, server.listing, server.log, server.forecast
    app = LiveApp(model, view, partial(_write, model))
    threads = [source.start(stop) for source in sources]

    def end() -> None:
        stop.set()
        deadline = time.monotonic() + END_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for one in opened:
            one.close()

    def leave() -> None:
        end()
        os._exit(HANGUP)  # the terminal is gone: there is nothing to restore, and Textual would wait for it

    def hang_up(*_: object) -> None:
        Thread(target=leave, daemon=True).start()

    if hasattr(signal, "SIGHUP"):  # not on Windows
        signal.signal(signal.SIGHUP, hang_up)
    signal.signal(signal.SIGTERM, lambda *_: app.call_later(app.exit))
    try:
        app.run()
    finally:
        end()


def _write(model: Model) -> str:
    """Write the last diagnosis as a page, and return what was done."""
    if (report := model.report) is None:
        return (
            "nothing to write: this moment has no diagnosis"
            if model.is_replay
            else "nothing to write: no diagnosis has ended yet"
        )
    report = {**report, "series": [*report["series"], *(row for server in model.servers for row in server.minutes())]}
    from ldapdiag.report.html.page import render  # noqa: PLC0415  import late, with jinja2

    path = Path(f"ldapdiag-top-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.html")
    try:
        write_files([(path, lambda stream: stream.write(render(report, made())))])
    except LdapdiagError as error:
        return str(error)
    return f"written: {path} (the diagnosis of {shown_time(report['taken_at'])})"


MOST_CAPTURES = 200
"""Each with up to 10 MB of connections in memory."""


def recorded_moments(files: Sequence[str], asked: Judging, stop: Event, notices: Notices) -> list[Moment]:
    """Return the moments of these files, at least one. Raises LdapdiagError."""
    from ldapdiag.sources.targets import parse_target  # noqa: PLC0415  import late: --help must be quick

    if not files or any(parse_target(one) for one in files):
        raise UsageError("--replay: name captures of ldapdiag collect, or a history of --record; no live target")
    if len(files) > MOST_CAPTURES:
        raise UsageError(f"--replay: {len(files):,} files, and at most {MOST_CAPTURES} are held; name fewer")
    moments: list[Moment] = []
    for place, file in enumerate(files, 1):
        if stop.is_set():
            break
        notices.write(f"reading {place} of {len(files)}: {file}")
        moments += _of_file(file, asked, stop)
    if not moments:
        raise UsageError(f"--replay {files[0]}: no run in it")
    return moments


def _of_file(file: str, asked: Judging, stop: Event) -> Iterator[Moment]:
    from ldapdiag.live_view.replay import moment_of_run  # noqa: PLC0415  import late
    from ldapdiag.sources.history.database import is_database  # noqa: PLC0415

    if is_database(Path(file)):
        from ldapdiag.sources.history.recorded_runs import read  # noqa: PLC0415  import late

        yield from map(moment_of_run, read(Path(file)).runs)
        return
    from ldapdiag.analysis.hosts.instances import Instance  # noqa: PLC0415  import late
    from ldapdiag.report.as_json import moment  # noqa: PLC0415

    diagnosis = collected_again([file], asked, stop, {}, f"--replay {file}: nothing in it can be judged")
    run = summary_of(diagnosis, 0, f"--replay {file}")
    monitors = {one.name: one.monitor for one in diagnosis.facts.every(Instance)}
    yield moment_of_run(run, {**report_of(diagnosis)(), "taken_at": moment(run.taken)}, monitors)
