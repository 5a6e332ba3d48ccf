//! Server processes: the runs of a stream, joined until the server restarts; the connections of one process.

use std::mem;

use rustc_hash::FxHashMap;

use crate::connection::{Connection, Ending};
use crate::counting::{count_early_results, count_kept_result, count_unattributed, end_connection, resolve_account};
use crate::idle_counting::count_certain_idle_times;
use crate::interner::RESTART;
use crate::joining::join;
use crate::operation_kinds::{ABANDON, NAMED, UNKNOWN};
use crate::runs::{Run, Waiting};
use crate::segment::Segment;
use crate::stamps::SECOND;

/// Continues a server process with a run, or ends it where the server restarted; returns the process then.
pub fn take_run(segment: &mut Segment, mut process: Run, mut run: Run) -> Run {
    if process.restarts(&run) {
        let at = process.restarted_at(&run);
        end_process(segment, process, at, false);
        process = Run::new(false);
    }
    for (&number, late) in &mut run.late_requests {
        process.keep_late(number, late);
    }
    supersede_ended(segment, &mut process, &mut run);
    for (number, right) in mem::take(&mut run.connections).into_order() {
        continue_connection(segment, &mut process, number, right);
    }
    process.count_on(&run);
    process
}

fn continue_connection(segment: &mut Segment, process: &mut Run, number: i64, mut right: Connection) {
    if right.opened.is_none() && process.is_closed(number) {
        return count_after_close(segment, process, number, right);
    }
    let slot = match known(segment, process, number, &right) {
        None => {
            process.initial += i64::from(right.opened.is_none());
            process.connections.put(number, right)
        }
        Some(slot) => {
            let left = process.connections.at(slot);
            process.waiting.subtract(left);
            process.initial -= i64::from(left.opened.is_none() && right.opened.is_some());
            let was_closed = left.closed.is_some();
            let late = process.late_requests.get(&number).map(|late| &late.pending);
            join(segment, number, left, &mut right, late);
            if was_closed {
                process.keep_late(number, &mut right);
            }
            slot
        }
    };
    let connection = process.connections.at(slot);
    count_unmatched(segment, &mut process.late_requests, number, connection, false);
    resolve_account(segment, connection);
    count_certain_idle_times(segment, number, connection);
    if connection.is_done() {
        end_connection(segment, number, connection, Ending::Close);
        process.connections.remove(number);
    } else {
        process.waiting.add(connection);
    }
}

/// The slot of a connection that is continued; one that is opened anew is ended.
fn known(segment: &mut Segment, process: &mut Run, number: i64, right: &Connection) -> Option<u32> {
    let slot = if number > process.last { None } else { process.connections.find(number) }?;
    let left = process.connections.at(slot);
    if left.opened.is_none() || right.opened.is_none() {
        return Some(slot);
    }
    process.waiting.subtract(left);
    if let Some(superseded) = process.connections.remove(number) {
        supersede(segment, number, superseded, right.opened);
    }
    None
}

/// Ends the connections whose numbers a run opens anew, and closes.
fn supersede_ended(segment: &mut Segment, process: &mut Run, run: &mut Run) {
    let Some((_, at)) = run.first.filter(|&(number, _)| number <= process.last) else { return };
    for number in process.connections.which(|connection| connection.opened.is_some()) {
        if run.is_closed(number)
            && let Some(superseded) = process.connections.remove(number)
        {
            process.waiting.subtract(&superseded);
            supersede(segment, number, superseded, Some(at));
        }
    }
}

/// Ends a connection whose number is opened anew: the server restarted, and no other opening shows it.
fn supersede(segment: &mut Segment, number: i64, mut connection: Connection, at: Option<i64>) {
    end_by_restart(segment, &mut connection, at);
    end_connection(segment, number, &mut connection, Ending::Restart(at));
}

fn end_by_restart(segment: &mut Segment, connection: &mut Connection, at: Option<i64>) {
    if connection.closed.is_some() {
        return;
    }
    connection.code = RESTART;
    segment.ended_by_restart += 1;
    if let Some(at) = at {
        segment.timeline.at(at.div_euclid(SECOND)).closed += 1;
    }
}

/// Counts, for an unknown client, what was written of a connection after its close.
fn count_after_close(segment: &mut Segment, process: &mut Run, number: i64, mut connection: Connection) {
    count_unmatched(segment, &mut process.late_requests, number, &mut connection, true);
    count_unattributed(segment, &mut connection, true);
    process.keep_late(number, &mut connection);
}

