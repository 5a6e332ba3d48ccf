//! Pruning: keep the costliest rows of the tables of a Segment; the cheaper ones are added to more general rows.
//!
//! A row that is removed is cheaper than all that stay, so what is costly in the whole log stays visible wherever it
//! begins. A key loses what its row had whenever this is removed: `omitted` is the sum of these costs, the bound of the
//! error.

use std::mem;

use crate::connection::Connection;
use crate::interner::{Interner, OTHER, Symbol};
use crate::operation_kinds::{OperationKind, SEARCH};
use crate::operation_row::{OTHER_RESULT, OperationRow, ShapeKey, TargetKey};
use crate::pending_requests::{NO_ROW, REMOVED};
use crate::ranked_table::{Adding, Later, RankedTable};
use crate::segment::{AttributionKey, RowKey, Segment};
use crate::shape_row::ShapeRow;
use crate::text_translation::TextTranslation;

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

/// The rows of a chunk that is merged, to which its pending requests refer.
pub struct LaterRows {
    shapes: Later<ShapeKey, ShapeRow>,
    targets: Later<TargetKey, OperationRow>,
}

/// The key that counts a shape with all others.
fn of_shapes(_: ShapeKey) -> ShapeKey {
    (OTHER, OTHER, -1)
}

/// The key that counts a target with all others of its kind.
fn of_targets((kind, _): TargetKey) -> TargetKey {
    (kind, OTHER)
}

impl Segment {
    /// Adds the rows of the shapes and targets of a chunk that have a row here.
    pub fn add_known(&mut self, later: &mut Segment, translation: &mut TextTranslation) -> LaterRows {
        let shapes = mem::replace(&mut later.shapes, RankedTable::new(0));
        let targets = mem::replace(&mut later.targets, RankedTable::new(0));
        let (kept, texts) = (&self.noted, &mut self.texts);
        let mut adding = Adding { general: of_shapes, kept, texts, translation, is_final: false };
        let shapes = self.shapes.add_known(shapes, &mut adding);
        let targets = self.targets.add_known(targets, &mut adding.by(of_targets, kept));
        LaterRows { shapes, targets }
    }

    /// The row here of a shape of a chunk.
    pub fn add_shape(&mut self, later: &mut LaterRows, row: u32, translation: &mut TextTranslation) -> u32 {
        let (kept, texts) = (&self.noted, &mut self.texts);
        let mut adding = Adding { general: of_shapes, kept, texts, translation, is_final: false };
        self.shapes.add_one(&mut later.shapes, row as usize, &mut adding)
    }

    /// The row here of a target of a chunk.
    pub fn add_target(&mut self, later: &mut LaterRows, row: u32, translation: &mut TextTranslation) -> u32 {
        let (kept, texts) = (&self.noted, &mut self.texts);
        let mut adding = Adding { general: of_targets, kept, texts, translation, is_final: false };
        self.targets.add_one(&mut later.targets, row as usize, &mut adding)
    }
}

/// Removes the cheapest rows of the tables that have too many at the end of a stream.
pub fn prune(segment: &mut Segment) {
    let mut translation = TextTranslation::new(Interner::default());
    let mut nothing = Segment::new(segment.caps);
    let rows = segment.add_known(&mut nothing, &mut translation);
    add_tables(segment, nothing, rows, &mut translation, true);
}

/// Adds the rows of a chunk, and removes the cheapest of the tables that have too many then.
pub fn add_tables(
    segment: &mut Segment,
    later: Segment,
    rows: LaterRows,
    translation: &mut TextTranslation,
    is_final: bool,
) {
    let (noted, closed, texts) = (&segment.noted, &segment.closed, &mut segment.texts);
    let mut adding = Adding { general: of_shapes, kept: noted, texts, translation, is_final };
    let shapes = segment.shapes.add_rest(rows.shapes, &mut adding);
    let mut adding = adding.by(of_targets, closed);
    let targets = segment.targets.add_rest(rows.targets, &mut adding);
    let mut adding = adding.by(fewer_details, closed);
    let attribution = segment.attribution.merge(later.attribution, &mut adding);
    let mut adding = adding.by(|_| OTHER, closed);
    segment.clients.merge(later.clients, &mut adding);
    segment.modified.merge(later.modified, &mut adding);
    segment.accounts.merge(later.accounts, &mut adding);
    let mut adding = adding.by(of_pairs, closed);
    segment.lookups.merge(later.lookups, &mut adding);
    segment.refused.merge(later.refused, &mut adding);
    segment.not_indexed.merge(later.not_indexed, &mut adding);
    let mut adding = adding.by(of_client, closed);
    segment.idle_times.merge(later.idle_times, &mut adding);
    segment.clear_binds.merge(later.clear_binds, &mut adding);
    if !attribution.is_empty() || !shapes.is_empty() || !targets.is_empty() {
        renew_rows(segment, &RowsBefore { shapes, targets });
    }
}

/// Gives pending requests and connections the rows that their keys have now.
fn renew_rows(segment: &mut Segment, before: &RowsBefore) {
    let mut runs = mem::take(&mut segment.runs);
    let mut removed_rows = mem::take(&mut segment.removed_rows);
    for run in &mut runs {
        run.each_connection(|connection| renew_connection(segment, before, &removed_rows, connection));
    }
    removed_rows.clear();
    segment.runs = runs;
}

fn renew_connection(segment: &mut Segment, before: &RowsBefore, removed: &[RowKey], connection: &mut Connection) {
    connection.last_attribution = None;
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
