//! Pruning: keep the costliest rows of the tables of a Segment; the cheaper ones are added to more general rows.
//!
//! A row that is removed is cheaper than all that stay, so what is costly in the whole log stays visible wherever it
//! begins. A key loses what its row had whenever this is removed: `omitted` is the sum of these costs, the bound of the
//! error.

use std::cmp::Ordering;
use std::hash::Hash;

use crate::client_row::{ClientRow, kept_code};
use crate::connection::{Connection, ResultCounts};
use crate::idle_times::IdleRow;
use crate::interner::{Interner, OTHER, Symbol};
use crate::operation_kinds::SEARCH;
use crate::operation_row::{OTHER_RESULT, OperationRow, ShapeKey, TargetKey};
use crate::pending_requests::{NO_ROW, REMOVED};
use crate::segment::{AttributionKey, RowKey, Segment};
use crate::shape_row::ShapeRow;
use crate::tables::{LookupCounts, RankedTable, Ranks};

/// The keys that had the rows of pending requests before the pruning, by row.
struct RowsBefore {
    shapes: Vec<ShapeKey>,
    targets: Vec<TargetKey>,
}

/// Removes the cheapest rows of the tables that have too many.
pub fn prune(segment: &mut Segment, is_final: bool) {
    let before = RowsBefore {
        shapes: segment.shapes.iter().map(|(&key, _)| key).collect(),
        targets: segment.targets.iter().map(|(&key, _)| key).collect(),
    };
    let has_moved = prune_operations(segment, is_final) | prune_clients(segment, is_final);
    prune_rest(segment, is_final);
    if has_moved {
        renew_rows(segment, &before);
    }
}

fn prune_operations(segment: &mut Segment, is_final: bool) -> bool {
    let (texts, noted) = (&segment.texts, &segment.noted);
    let mut has_moved = false;
    loop {
        let ties = |one: &ShapeKey, other: &ShapeKey| {
            compare(texts, &[one.0, one.1], &[other.0, other.1]).then(one.2.cmp(&other.2))
        };
        let ranks =
            Ranks { cost: |row: &ShapeRow| (row.operations.etime, i128::from(row.operations.requests)), ties: &ties };
        let removed = segment.shapes.removed(is_final, ranks, |_| (OTHER, OTHER, -1));
        if removed.is_empty() {
            break;
        }
        has_moved = true;
        for (key, searches) in removed {
            let place = segment.shapes.place(key, || ShapeRow::new(false));
            segment.shapes.at(place).merge(searches, noted, |text| text);
        }
    }
    loop {
        let ties = |one: &TargetKey, other: &TargetKey| one.0.cmp(&other.0).then(compare(texts, &[one.1], &[other.1]));
        let ranks = Ranks { cost: |row: &OperationRow| (row.etime, i128::from(row.requests)), ties: &ties };
        let removed = segment.targets.removed(is_final, ranks, |(kind, _)| (kind, OTHER));
        if removed.is_empty() {
            break;
        }
        has_moved = true;
        for (key, row) in removed {
            let place = segment.targets.place(key, Default::default);
            segment.targets.at(place).merge(row);
        }
    }
    loop {
        let ties = |one: &AttributionKey, other: &AttributionKey| {
            let texts_of = |key: &AttributionKey| [key.1, key.2, key.3];
            let by_texts = compare(texts, &texts_of(one), &texts_of(other));
            one.0.cmp(&other.0).then(by_texts).then(one.4.cmp(&other.4))
        };
        let ranks = Ranks { cost: |cell: &ResultCounts| (cell.etime, i128::from(cell.answered)), ties: &ties };
        let removed = segment.attribution.removed(is_final, ranks, fewer_details);
        if removed.is_empty() {
            return has_moved;
        }
        has_moved = true;
        for (key, cell) in removed {
            let place = segment.attribution.place(key, Default::default);
            segment.attribution.at(place).add(cell);
        }
    }
}

fn prune_clients(segment: &mut Segment, is_final: bool) -> bool {
    let (texts, closed) = (&segment.texts, &segment.closed);
    let ties = |one: &Symbol, other: &Symbol| compare(texts, &[*one], &[*other]);
    let cost = |row: &ClientRow| (i128::from(row.opened) + i128::from(row.operations), 0);
    let removed = segment.clients.removed(is_final, Ranks { cost, ties: &ties }, |_| OTHER);
    let has_moved = !removed.is_empty();
    for (address, client) in removed {
        let place = segment.clients.place(address, Default::default);
        segment.clients.at(place).merge(client, |code| kept_code(closed, code));
    }
    has_moved
}