/// Counts the results without request of a connection whose earlier records are all known.
///
/// Those that come after its close are of an unknown client, as in `Scan`, where the connection may be gone by then.
fn count_unmatched(
    segment: &mut Segment,
    late_requests: &mut FxHashMap<i64, Connection>,
    number: i64,
    connection: &mut Connection,
    is_after_close: bool,
) {
    let unmatched = connection.rare.as_mut().map(|rare| mem::take(&mut rare.unmatched)).unwrap_or_default();
    let mut closed_at = if is_after_close { 0 } else { unmatched.len() };
    if let Some(idle) = &mut connection.idle_at_close {
        closed_at = closed_at.min(mem::take(&mut idle.epoch));
    }
    let mut late = late_requests.get_mut(&number);
    for (place, result) in unmatched.into_iter().enumerate() {
        if let Some(sorting) = result.sorting {
            if let Some(late) = &mut late {
                late.add_sorting(result.op, sorting);
            }
            continue;
        }
        let is_of_request = result.kind != ABANDON && result.kind != NAMED;
        let pending = late.as_mut().filter(|_| is_of_request).and_then(|late| late.pending.take(result.op));
        if let (Some(late), Some(mut pending)) = (&mut late, pending) {
            let account = late.account;
            count_kept_result(segment, number, late, &mut pending, &result, account);
        } else if result.kind >= 0 && segment.dropped_requests[result.kind as usize] > 0 {
            segment.dropped_requests[result.kind as usize] -= 1;
        } else {
            connection.rare().early.push((result, place < closed_at));
        }
    }
    count_early_results(segment, number, connection, late, is_after_close);
}

/// Ends a server process: by a restart (`at`), which ends its open connections, or at the end of the log.
pub fn end_process(segment: &mut Segment, mut process: Run, at: Option<i64>, is_at_end: bool) {
    let until = if is_at_end { segment.last_time_or_none() } else { at };
    for (number, slot) in process.connections.in_order() {
        let connection = process.connections.at(slot);
        if !is_at_end {
            end_by_restart(segment, connection, at);
        }
        let is_open = is_at_end && connection.closed.is_none();
        end_connection(
            segment,
            number,
            connection,
            if is_open { Ending::EndOfLog(until) } else { Ending::Restart(until) },
        );
    }
    segment.peak = segment.peak.max(process.initial + process.top);
    segment.server_processes += u64::from(process.last >= 0);
    segment.open_before += process.initial;
}

/// Drops closed connections whose results are overdue and, when there are too many, the longest idle ones.
pub fn drop_expired(segment: &mut Segment, process: &mut Run) {
    debug_assert_eq!(process.waiting, process.count_waiting());
    drop_overdue(segment, process);
    let Waiting { early, pending, .. } = process.waiting;
    if early > 0 {
        drop_early_results(segment, process, early > segment.caps.pending);
    }
    let after_close: usize = process.late_requests.values().map(|late| late.pending.len()).sum();
    if pending + after_close > segment.caps.pending {
        drop_oldest_requests(segment, process);
    }
    let (count, most) = (process.connections.len(), segment.caps.connections);
    if count <= most {
        return;
    }
    segment.cut_short("connections");
    let mut order = process.connections.in_order();
    order.sort_by_cached_key(|&(_, slot)| {
        let connection = process.connections.at(slot);
        let since = connection.idle_since.filter(|&since| since != 0).unwrap_or(connection.first);
        (connection.closed.is_none(), !connection.pending.is_empty(), since)
    });
    order.truncate(count - most / 2);
    for &(number, slot) in &order {
        let connection = process.connections.at(slot);
        process.waiting.subtract(connection);
        drop_requests(segment, connection, 0);
        let until = segment.last_time_or_none();
        let ending = if connection.closed.is_none() { Ending::EndOfLog(until) } else { Ending::Restart(until) };
        end_connection(segment, number, connection, ending);
    }
    process.connections.remove_all(order.into_iter().map(|(_, slot)| slot));
}

fn drop_overdue(segment: &mut Segment, process: &mut Run) {
    if process.waiting.closed == 0 {
        return;
    }
    let latest = segment.last_time_or_none().unwrap_or(0);
    for number in process.connections.which(|connection| connection.opened.is_some() && connection.is_expired(latest)) {
        if let Some(mut connection) = process.connections.remove(number) {
            process.waiting.subtract(&connection);
            end_connection(segment, number, &mut connection, Ending::Close);
        }
    }
}

/// Counts the results for which no request comes any more; where too many wait (`is_full`), all of them.
fn drop_early_results(segment: &mut Segment, process: &mut Run, is_full: bool) {
    if is_full {
        segment.cut_short("pending");
    }
    let has_early = |connection: &Connection| connection.rare.as_ref().is_some_and(|rare| !rare.early.is_empty());
    for number in process.connections.which(has_early) {
        if let Some(slot) = process.connections.find(number) {
            let connection = process.connections.at(slot);
            process.waiting.subtract(connection);
            count_early_results(segment, number, connection, None, is_full);
            process.waiting.add(connection);
        }
    }
}

/// Drops the oldest pending requests of the connections that have the most, when there are too many.
fn drop_oldest_requests(segment: &mut Segment, process: &mut Run) {
    segment.cut_short("pending");
    let count = process.connections.len() + process.late_requests.len();
    let each = (segment.caps.pending / (2 * count)).max(1);
    process.each_connection(|connection| drop_requests(segment, connection, each));
    process.waiting = process.count_waiting();
}

/// Drops all requests but the `kept` latest, counted by kind; those before the period have none.
fn drop_requests(segment: &mut Segment, connection: &mut Connection, kept: usize) {
    for op in connection.pending.oldest(kept) {
        if let Some(pending) = connection.pending.take(op).filter(|pending| pending.kind != UNKNOWN) {
            segment.dropped_requests[pending.kind as usize] += 1;
        }
    }
}
