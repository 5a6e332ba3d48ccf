"""The screen of a live view as lines of text: what is where, in words, with colours that only add.

Everything that comes from a server or a log passes `neutral`, and is never markup. `-` is unknown, 0 is zero; what an
old source said is dim, and its age says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.text import Text

from ldapdiag.analysis.load.forecast import Problem
from ldapdiag.live_view import table as rows
from ldapdiag.live_view.pages import diagnosis_text, help_text, no_searches, text_of_one
from ldapdiag.live_view.table import OLD, UNKNOWN, WORSE, WRONG, count, minute_rate
from ldapdiag.live_view.view import LISTS, Shown
from ldapdiag.report.neutral import neutral
from ldapdiag.wording import duration, number, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ldapdiag.live_view.model import Model
    from ldapdiag.live_view.server import ServerModel
    from ldapdiag.live_view.source import TimedSource
    from ldapdiag.live_view.view import View

HEAD, KEYS = "bold", "dim"
FOOT = "? help  q quit  Enter open  / filter  s order  p pause  d diagnosis  w write"
REPLAY_FOOT = "? help  q quit  left, right step  p play  Enter open  d diagnosis  w write"
FULL = 0.8
"""The share of a limit from which a gauge is red."""


def draw(model: Model, view: View, width: int, height: int) -> list[Text]:
    """Return the lines of the screen, `height` of them, none wider than `width`."""
    server = view.server_of(model)
    shows = (view.server, view.lists)
    view.refresh(model)
    if not view.paused or view.headed != shows:  # another list or server is of the moment at which it is asked for
        view.headed = shows
        view.head = _head(model, server, view, width) if server else [Text("no directory server")]
        view.of = _of(server, view, model) if server else ("", False)
    if server:
        view.head[-1] = _title(view)  # order and filter may change while the screen is paused
    foot = [_event(model, view), Text(REPLAY_FOOT if model.is_replay else FOOT, KEYS)]
    body = max(1, height - len(view.head) - len(foot))
    lines = [*view.head, *_body(model, server, view, width, body)][: max(0, height - len(foot))]
    lines += [Text("")] * (height - len(foot) - len(lines))
    return [_cut(line, width) for line in (*lines, *foot)][-height:]


def _cut(line: Text, width: int) -> Text:
    """Return a line of one row."""
    if cell_len(line.plain) > width:
        line = line.copy()
        line.truncate(width, overflow="ellipsis")
    return line


def _body(model: Model, server: ServerModel | None, view: View, width: int, height: int) -> list[Text]:
    if view.page in LISTS and server is not None:
        if view.lists is Shown.SEARCHES and not view.rows:
            return no_searches(server, width)
        return rows.table(view, width, height, is_old=view.of[1])
    shown = (view.page, view.chosen, view.server, view.lists, width)
    if not view.paused or view.text[0] != shown:
        opened = [Text(f"opened at {model.position}, after what is above", WORSE), Text("")]
        view.text = shown, [*opened * view.paused, *_text(model, server, view, width)]
    text = view.text[1]
    view.offset = max(0, min(view.offset, len(text) - height))
    return text[view.offset : view.offset + height]


def _text(model: Model, server: ServerModel | None, view: View, width: int) -> list[Text]:
    if view.page is Shown.HELP:
        return help_text(width)
    if view.page is Shown.ONE and server is not None:
        return text_of_one(server, view, width)
    return diagnosis_text(model.report, model.diagnosis.state.error, model.no_report, width)


def _head(model: Model, server: ServerModel, view: View, width: int) -> list[Text]:
    """Return the lines above the list: who, how many, how full, what was judged, how old all this is."""
    look = server.counters.state.value or server.listing.state.value
    brand = neutral(look.brand.rpartition(" B")[0] or look.brand, longest=30) if look else "no answer yet"
    running = (model.now - server.started_at).total_seconds() if server.started_at else -1.0
    up = f"up {duration(running)}" if running >= 0 else ""  # its clock may be ahead
    silent = sum(one.counters.is_old for one in model.servers)
    several = f"server {view.server + 1} of {len(model.servers)}{f', {silent} silent' * bool(silent)}"
    several *= len(model.servers) > 1
    every = "" if model.is_replay else f"every {view.interval:g} s"
    first = "   ".join(filter(None, (neutral(server.label), several, model.position, brand, every, up)))
    return [
        Text(first, HEAD),
        _numbers(server, model.diagnosis),
        _work(server),
        _gauge(server, model.diagnosis, width),
        _verdict(server, model),
        _ages(_sources(server, model), model),
        Text(""),
    ]


def _numbers(server: ServerModel, diagnosis: TimedSource[Any]) -> Text:
    """Return how many connections there are, and how many wait: none of these is in the server's own numbers."""
    growth = f"{minute_rate(server.connections.per_second())}/min ({minute_rate(server.connections.since_start)} all)"
    line = Text(
        f"connections{_old(server.counters)} {count(server.current)} {growth}", OLD if server.counters.is_old else ""
    )
    found = server.judged
    waiting = found.waiting if found else None
    is_full = bool(found and found.most_waiting and waiting and waiting > found.most_waiting)
    limit = f" of {number(found.most_waiting)}" if found and found.most_waiting else ""
    style = OLD if diagnosis.is_old else WRONG if is_full else WORSE if waiting else ""
    return line.append(f"   accept queue{_old(diagnosis)} {count(waiting)}{limit}", style)


