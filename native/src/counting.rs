//! Counting: add a result or the end of a connection to a Segment, once its client is known.

use crate::client_row::{ClientRow, bit_length};
use crate::connection::{Account, Connection, IN_PROGRESS, IdleTime, OperationResult, ResultCounts, Subject};
use crate::interner::{ANONYMOUS, Interner, OTHER, Symbol, UNKNOWN};
use crate::operation_kinds::{ABANDON, BIND, OperationKind, SEARCH};
use crate::operation_row::{OTHER_RESULT, ShapeKey};
use crate::pending_requests::Pending;
use crate::segment::Segment;
use crate::shape_row::ShapeRow;
use crate::sorting::Sorting;
use crate::stamps::SECOND;
use crate::substrings::lengths;
use crate::timeline::{Interval, SLOW};

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
const UNATTRIBUTED_BYTES: usize = 130;

/// Approximate bytes of an idle time kept for an unknown client or account.
const IDLE_TIME_BYTES: usize = 48;

/// Counts the result of a request, attributed to `account`; that of a BIND to the DN that it asks for, else to the
/// account that its result reports.
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
    let (kind, second) = (pending.kind, result.time.div_euclid(SECOND));
    count_in_interval(segment.timeline.at(second), kind, result.err, etime);
    let place = pending.row as usize;
    let mut account = account;
    let text = if kind == SEARCH {
        let row = segment.shapes.at(place);
        segment.added += row.operations.count(result, second, etime);
        segment.added += count_search(row, &mut segment.texts, pending, result, etime);
        row.operations.keep_worst(number, result, etime, &mut pending.subject);
        segment.shapes.key(place).0
    } else {
        if kind == BIND {
            let asked = (pending.dn != ANONYMOUS).then_some(pending.dn);
            account = asked.or(result.account).map_or(account, Account::Dn);
        }
        let row = segment.targets.at(place);
        segment.added += row.count(result, second, etime);
        row.keep_worst(number, result, etime, &mut pending.subject);
        segment.targets.key(place).1
    };
    let counts = ResultCounts { answered: 1, etime: i128::from(etime), noted: u64::from(result.notes != ANONYMOUS) };
    attribute(segment, connection, (kind, text), account, result.err, counts);
}

fn count_in_interval(interval: &mut Interval, kind: OperationKind, err: i64, etime: i64) {
    interval.answered += 1;
    interval.etime += i128::from(etime);
    interval.slow += u64::from(etime >= SLOW);
    if kind == SEARCH {
        interval.searches += 1;
        interval.search_etime += i128::from(etime);
    } else if kind == BIND && err != 0 && err != IN_PROGRESS {
        interval.failed_binds += 1;
    }
}

