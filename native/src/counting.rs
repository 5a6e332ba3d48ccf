//! What a result, a failed BIND or the end of a connection adds to a Segment; for whom, once that is known.

use crate::connection::{Account, Answer, Cell, Connection, Pending};
use crate::kinds::{ABANDON, BIND, SEARCH};
use crate::pieces::lengths;
use crate::rests::Rests;
use crate::segment::Segment;
use crate::tables::{ClientRow, ShapeKey, ShapeRow};
use crate::texts::{ANONYMOUS, OTHER, Text, Texts, UNKNOWN};

/// saslBindInProgress (RFC 4511, appendix A): a step, neither a success nor a failure.
pub const IN_PROGRESS: i64 = 14;

/// Searches whose request is not in the log.
const UNSEEN_SEARCH: ShapeKey = (UNKNOWN, UNKNOWN, -1);

/// timeLimitExceeded, sizeLimitExceeded, adminLimitExceeded (RFC 4511, appendix A): there were more entries.
const LIMITS: [i64; 3] = [3, 4, 11];

/// The note of 389-ds on a page of a paged search.
const PAGE: &[u8] = b"P";

/// Bytes, about, of results by the lengths of pieces.
const MEASURED: usize = 64;

/// Bytes, about, of what an unknown client is owed.
const OWED: usize = 100;

/// Counts the result of a request, for who is bound by then.
pub fn answer(
    segment: &mut Segment,
    number: i64,
    connection: &mut Connection,
    pending: &mut Pending,
    held: &Answer,
    account: Account,
) {
    let etime = held.etime.unwrap_or_else(|| (held.time - pending.time).max(0));
    segment.took += i128::from(etime);
    let Some(place) = pending.row else {
        if pending.kind == BIND && held.err != 0 && held.err != IN_PROGRESS {
            fail(segment, connection, pending.dn, held.err, 1);
        }
        return;
    };
    let row = segment.shapes.at(place as usize);
    count_in(row, held, etime);
    if held.err == 0 && held.notes == ANONYMOUS {
        row.most_entries = row.most_entries.max(held.entries);
    } else {
        unusual(row, held, segment.texts.at(held.notes));
    }
    if row.has_pieces {
        segment.weight += measure(row, &mut segment.texts, &pending.filter, held, etime);
    }
    if etime >= row.worst.order.0 {
        let order = (etime, -held.time, -number, -held.op);
        if (order, &pending.filter) > (row.worst.order, &row.worst.filter) {
            row.worst.order = order;
            std::mem::swap(&mut row.worst.filter, &mut pending.filter);
        }
    }
    let (shape, noted) = (row.key.0, u64::from(held.notes != ANONYMOUS));
    owe(segment, connection, shape, account, Cell { count: 1, etime: i128::from(etime), noted });
}

fn count_in(row: &mut ShapeRow, held: &Answer, etime: i64) {
    row.answered += 1;
    row.etime += i128::from(etime);
    row.entries += i128::from(held.entries);
    row.histogram.count(etime as u64);
    row.wait += i128::from(held.wait.unwrap_or(0));
}

/// Counts a result by the lengths of the pieces it was of; returns how many bytes, about, are kept besides.
#[inline(never)]
fn measure(row: &mut ShapeRow, texts: &mut Texts, filter: &[u8], held: &Answer, etime: i64) -> usize {
    let count = row.pieces.len();
    let lengths = texts.number(lengths(filter).text());
    row.measured(lengths, etime, u64::from(held.notes != ANONYMOUS), held.entries);
    (row.pieces.len() - count) * MEASURED
}

/// Counts a result with a code or notes, whose entries may not be all there are.
fn unusual(row: &mut ShapeRow, held: &Answer, notes: &[u8]) {
    if held.err != 0 {
        row.failed(held.err);
    }
    if held.notes != ANONYMOUS {
        *row.noted.entry(held.notes).or_default() += 1;
    }
    if LIMITS.contains(&held.err) || (held.err == 0 && notes.split(|&byte| byte == b',').any(|note| note == PAGE)) {
        row.most_limited = row.most_limited.max(held.entries);
    } else if held.err == 0 {
        row.most_entries = row.most_entries.max(held.entries);
    }
}

