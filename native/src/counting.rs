//! Counting: add a result or the end of a connection to a Segment, once its client is known.

use crate::client_row::{ClientRow, add_code, bit_length};
use crate::connection::{Account, Connection, Ending, IN_PROGRESS, OperationResult, ResultCounts, Subject};
use crate::idle_counting::count_last_idle_time;
use crate::interner::{ANONYMOUS, Interner, OTHER, Symbol, UNKNOWN};
use crate::operation_kinds::{ABANDON, BIND, OperationKind, SEARCH};
use crate::operation_row::{OTHER_RESULT, ShapeKey};
use crate::pending_requests::{NO_ROW, Pending};
use crate::segment::Segment;
use crate::shape_row::{ShapeRow, SortCounts, StoppedCounts, SubstringCounts};
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

/// A result that is written before its request is of a time as near as this.
const EARLY: i64 = SECOND;
/// Such a result waits for its request as long; then it has none.
const MOST_EARLY: i64 = 10 * SECOND;

/// Approximate bytes of the counts of one combination of substring lengths.
const SUBSTRING_COUNTS_BYTES: usize = 64;

/// Approximate bytes of the counts of one kind of stopped results.
const STOPPED_COUNTS_BYTES: usize = 100;

/// Approximate bytes of the counts of one sort.
const SORT_COUNTS_BYTES: usize = 100;

/// Approximate bytes of counts kept for an unknown client.
const UNATTRIBUTED_BYTES: usize = 130;

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
    let digits = lengths(filter);
    let lengths = if is_stopped(result.err) { texts.intern(&digits.stopped()) } else { texts.intern(digits.text()) };
    let noted = u64::from(result.notes != ANONYMOUS);
    let counts = SubstringCounts { answered: 1, etime: i128::from(etime), noted, most: result.entries };
    row.measured(lengths, counts) * SUBSTRING_COUNTS_BYTES
}

/// Counts a result that was to be sorted; returns the approximate number of bytes added.
#[inline(never)]
fn count_sort(row: &mut ShapeRow, sorting: Sorting, notes: &[u8], etime: i64) -> usize {
    let unindexed = u64::from(notes.split(|&byte| byte == b',').any(|note| UNINDEXED.contains(&note)));
    let most = sorting.candidates.max(0);
    let etime = i128::from(etime);
    let counts = SortCounts { answered: 1, etime, unindexed, candidates: i128::from(most), most };
    row.sorted(sorting, counts) * SORT_COUNTS_BYTES
}

/// Counts a result with an error code or notes; it may not contain all entries.
///
/// Returns the approximate number of bytes added.
fn count_unusual(row: &mut ShapeRow, result: &OperationResult, notes: &[u8], etime: i64) -> usize {
    let mut added = 0;
    if is_stopped(result.err) {
        let (wait, most) = (i128::from(result.wait.unwrap_or(0)), result.entries);
        let counts = StoppedCounts { answered: 1, etime: i128::from(etime), wait, entries: i128::from(most), most };
        added = row.stop((result.err, result.notes), counts) * STOPPED_COUNTS_BYTES;
    }
    if result.notes != ANONYMOUS {
        row.note(result.notes, 1);
    }
    let is_page = || notes.split(|&byte| byte == b',').any(|note| note == PAGE);
    if LIMITS.contains(&result.err) || (result.err == 0 && is_page()) {
        row.most_limited = row.most_limited.max(result.entries);
    } else if result.err == 0 {
        row.most_entries = row.most_entries.max(result.entries);
    }
    added
}

/// Returns whether a limit or a refusal stopped a search.
fn is_stopped(err: i64) -> bool {
    err != 0 && (LIMITS.contains(&err) || REFUSED.contains(&err))
}

