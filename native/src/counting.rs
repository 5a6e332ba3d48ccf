//! Counting: add a result, a failed BIND or the end of a connection to a Segment, once its client is known.

use crate::connection::{Account, Connection, IN_PROGRESS, OperationResult, SearchCounts};
use crate::idle_times::IdleTimes;
use crate::interner::{ANONYMOUS, Interner, OTHER, Symbol, UNKNOWN};
use crate::operation_kinds::{ABANDON, BIND, SEARCH};
use crate::pending_requests::Pending;
use crate::segment::Segment;
use crate::sorting::Sorting;
use crate::substrings::lengths;
use crate::tables::{ClientRow, ShapeKey, ShapeRow};

/// Searches whose request is not in the log.
const UNSEEN_SEARCH: ShapeKey = (UNKNOWN, UNKNOWN, -1);

/// timeLimitExceeded, sizeLimitExceeded, adminLimitExceeded (RFC 4511, appendix A): there were more entries.
const LIMITS: [i64; 3] = [3, 4, 11];

/// timeLimitExceeded, adminLimitExceeded, insufficientAccessRights, unwillingToPerform: what servers answer instead of
/// examining more entries (RFC 4511, appendix A).
const REFUSED: [i64; 4] = [3, 11, 50, 53];

/// The notes of 389-ds on a search without an index for all or a part of it.
const UNINDEXED: [&[u8]; 2] = [b"A", b"U"];

/// The note of 389-ds on a page of a paged search.
const PAGE: &[u8] = b"P";

/// Approximate bytes of the counts of one combination of substring lengths.
const SUBSTRING_COUNTS_BYTES: usize = 64;

/// Approximate bytes of the counts of one kind of stopped results.
const STOPPED_COUNTS_BYTES: usize = 100;

/// Approximate bytes of the counts of one sort.
const SORT_COUNTS_BYTES: usize = 100;

/// Approximate bytes of counts kept for an unknown client.
const UNATTRIBUTED_BYTES: usize = 100;

/// Counts the result of a request, attributed to `account`.
pub fn count_result(
    segment: &mut Segment,
    number: i64,
    connection: &mut Connection,
    pending: &mut Pending,
    result: &OperationResult,
    account: Account,
) {
    let etime = result.etime.unwrap_or_else(|| (result.time - pending.time).max(0));
    segment.took += i128::from(etime);
    let Some(place) = pending.row else {
        if pending.kind == BIND && result.err != 0 && result.err != IN_PROGRESS {
            count_failed_bind(segment, connection, pending.dn, result.err, 1);
        }
        return;
    };
    let row = segment.shapes.at(place as usize);
    count_in_row(row, result, etime);
    if result.err == 0 && result.notes == ANONYMOUS {
        row.most_entries = row.most_entries.max(result.entries);
    } else {
        segment.weight += count_unusual(row, result, segment.texts.resolve(result.notes), etime);
    }
    if let Some(sorting) = pending.sorting.take() {
        segment.weight += count_sort(row, *sorting, segment.texts.resolve(result.notes), etime);
    }
    if row.has_substrings {
        segment.weight += count_substrings(row, &mut segment.texts, &pending.filter, result, etime);
    }
    if etime >= row.worst.order.0 {
        let order = (etime, -result.time, -number, -result.op);
        if (order, &pending.filter) > (row.worst.order, &row.worst.filter) {
            row.worst.order = order;
            std::mem::swap(&mut row.worst.filter, &mut pending.filter);
        }
    }
    let (shape, noted) = (row.key.0, u64::from(result.notes != ANONYMOUS));
    let refused = u64::from(result.err != 0 && REFUSED.contains(&result.err));
    attribute(segment, connection, shape, account, SearchCounts { count: 1, etime: i128::from(etime), noted, refused });
}

fn count_in_row(row: &mut ShapeRow, result: &OperationResult, etime: i64) {
    row.answered += 1;
    row.etime += i128::from(etime);
    row.entries += i128::from(result.entries);
    row.histogram.count(etime as u64);
    row.wait += i128::from(result.wait.unwrap_or(0));
}

/// Counts a result by the lengths of its filter's substrings; returns the approximate number of bytes added.
#[inline(never)]
fn count_substrings(
    row: &mut ShapeRow,
    texts: &mut Interner,
    filter: &[u8],
    result: &OperationResult,
    etime: i64,
) -> usize {
    let count = row.substring_lengths.len();
    let digits = lengths(filter);
    let lengths = if is_stopped(result.err) { texts.intern(&digits.stopped()) } else { texts.intern(digits.text()) };
    row.measured(lengths, etime, u64::from(result.notes != ANONYMOUS), result.entries);
    (row.substring_lengths.len() - count) * SUBSTRING_COUNTS_BYTES
}

/// Counts a result that was to be sorted; returns the approximate number of bytes added.
#[inline(never)]
fn count_sort(row: &mut ShapeRow, sorting: Sorting, notes: &[u8], etime: i64) -> usize {
    let count = row.sorts.len();
    row.sorted(sorting, etime, notes.split(|&byte| byte == b',').any(|note| UNINDEXED.contains(&note)));
    (row.sorts.len() - count) * SORT_COUNTS_BYTES
}

/// Counts a result with an error code or notes; it may not contain all entries.
///
/// Returns the approximate number of bytes added.
fn count_unusual(row: &mut ShapeRow, result: &OperationResult, notes: &[u8], etime: i64) -> usize {
    let count = row.stopped.len();
    if is_stopped(result.err) {
        row.stop(result, etime);
    }
    if result.err != 0 {
        row.failed(result.err);
    }
    if result.notes != ANONYMOUS {
        *row.noted.entry(result.notes).or_default() += 1;
    }
    let is_page = || notes.split(|&byte| byte == b',').any(|note| note == PAGE);
    if LIMITS.contains(&result.err) || (result.err == 0 && is_page()) {
        row.most_limited = row.most_limited.max(result.entries);
    } else if result.err == 0 {
        row.most_entries = row.most_entries.max(result.entries);
    }
    (row.stopped.len() - count) * STOPPED_COUNTS_BYTES
}