/// Counts a result whose request is not in the log: the operation is counted by it, for nobody.
pub fn unrequested(segment: &mut Segment, number: i64, held: &Answer) {
    let kind = held.kind;
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
    let mut pending = Pending { row, dn, ..Pending::new(held.op, held.time, kind) };
    let mut nobody = Connection::new(0, Some(0), Some(UNKNOWN));
    answer(segment, number, &mut nobody, &mut pending, held, Account::Named(UNKNOWN));
}

/// Counts searches for who asked, or keeps them with the connection until that is known.
pub fn owe(segment: &mut Segment, connection: &mut Connection, shape: Text, account: Account, counts: Cell) {
    let cell = if let (Some(client), Account::Named(account)) = (connection.client, account) {
        let place = match connection.cell {
            Some((counted, asker, place)) if (counted, asker) == (shape, account) => place,
            _ => segment.asker((shape, client, account)),
        };
        connection.cell = Some((shape, account, place));
        segment.attribution.at(place)
    } else {
        let owed = &mut connection.aside().owed;
        let mut key = (shape, account);
        if !owed.contains_key(&key) {
            if owed.len() >= segment.caps.owed {
                segment.cut_short.insert("attribution");
                key = (OTHER, Account::Untold);
            }
            segment.weight += OWED;
        }
        owed.entry(key).or_default()
    };
    cell.add(counts);
}

/// Counts failed BINDs.
pub fn fail(segment: &mut Segment, connection: &mut Connection, dn: Text, err: i64, times: u64) {
    if let Some(client) = connection.client {
        segment.failures.count((dn, client, err), times);
    } else {
        segment.weight += OWED;
        *connection.aside().failures.entry((dn, err)).or_default() += times;
    }
}

/// Where rests of a connection are counted.
pub fn rests_of<'a>(segment: &'a mut Segment, connection: &'a mut Connection, epoch: usize) -> &'a mut Rests {
    match connection.row {
        Some(row) => &mut segment.clients.at(row as usize).rests,
        None => {
            segment.weight += OWED;
            connection.aside().rests.entry(epoch).or_default()
        }
    }
}

/// Counts a closed connection of which nothing more can come.
pub fn end(segment: &mut Segment, number: i64, connection: &mut Connection) {
    count_for_nobody(segment, connection);
    let row = connection.row.unwrap_or_else(|| segment.client(UNKNOWN));
    let account = match connection.account {
        Account::Named(account) => account,
        Account::Untold if connection.opened.is_some() => ANONYMOUS,
        _ => UNKNOWN,
    };
    segment.accounts.count(account, 1);
    segment.continued += connection.continued;
    if let Some(asked) = connection.asked {
        let told = i128::from(connection.last_op) - i128::from(asked.op) + 1;
        segment.holes += (told - i128::from(connection.requests)).max(0);
    }
    let row = segment.clients.at(row as usize);
    for rests in connection.aside.iter().flat_map(|aside| aside.rests.values()) {
        row.rests.take(rests);
    }
    end_in(row, number, connection);
}

fn end_in(row: &mut ClientRow, number: i64, connection: &Connection) {
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
    if let Some(tail) = connection.tail
        && let Some(rested) = tail.rested
        && tail.quiet
        && closed > rested
    {
        row.tails.entry(connection.code).or_default().add(closed - rested, closed, number);
    }
}

/// Counts for nobody what is owed to a client or account that the log does not tell.
fn count_for_nobody(segment: &mut Segment, connection: &mut Connection) {
    let Some(aside) = connection.aside.as_mut() else { return };
    let client = connection.client.unwrap_or(UNKNOWN);
    let nobody = if connection.opened.is_none() { UNKNOWN } else { ANONYMOUS };
    for (&(shape, account), &counts) in &aside.owed {
        let account = match account {
            Account::Named(account) => account,
            Account::Untold => nobody,
            Account::Of(_) => UNKNOWN,
        };
        let place = segment.asker((shape, client, account));
        segment.attribution.at(place).add(counts);
    }
    for (&(dn, err), &count) in &aside.failures {
        segment.failures.count((dn, client, err), count);
    }
}