fn prune_rest(segment: &mut Segment, is_final: bool) {
    let (texts, closed) = (&segment.texts, &segment.closed);
    let ties = |one: &(Symbol, Symbol), other: &(Symbol, Symbol)| compare(texts, &[one.0, one.1], &[other.0, other.1]);
    loop {
        let ranks = Ranks { cost: |cell: &LookupCounts| (i128::from(cell.count), i128::from(cell.most)), ties: &ties };
        let removed = segment.lookups.removed(is_final, ranks, of_pairs);
        if removed.is_empty() {
            break;
        }
        for (key, lookups) in removed {
            let place = segment.lookups.place(key, || LookupCounts { count: 0, ..lookups });
            segment.lookups.at(place).add(lookups);
        }
    }
    loop {
        let cost = |row: &IdleRow| {
            let (count, longest) = row.count_and_longest();
            (i128::from(longest), i128::from(count))
        };
        let removed = segment.idle_times.removed(is_final, Ranks { cost, ties: &ties }, of_client);
        if removed.is_empty() {
            break;
        }
        for (key, row) in removed {
            let place = segment.idle_times.place(key, Default::default);
            segment.idle_times.at(place).merge(&row, |code| kept_code(closed, code));
        }
    }
    prune_counts(&mut segment.refused, is_final, &ties, of_pairs);
    prune_counts(&mut segment.clear_binds, is_final, &ties, of_client);
    prune_counts(&mut segment.not_indexed, is_final, &ties, of_pairs);
    let ties = |one: &Symbol, other: &Symbol| compare(texts, &[*one], &[*other]);
    prune_counts(&mut segment.modified, is_final, &ties, |_| OTHER);
    prune_counts(&mut segment.accounts, is_final, &ties, |_| OTHER);
}

fn prune_counts<Key: Copy + Eq + Hash>(
    table: &mut RankedTable<Key, u64>,
    is_final: bool,
    ties: &dyn Fn(&Key, &Key) -> Ordering,
    general: fn(Key) -> Key,
) {
    loop {
        let removed = table.removed(is_final, Ranks { cost: |&count| (i128::from(count), 0), ties }, general);
        if removed.is_empty() {
            return;
        }
        for (key, count) in removed {
            table.count(key, count);
        }
    }
}

/// Gives pending requests and connections the rows that their keys have now.
fn renew_rows(segment: &mut Segment, before: &RowsBefore) {
    let mut runs = std::mem::take(&mut segment.runs);
    let mut removed_rows = std::mem::take(&mut segment.removed_rows);
    for run in &mut runs {
        run.each_connection(|connection| renew_connection(segment, before, &removed_rows, connection));
    }
    removed_rows.clear();
    segment.runs = runs;
}

fn renew_connection(segment: &mut Segment, before: &RowsBefore, removed: &[RowKey], connection: &mut Connection) {
    connection.last_attribution = None;
    if let (Some(_), Some(client)) = (connection.row, connection.client) {
        connection.row = Some(segment.client(client));
    }
    connection.pending.each(|pending| {
        let key = match pending.row {
            NO_ROW => return,
            row @ REMOVED.. => removed[(row - REMOVED) as usize],
            row if pending.kind == SEARCH => RowKey::Shape(before.shapes[row as usize]),
            row => RowKey::Target(before.targets[row as usize]),
        };
        let place = match key {
            RowKey::Shape(key) => segment.shapes.find(key),
            RowKey::Target(key) => segment.targets.find(key),
        };
        pending.row = place.map_or_else(
            || {
                segment.removed_rows.push(key);
                REMOVED + segment.removed_rows.len() as u32 - 1
            },
            |place| place as u32,
        );
    });
}

fn compare(texts: &Interner, one: &[Symbol], other: &[Symbol]) -> Ordering {
    let resolved = |&symbol: &Symbol| texts.resolve(symbol);
    one.iter().map(resolved).cmp(other.iter().map(resolved))
}

/// Counts a pair of texts with all others.
fn of_pairs(_: (Symbol, Symbol)) -> (Symbol, Symbol) {
    (OTHER, OTHER)
}

/// Counts what has a client and a DN by the client alone, and then with all others.
fn of_client((client, dn): (Symbol, Symbol)) -> (Symbol, Symbol) {
    (if dn == OTHER { OTHER } else { client }, OTHER)
}

/// Drops the shape; then the account; then the client and the result code.
fn fewer_details((kind, subject, client, account, err): AttributionKey) -> AttributionKey {
    if subject != OTHER {
        (kind, OTHER, client, account, err)
    } else if account != OTHER {
        (kind, OTHER, client, OTHER, err)
    } else {
        (kind, OTHER, OTHER, OTHER, OTHER_RESULT)
    }
}