/// Returns whether a limit or a refusal stopped a search.
fn is_stopped(err: i64) -> bool {
    err != 0 && (LIMITS.contains(&err) || REFUSED.contains(&err))
}

/// Counts a result whose request is not in the log, as an operation of an unknown client.
pub fn count_without_request(segment: &mut Segment, number: i64, result: &OperationResult) {
    let kind = result.kind;
    if kind < 0 || kind == ABANDON {
        return;
    }
    segment.operations[kind as usize] += 1;
    let mut row = None;
    if kind == SEARCH {
        let place = segment.shape(UNSEEN_SEARCH);
        segment.shapes.at(place as usize).searches += 1;
        row = Some(place);
    }
    let dn = if kind == BIND { UNKNOWN } else { ANONYMOUS };
    let mut pending = Pending { row, dn, ..Pending::new(result.op, result.time, kind) };
    let mut unknown = Connection::new(0, Some(0), Some(UNKNOWN));
    count_result(segment, number, &mut unknown, &mut pending, result, Account::Dn(UNKNOWN));
}

/// Attributes searches to client and account, or keeps them with the connection until both are known.
pub fn attribute(
    segment: &mut Segment,
    connection: &mut Connection,
    shape: Symbol,
    account: Account,
    counts: SearchCounts,
) {
    let cell = if let (Some(client), Account::Dn(account)) = (connection.client, account) {
        let place = match connection.last_attribution {
            Some((last_shape, last_account, place)) if (last_shape, last_account) == (shape, account) => place,
            _ => segment.attribution_index((shape, client, account)),
        };
        connection.last_attribution = Some((shape, account, place));
        segment.attribution.at(place)
    } else {
        let kept = &mut connection.rare().unattributed;
        let mut key = (shape, account);
        if !kept.contains_key(&key) {
            if kept.len() >= segment.caps.owed {
                segment.cut_short.insert("attribution");
                key = (OTHER, Account::Inherited);
            }
            segment.weight += UNATTRIBUTED_BYTES;
        }
        kept.entry(key).or_default()
    };
    cell.add(counts);
}

/// Counts failed BINDs.
pub fn count_failed_bind(segment: &mut Segment, connection: &mut Connection, dn: Symbol, err: i64, count: u64) {
    if let Some(client) = connection.client {
        segment.failures.count((dn, client, err), count);
    } else {
        segment.weight += UNATTRIBUTED_BYTES;
        *connection.rare().failures.entry((dn, err)).or_default() += count;
    }
}

/// The histogram that counts the idle times of a connection.
pub fn idle_times_of<'a>(segment: &'a mut Segment, connection: &'a mut Connection, epoch: usize) -> &'a mut IdleTimes {
    match connection.row {
        Some(row) => &mut segment.clients.at(row as usize).idle_times,
        None => {
            segment.weight += UNATTRIBUTED_BYTES;
            connection.rare().idle_times.entry(epoch).or_default()
        }
    }
}

/// Counts a closed connection of which no record can follow.
pub fn end_connection(segment: &mut Segment, number: i64, connection: &mut Connection) {
    count_unattributed(segment, connection);
    let row = connection.row.unwrap_or_else(|| segment.client(UNKNOWN));
    let account = match connection.account {
        Account::Dn(account) => account,
        Account::Inherited if connection.opened.is_some() => ANONYMOUS,
        _ => UNKNOWN,
    };
    segment.accounts.count(account, 1);
    segment.continued += connection.continued;
    if let Some(first) = connection.first_request {
        let span = i128::from(connection.last_op) - i128::from(first.op) + 1;
        segment.holes += (span - i128::from(connection.requests)).max(0);
    }
    let row = segment.clients.at(row as usize);
    for idle_times in connection.rare.iter().flat_map(|rare| rare.idle_times.values()) {
        row.idle_times.merge(idle_times);
    }
    count_close(row, number, connection);
}

fn count_close(row: &mut ClientRow, number: i64, connection: &Connection) {
    row.operations += connection.operations;
    *row.codes.entry(connection.code).or_default() += 1;
    if connection.operations == 0 {
        *row.silent.entry(connection.code).or_default() += 1;
    }
    row.per_connection.count(connection.operations);
    let Some(closed) = connection.closed else { return };
    if let Some(opened) = connection.opened {
        row.lifetimes.count((closed - opened).max(0) as u64);
    }
    if let Some(idle) = connection.idle_at_close
        && let Some(since) = idle.idle_since
        && idle.quiet
        && closed > since
    {
        row.idle_before_close.entry(connection.code).or_default().add(closed - since, closed, number);
    }
}

/// Counts what cannot be attributed any more, under the unknown client and account.
fn count_unattributed(segment: &mut Segment, connection: &mut Connection) {
    let Some(rare) = connection.rare.as_mut() else { return };
    let client = connection.client.unwrap_or(UNKNOWN);
    let unbound = if connection.opened.is_none() { UNKNOWN } else { ANONYMOUS };
    for (&(shape, account), &counts) in &rare.unattributed {
        let account = match account {
            Account::Dn(account) => account,
            Account::Inherited => unbound,
            Account::OfBind(_) => UNKNOWN,
        };
        let place = segment.attribution_index((shape, client, account));
        segment.attribution.at(place).add(counts);
    }
    for (&(dn, err), &count) in &rare.failures {
        segment.failures.count((dn, client, err), count);
    }
}