def _work(server: ServerModel) -> Text:
    """Return what the server does: operations and threads by its counters, searches by its log."""
    look, listed = server.counters.state.value, server.listing.state.value
    recent = (look, None if server.listing.is_old else listed)
    threads = next((one.monitor for one in recent if one is not None and one.monitor.threads is not None), None)
    busy = threads.busy_threads if threads else None
    queued = threads.queued_operations if threads else None
    parts = (
        f"ops{_old(server.counters)} {_rate(server.operations_per_second())}",
        f"busy {count(busy)} of {count(threads.threads if threads else None)}",
        *([f"queued {count(queued)}"] if queued is not None else []),
    )
    line = Text("   ".join(parts), OLD if server.counters.is_old else "")
    minute = server.logged.minute
    if minute is None:
        return line.append(f"   log {neutral(server.log.state.error) or 'not read yet'}", OLD)
    unindexed = f" ({number(minute.unindexed)} unindexed)" if minute.unindexed else ""
    busy_with = UNKNOWN if minute.load is None else rows.load(minute.load)
    part = " in part" * bool(minute.left_out)
    logged = (
        f"   log{part}{' OLD' * server.is_log_old}: {_rate(minute.operations)}, searches {busy_with} s/s{unindexed}"
    )
    return line.append(logged, OLD if server.is_log_old else WRONG if minute.unindexed else "")


def _old(source: TimedSource[Any]) -> str:
    """Return a word beside a number that may no longer be true: a terminal may show nothing as dim."""
    return " OLD" if source.is_old and source.state.value is not None else ""


def _rate(value: float | None) -> str:
    return f"{UNKNOWN if value is None else rounded(value)}/s"


def _gauge(server: ServerModel, diagnosis: TimedSource[Any], width: int) -> Text:
    """Return how full the server is: its descriptors of the last diagnosis, or what its own counters limit."""
    found, look, listed = server.judged, server.counters.state.value, server.listing.state.value
    monitors = [one.monitor for one in (look, listed) if one]
    table = next((one.connection_table_size for one in monitors if one.connection_table_size), None)
    descriptors = next((one.descriptor_limit for one in monitors if one.descriptor_limit), None)
    if found and found.used is not None and found.limit:
        what = "connections" if found.limits_connections else "descriptors"
        label = f"{what}{_old(diagnosis)} {number(found.used)} of {number(found.limit)}"
        return _bar(label, found.used / found.limit, _left(server), width, is_old=diagnosis.is_old)
    if server.current is not None and (limit := table or descriptors):
        of = f"{number(limit)} {'in its table' if table else 'descriptors'}"
        label = f"connections{_old(server.counters)} {number(server.current)} of {of}"
        return _bar(label, server.current / limit, "", width, is_old=server.counters.is_old)
    return Text("limit unknown: the diagnosis shows it, where it reads the server's host")


def _left(server: ServerModel) -> str:
    found = server.forecast.state.value
    if found is None or server.forecast.state.error or server.counters.is_old:
        return ""
    if found.is_over:
        return "full"
    if server.was_filling and server.is_falling:  # the forecast, of all its readings, follows later
        return "falls"
    if found.median is None:
        slower = "growth slows down" if found.problem is Problem.FILLING else "no longer fills"
        return slower if server.was_filling else ""
    latest = "later" if found.latest is None else duration(3600 * found.latest)
    return f"full in {duration(3600 * found.median)} ({duration(3600 * (found.earliest or 0))} to {latest})"


def _bar(label: str, share: float, left: str, width: int, *, is_old: bool) -> Text:
    room = max(0, width - len(label) - len(left) - 2)
    filled = min(room, round(room * share))
    style = OLD if is_old else WRONG if share >= FULL else ""
    return Text.assemble((f"{label} ", style), ("━" * filled, style), ("─" * (room - filled), OLD), (f" {left}", style))


def _verdict(server: ServerModel, model: Model) -> Text:
    if server.judged is None:
        none = "none since the restart" if server.has_restarted else model.before
        return Text(f"diagnosis: {neutral(model.diagnosis.state.error) or none}")
    is_bad = server.judged.headline.startswith(("CRITICAL", "HIGH", "CRASHED"))
    style = OLD if model.diagnosis.is_old else WRONG if is_bad else ""
    headline = f"{_old(model.diagnosis)} {neutral(server.judged.headline)}".lstrip()
    if not (changes := server.changes) or model.sockets is None:
        return Text(headline, style)
    # First, as a small screen cuts the line: the headline was written before these tables were read.
    now = f"now{_old(model.sockets)} {', '.join(changes)}  "
    return Text.assemble((now, OLD if model.sockets.is_old else WORSE), ("at the diagnosis: ", ""), (headline, style))