/// Counts the result of a search; returns the approximate number of bytes added.
fn count_search(
    row: &mut ShapeRow,
    texts: &mut Interner,
    pending: &mut Pending,
    result: &OperationResult,
    etime: i64,
) -> usize {
    let mut added = 0;
    if result.err == 0 && result.notes == ANONYMOUS {
        row.most_entries = row.most_entries.max(result.entries);
    } else {
        added += count_unusual(row, result, texts.resolve(result.notes), etime);
    }
    if let Some(sorting) = pending.sorting.take() {
        added += count_sort(row, *sorting, texts.resolve(result.notes), etime);
    }
    if row.has_substrings {
        added += count_substrings(row, texts, &pending.subject, result, etime);
    }
    added
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

/// Counts a BIND that awaits its result by this mechanism; returns whether the request is known.
pub fn name_mechanism(segment: &mut Segment, connection: &mut Connection, op: i64, mechanism: Symbol) -> bool {
    let Some(pending) = connection.pending.get_mut(op) else { return false };
    if pending.kind == BIND {
        segment.targets.at(pending.row as usize).requests -= 1;
        pending.row = segment.target((BIND, mechanism));
        segment.targets.at(pending.row as usize).requests += 1;
    }
    true
}

/// Counts a result whose request is not in the log, as an operation of its connection, `None`: of an unknown client.
pub fn count_without_request(
    segment: &mut Segment,
    number: i64,
    connection: Option<&mut Connection>,
    result: &OperationResult,
) {
    let kind = result.kind;
    if kind < 0 || kind == ABANDON {
        return;
    }
    segment.operations[kind as usize] += 1;
    let row = if kind == SEARCH { segment.shape(UNSEEN_SEARCH) } else { segment.target((kind, UNKNOWN)) };
    segment.operations_at(kind, row).requests += 1;
    let (mut unknown, mut result) = (Connection::new(0, Some(0), Some(UNKNOWN)), *result);
    if connection.is_none() {
        (result.account, result.bound_as) = (None, Account::Dn(UNKNOWN));
    }
    let dn = if kind == BIND { result.account.unwrap_or(UNKNOWN) } else { ANONYMOUS };
    let subject = segment.texts.resolve(dn).to_vec();
    let mut pending = Pending {
        op: result.op,
        line: 0,
        time: result.time,
        kind,
        row,
        dn,
        subject,
        sorting: None,
        before: Vec::new(),
    };
    let connection = connection.unwrap_or(&mut unknown);
    count_result(segment, number, connection, &mut pending, &result, result.bound_as);
}

/// Attributes results to client and account, or keeps them with the connection until both are known.
pub fn attribute(
    segment: &mut Segment,
    connection: &mut Connection,
    subject: Subject,
    account: Account,
    err: i64,
    counts: ResultCounts,
) {
    let cell = if let (Some(client), Account::Dn(account)) = (connection.client, account) {
        let place = match connection.last_attribution {
            Some((of, by, with, place)) if (of, by, with) == (subject, account, err) => place,
            _ => segment.attribution_index((subject.0, subject.1, client, account, err)),
        };
        connection.last_attribution = Some((subject, account, err, place));
        segment.attribution.at(place)
    } else {
        let kept = &mut connection.rare().unattributed;
        let mut key = (subject, account, err);
        if !kept.contains_key(&key) {
            if kept.len() >= segment.caps.owed {
                segment.cut_short.insert("attribution");
                key = ((subject.0, OTHER), Account::Inherited, OTHER_RESULT);
            }
            segment.added += UNATTRIBUTED_BYTES;
        }
        kept.entry(key).or_default()
    };
    cell.add(counts);
}

/// Counts an idle time that a request ended, or keeps it with the connection until client and account are known.
#[inline(never)]
pub fn count_idle_time(segment: &mut Segment, number: i64, connection: &mut Connection, since: i64, ended: i64) {
    let account = connection.bound_as();
    if let (Some(client), Account::Dn(account)) = (connection.client, account) {
        segment.idle_row((client, account)).used.add(ended - since, ended, number);
        segment.timeline.idle_time(since, ended, 1, 0);
        return;
    }
    segment.added += IDLE_TIME_BYTES;
    let epoch = connection.epoch();
    connection.rare().idle_times.push(IdleTime { epoch, account, since, ended });
}

/// Counts the idle times of a closed connection that were kept, and the one before its close.
fn count_last_idle_times(segment: &mut Segment, number: i64, connection: &mut Connection) {
    let client = connection.client.unwrap_or(UNKNOWN);
    let unbound = if connection.opened.is_none() { UNKNOWN } else { ANONYMOUS };
    let known = |account| match account {
        Account::Dn(account) => account,
        Account::Inherited => unbound,
        Account::OfBind(_) => UNKNOWN,
    };
    for &IdleTime { account, since, ended, .. } in connection.rare.iter().flat_map(|rare| &rare.idle_times) {
        segment.idle_row((client, known(account))).used.add(ended - since, ended, number);
        segment.timeline.idle_time(since, ended, 1, 0);
    }
    if let (Some(closed), Some(since)) = (connection.closed, connection.idle_at_end())
        && closed - since >= SECOND
    {
        let row = segment.idle_row((client, known(connection.bound_as())));
        row.before_close.entry(connection.code).or_default().add(closed - since, closed, number);
        segment.timeline.idle_time(since, closed, 0, 1);
    }
}

/// Counts a closed connection of which no record can follow.
pub fn end_connection(segment: &mut Segment, number: i64, connection: &mut Connection) {
    count_unattributed(segment, connection);
    count_clear_binds(segment, connection);
    count_last_idle_times(segment, number, connection);
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
    count_close(segment.clients.at(row as usize), connection);
}

fn count_close(row: &mut ClientRow, connection: &Connection) {
    row.operations += connection.operations;
    if let Some(begun) = connection.opened {
        row.used(begun, connection.last_use().unwrap_or(begun));
    }
    *row.codes.entry(connection.code).or_default() += 1;
    if connection.operations == 0 {
        *row.silent.entry(connection.code).or_default() += 1;
    }
    row.per_connection.count(bit_length(connection.operations));
    if let (Some(closed), Some(opened)) = (connection.closed, connection.opened) {
        row.lifetimes.count(bit_length((closed - opened).max(0) as u64));
    }
}

/// Counts what cannot be attributed any more, under the unknown client and account.
fn count_unattributed(segment: &mut Segment, connection: &mut Connection) {
    let Some(rare) = connection.rare.as_mut() else { return };
    let client = connection.client.unwrap_or(UNKNOWN);
    let unbound = if connection.opened.is_none() { UNKNOWN } else { ANONYMOUS };
    for (&((kind, text), account, err), &counts) in &rare.unattributed {
        let account = match account {
            Account::Dn(account) => account,
            Account::Inherited => unbound,
            Account::OfBind(_) => UNKNOWN,
        };
        let place = segment.attribution_index((kind, text, client, account, err));
        segment.attribution.at(place).add(counts);
    }
}

/// Keeps a BIND that sent a password without TLS, by epoch and DN, until the end of the connection.
pub fn count_clear_bind(segment: &mut Segment, connection: &mut Connection, dn: Symbol) {
    let epoch = connection.epoch();
    let kept = &mut connection.clear_binds;
    let place = |dn, kept: &[((usize, Symbol), u64)]| kept.iter().position(|&(known, _)| known == (epoch, dn));
    if let Some(place) = place(dn, kept) {
        kept[place].1 += 1;
        return;
    }
    let is_full = kept.len() >= segment.caps.owed;
    if is_full {
        segment.cut_short.insert("clear_binds");
    }
    match place(OTHER, kept).filter(|_| is_full) {
        Some(place) => kept[place].1 += 1,
        None => kept.push(((epoch, if is_full { OTHER } else { dn }), 1)),
    }
}

/// Counts the BINDs that sent a password without TLS, where the log has the connection from its beginning.
fn count_clear_binds(segment: &mut Segment, connection: &Connection) {
    if let (Some(_), Some(client)) = (connection.opened, connection.client) {
        for &((_, dn), count) in &connection.clear_binds {
            segment.clear_binds.count((client, dn), count);
        }
    }
}