/// Counts a BIND that awaits its result by this mechanism; returns whether the request is known.
pub fn name_mechanism(segment: &mut Segment, connection: &mut Connection, op: i64, mechanism: Symbol) -> bool {
    let Some(pending) = connection.pending.get_mut(op) else { return false };
    if pending.kind == BIND {
        let before = segment.row_again(BIND, pending.row);
        let requests = &mut segment.targets.at(before as usize).requests;
        *requests = requests.saturating_sub(1);
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
            _ => {
                let place = segment.attribution_index((subject.0, subject.1, client, account, err));
                connection.last_attribution = Some((subject, account, err, place));
                place
            }
        };
        segment.attribution.at(place)
    } else {
        let kept = &mut connection.rare().unattributed;
        let mut key = (subject, account, err);
        if !kept.contains_key(&key) {
            if kept.len() >= segment.caps.owed {
                segment.cut_short("attribution");
                key = ((subject.0, OTHER), Account::Inherited, OTHER_RESULT);
            }
            segment.added += UNATTRIBUTED_BYTES;
        }
        kept.entry(key).or_default()
    };
    cell.add(counts);
}

/// Attributes what came before the first BIND to the anonymous account, where the connection's opening is known.
pub fn resolve_account(segment: &mut Segment, connection: &mut Connection) {
    if connection.opened.is_none() || connection.account != Account::Inherited {
        return;
    }
    connection.account = Account::Dn(ANONYMOUS);
    attribute_kept(segment, connection);
}

/// Attributes what was kept, now that the client is known; what came before the first BIND is anonymous.
pub fn attribute_kept(segment: &mut Segment, connection: &mut Connection) {
    let Some(rare) = connection.rare.as_mut() else { return };
    for ((subject, account, err), counts) in std::mem::take(&mut rare.unattributed) {
        attribute(segment, connection, subject, account.or_anonymous(), err, counts);
    }
}

/// Counts a connection of which no record can follow.
pub fn end_connection(segment: &mut Segment, number: i64, connection: &mut Connection, ending: Ending) {
    count_last_idle_time(segment, number, connection, ending);
    let last_use = connection.last_use(ending.at());
    count_early_results(segment, number, connection, None, true);
    count_unattributed(segment, connection, false);
    count_clear_binds(segment, connection);
    for pending in connection.pending.iter() {
        count_unanswered(segment, pending);
    }
    segment.accounts.count(connection.account.known(connection.unbound()), 1);
    segment.continued += connection.continued;
    if let Some(first) = connection.first_request {
        let span = i128::from(connection.last_op) - i128::from(first.op) + 1;
        segment.holes += (span - i128::from(connection.requests)).max(0);
    }
    let row = segment.client_row_at_end(connection.client_at_end(), connection.operations);
    row.operations += connection.operations;
    row.used(connection.opened.unwrap_or(connection.first), last_use);
    if matches!(ending, Ending::EndOfLog(_)) {
        segment.open_at_end += 1;
    } else {
        count_close(row, connection);
    }
}

fn count_close(row: &mut ClientRow, connection: &Connection) {
    add_code(&mut row.codes, connection.code, 1);
    if connection.operations == 0 {
        add_code(&mut row.silent, connection.code, 1);
    }
    row.per_connection.count(bit_length(connection.operations));
    if let (Some(closed), Some(opened)) = (connection.closed, connection.opened) {
        row.lifetimes.count(bit_length((closed - opened).max(0) as u64));
    }
}

/// Counts a result that was kept until its request was known.
pub fn count_kept_result(
    segment: &mut Segment,
    number: i64,
    connection: &mut Connection,
    pending: &mut Pending,
    kept: &OperationResult,
    account: Account,
) {
    if pending.row == NO_ROW {
        segment.took += i128::from(kept.etime.unwrap_or_else(|| (kept.time - pending.time).max(0)));
        return;
    }
    pending.row = segment.row_again(pending.kind, pending.row);
    count_result(segment, number, connection, pending, kept, account);
}

/// Counts a request that an ABANDON ended before its result.
pub fn count_abandoned(segment: &mut Segment, pending: &Pending) {
    if pending.row != NO_ROW {
        let row = segment.row_again(pending.kind, pending.row);
        segment.operations_at(pending.kind, row).abandoned += 1;
    }
}

