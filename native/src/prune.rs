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
use crate::operation_kinds::{OperationKind, SEARCH};
use crate::operation_row::{OTHER_RESULT, OperationRow, ShapeKey, TargetKey};
use crate::pending_requests::{NO_ROW, REMOVED};
use crate::segment::{AttributionKey, RowKey, Segment};
use crate::shape_row::ShapeRow;
use crate::tables::{LookupCounts, RankedTable, Ranks};

/// The keys that had the rows of pending requests before the pruning, by row; empty where no row has moved.
struct RowsBefore {
    shapes: Vec<ShapeKey>,
    targets: Vec<TargetKey>,
}

impl RowsBefore {
    /// The key that a row had; `None` if it has not moved.
    fn key(&self, kind: OperationKind, row: u32) -> Option<RowKey> {
        if kind == SEARCH {
            self.shapes.get(row as usize).map(|&key| RowKey::Shape(key))
        } else {
            self.targets.get(row as usize).map(|&key| RowKey::Target(key))
        }
    }
}

/// Removes the cheapest rows of the tables that have too many.
pub fn prune(segment: &mut Segment, is_final: bool) {
    let before = RowsBefore { shapes: prune_shapes(segment, is_final), targets: prune_targets(segment, is_final) };
    let has_moved = prune_attribution(segment, is_final) | prune_clients(segment, is_final);
    prune_rest(segment, is_final);
    if has_moved || !before.shapes.is_empty() || !before.targets.is_empty() {
        renew_rows(segment, &before);
    }
}

fn prune_shapes(segment: &mut Segment, is_final: bool) -> Vec<ShapeKey> {
    let (texts, noted) = (&segment.texts, &segment.noted);
    let ties = |one: &ShapeKey, other: &ShapeKey| {
        compare(texts, &[one.0, one.1], &[other.0, other.1]).then(one.2.cmp(&other.2))
    };
    let cost = |row: &ShapeRow| (row.operations.etime, i128::from(row.operations.requests));
    let add = |there: &mut ShapeRow, row| there.merge(row, noted, |text| text);
    let ranks = Ranks { cost, ties: &ties };
    segment.shapes.prune(is_final, &ranks, |_| (OTHER, OTHER, -1), |_| ShapeRow::new(false), add)
}

fn prune_targets(segment: &mut Segment, is_final: bool) -> Vec<TargetKey> {
    let texts = &segment.texts;
    let ties = |one: &TargetKey, other: &TargetKey| one.0.cmp(&other.0).then(compare(texts, &[one.1], &[other.1]));
    let cost = |row: &OperationRow| (row.etime, i128::from(row.requests));
    let ranks = Ranks { cost, ties: &ties };
    segment.targets.prune(is_final, &ranks, |(kind, _)| (kind, OTHER), |_| Default::default(), OperationRow::merge)
}

fn prune_attribution(segment: &mut Segment, is_final: bool) -> bool {
    let texts = &segment.texts;
    let ties = |one: &AttributionKey, other: &AttributionKey| {
        let texts_of = |key: &AttributionKey| [key.1, key.2, key.3];
        let by_texts = compare(texts, &texts_of(one), &texts_of(other));
        one.0.cmp(&other.0).then(by_texts).then(one.4.cmp(&other.4))
    };
    let cost = |cell: &ResultCounts| (cell.etime, i128::from(cell.answered));
    let ranks = Ranks { cost, ties: &ties };
    let moved = segment.attribution.prune(is_final, &ranks, fewer_details, |_| Default::default(), ResultCounts::add);
    !moved.is_empty()
}

fn prune_clients(segment: &mut Segment, is_final: bool) -> bool {
    let (texts, closed) = (&segment.texts, &segment.closed);
    let ties = |one: &Symbol, other: &Symbol| compare(texts, &[*one], &[*other]);
    let cost = |row: &ClientRow| (i128::from(row.opened) + i128::from(row.operations), 0);
    let removed = segment.clients.removed(is_final, &Ranks { cost, ties: &ties }, |_| OTHER);
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
    let cost = |cell: &LookupCounts| (i128::from(cell.count), i128::from(cell.most));
    let none = |lookups: &LookupCounts| LookupCounts { count: 0, ..*lookups };
    segment.lookups.prune(is_final, &Ranks { cost, ties: &ties }, of_pairs, none, LookupCounts::add);
    let cost = |row: &IdleRow| {
        let (count, longest) = row.count_and_longest();
        (i128::from(longest), i128::from(count))
    };
    let add = |there: &mut IdleRow, row: IdleRow| there.merge(&row, |code| kept_code(closed, code));
    segment.idle_times.prune(is_final, &Ranks { cost, ties: &ties }, of_client, |_| Default::default(), add);
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
    let ranks = Ranks { cost: |&count: &u64| (i128::from(count), 0), ties };
    table.prune(is_final, &ranks, general, |_| 0, |there, count| *there += count);
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
            row => match before.key(pending.kind, row) {
                Some(key) => key,
                None => return,
            },
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