def _sources(server: ServerModel, model: Model) -> list[TimedSource[Any]]:
    log = [server.log] if server.logged.minute else []
    return [server.counters, server.listing, *log, *([model.sockets] if model.sockets else []), model.diagnosis]


def _ages(sources: Sequence[TimedSource[Any]], model: Model) -> Text:
    """Return how old each answer is, and then why the first of the old ones has no newer."""
    line = Text()
    silent = model.sockets.state.value.gaps if model.sockets and model.sockets.state.value else ()
    for source in sorted(sources, key=lambda one: not one.is_old):  # a small screen cuts the line
        age = source.age()
        none = "after the diagnosis" if source is model.sockets and model.report is None else "none"
        said = none if age is None else f"{'OLD, ' * source.is_old}{age:.0f} s ago"
        said += f", {len(silent)} silent" if source is model.sockets and silent else ""
        if source.state.doublings and source.interval:
            said += f", every {source.interval:g} s"
        said += ", by key l" if source.interval is None else ""
        line.append(f"{source.name} {said}{' ' * (3 if len(sources) < 5 else 2)}", OLD if source.is_old else "")
    errors = [f"{one.name}: {one.state.error}" for one in sources if one.state.error]
    errors += [f"{one.target}: {one.reason}" for one in silent]
    return line.append(neutral(next(iter(errors), "")), WORSE)


def _title(view: View) -> Text:
    """Return the line above the list, or above a page that is a text: what it is."""
    if view.page not in LISTS:
        one = f"one of {len(view.rows):,} {view.lists}"
        what = {Shown.HELP: "keys and columns", Shown.DIAGNOSIS: "the diagnosis of all targets"}.get(view.page, one)
        return Text(f"{what}   Escape: back to {view.lists}", HEAD)
    of, is_old = view.of
    typed = f"filter: {neutral(view.filter)}{'_' * view.typing}" if view.filter or view.typing else ""
    title = f"{view.lists} {len(view.rows):,}{' (OLD)' * is_old}   order: {view.order}"
    return Text("   ".join(filter(None, (title, typed, of))), HEAD)


def _of(server: ServerModel, view: View, model: Model) -> tuple[str, bool]:
    if view.lists is Shown.SEARCHES:
        return _of_log(server)
    used = [model.diagnosis, *([model.sockets] if model.sockets and server.looked else [])]
    return _of_list(server, " and ".join(one.name for one in used if one.is_old))


def _of_log(server: ServerModel) -> tuple[str, bool]:
    """Return which time the searches are of, and whether that is past."""
    minute, look = server.logged.minute, server.log.state.value
    if minute is None or look is None:
        return "", False
    silent = server.logged.silent_seconds()
    name = neutral(", ".join(one.stream.name for one in look.logs))
    if silent is None:
        return f"no record in {name}", True
    size = f"{minute.left_out >> 20:,} MiB" if minute.left_out >> 20 else "some"
    left_out = f"{size} left out: too many at once, or gone too early   " if minute.left_out else ""
    until = f"{duration(minute.seconds)} until {duration(max(0, round(silent)))} ago"
    return f"{until}   {left_out}{name}", server.is_log_old


def _of_list(server: ServerModel, old: str) -> tuple[str, bool]:
    """Return what the list lacks, or what the last diagnosis says of it; and whether it is old.

    `old`: which of the diagnosis and the sockets are.
    """
    listed = server.listing.state.value
    hidden = listed is not None and server.listed is None
    if listed is not None and listed.is_cut:
        of = f"list {number(len(server.listed or ()))} of {count(server.current)}: cut at a size limit"
    elif server.listed is None and (server.judged or hidden):
        why = server.judged.not_matched if server.judged else ""
        of = f"{'list not permitted to this account' if hidden else 'no list'}: {why or 'sockets that were read'}"
    elif server.judged:
        of = f"ghosts by client not judged: {why}" if (why := server.judged.not_matched) else server.judged.outcomes
    else:
        of = ""
    if old and server.judged:
        of = f"OLD {old}: {of}"
    return of, server.listing.is_old if server.listed is not None else bool(old) and server.judged is not None


def _event(model: Model, view: View) -> Text:
    if view.message:
        return Text(f"{'PAUSED   ' * view.paused}{neutral(view.message)}", HEAD)
    if view.paused:
        return Text("PAUSED: what is above is of that moment; p goes on", WORSE)
    if not model.events:
        return Text("")
    at, text = model.events[-1]
    return Text(f"{at:%H:%M:%S} {neutral(text)}", WORSE)