/// Counts the results that have no request before them: threads may write a result before its request.
///
/// At the end of the connection such a result belongs to the request that has no other. Until then a result waits for one
/// that comes, and both for another result: so they are joined alike wherever the log is cut. `late`: the stand-in with
/// the requests after the close.
pub fn count_early_results(
    segment: &mut Segment,
    number: i64,
    connection: &mut Connection,
    mut late: Option<&mut Connection>,
    is_at_end: bool,
) {
    let early = connection.rare.as_mut().map(|rare| std::mem::take(&mut rare.early)).unwrap_or_default();
    for (result, is_open) in early {
        if let Some(late) = late.as_mut().filter(|_| !is_open)
            && let Some(mut pending) = late.pending.take(result.op)
        {
            let account = late.account;
            count_kept_result(segment, number, late, &mut pending, &result, account);
            continue;
        }
        let is_of = |pending: &Pending| pending.kind == result.kind && (pending.time - result.time).abs() <= EARLY;
        let has_request = connection.pending.get_mut(result.op).is_some_and(|pending| is_of(pending));
        let may_come = || segment.last_time_or_none().unwrap_or(0) - result.time <= MOST_EARLY;
        if is_at_end && has_request {
            if let Some(mut pending) = connection.pending.take(result.op) {
                count_kept_result(segment, number, connection, &mut pending, &result, result.bound_as);
            }
        } else if !is_at_end && (has_request || may_come()) {
            connection.rare().early.push((result, is_open));
        } else {
            count_without_request(segment, number, is_open.then_some(&mut *connection), &result);
        }
    }
}

/// Counts a request whose result is not in the log.
pub fn count_unanswered(segment: &mut Segment, pending: &Pending) {
    if pending.row != NO_ROW {
        let row = segment.row_again(pending.kind, pending.row);
        segment.operations_at(pending.kind, row).unanswered += 1;
    }
}

/// Counts what cannot be attributed any more, under the unknown client and account.
///
/// That is what is kept of a client or account that is not in the log, and what came after the close.
pub fn count_unattributed(segment: &mut Segment, connection: &mut Connection, is_after_close: bool) {
    let (client, unbound) =
        if is_after_close { (UNKNOWN, UNKNOWN) } else { (connection.client_at_end(), connection.unbound()) };
    let Some(rare) = connection.rare.as_mut() else { return };
    for (&((kind, text), account, err), &counts) in &rare.unattributed {
        let account = if is_after_close && kind != BIND { UNKNOWN } else { account.known(unbound) };
        let place = segment.attribution_index((kind, text, client, account, err));
        segment.attribution.at(place).add(counts);
    }
}

/// Keeps BINDs that sent a password without TLS, by epoch and DN, until the end of the connection.
pub fn count_clear_bind(segment: &mut Segment, connection: &mut Connection, key: (usize, Symbol), count: u64) {
    let (epoch, dn) = key;
    let kept = &mut connection.clear_binds;
    let place = |dn, kept: &[((usize, Symbol), u64)]| kept.iter().position(|&(known, _)| known == (epoch, dn));
    if let Some(place) = place(dn, kept) {
        kept[place].1 += count;
        return;
    }
    let is_full = kept.len() >= segment.caps.owed;
    if is_full {
        segment.cut_short("clear_binds");
    }
    match place(OTHER, kept).filter(|_| is_full) {
        Some(place) => kept[place].1 += count,
        None => kept.push(((epoch, if is_full { OTHER } else { dn }), count)),
    }
}

/// Counts the BINDs that sent a password without TLS, where the log has the connection from its beginning.
fn count_clear_binds(segment: &mut Segment, connection: &Connection) {
    if let (Some(_), Some(client)) = (connection.opened, connection.client) {
        for &((_, dn), count) in &connection.clear_binds {
            segment.clear_binds.count((client, dn), count);
        }
    } else if !connection.clear_binds.is_empty() {
        segment.maybe_clear += 1;
    }
}
