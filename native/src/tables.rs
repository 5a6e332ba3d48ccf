//! The rows a Segment counts in, and the caps of tables that are keyed by what a client sends.

use std::hash::Hash;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::rests::Rests;
use crate::texts::{ANONYMOUS, OTHER, Text};

/// The most of each that is kept apart; what comes beyond is counted as `other`. Python says how many.
#[derive(Clone, Copy)]
#[allow(missing_docs)] // named as in tables.py, where each is explained
pub struct Caps {
    pub shapes: usize,
    pub clients: usize,
    pub accounts: usize,
    pub attribution: usize,
    pub owed: usize,
    pub failures: usize,
    pub codes: usize,
    pub notes: usize,
    pub pages: usize,
}

/// A map that takes no more new keys than its cap.
pub struct Table<Key, Row> {
    rows: IndexMap<Key, Row, FxBuildHasher>,
    most: usize,
    other: Key,
    /// Something did not fit.
    pub full: bool,
}

impl<Key: Copy + Eq + Hash, Row> Table<Key, Row> {
    /// An empty table; `other` is the key under which everything beyond is counted.
    pub fn new(most: usize, other: Key) -> Self {
        Table { rows: IndexMap::default(), most, other, full: false }
    }

    /// The place of a row, or of the one that stands for all others; made where it is missing.
    pub fn place(&mut self, key: Key, make: impl FnOnce(Key) -> Row) -> usize {
        if let Some(place) = self.rows.get_index_of(&key) {
            return place;
        }
        let key = if self.rows.len() < self.most || key == self.other {
            key
        } else {
            self.full = true;
            self.other
        };
        let entry = self.rows.entry(key);
        let place = entry.index();
        entry.or_insert_with(|| make(key));
        place
    }

    /// A row by its place.
    pub fn at(&mut self, place: usize) -> &mut Row {
        &mut self.rows[place]
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows and their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }
}

impl<Key: Copy + Eq + Hash> Table<Key, u64> {
    /// Counts a key, and returns the one it is counted as.
    pub fn count(&mut self, key: Key, times: u64) -> Key {
        let place = self.place(key, |_| 0);
        self.rows[place] += times;
        *self.rows.get_index(place).map_or(&self.other, |(key, _)| key)
    }
}

/// Bytes of a filter, a base or a DN that are kept.
pub const LONGEST: usize = 1024;

/// A text that is kept: what is too long is cut, and ends in an ellipsis.
pub fn shortened(text: &[u8], into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(&text[..text.len().min(LONGEST)]);
    if text.len() > LONGEST {
        into.extend_from_slice(b"...");
    }
}

/// Results of any code, where there are too many different ones.
const OTHER_RESULT: i64 = -1;
/// Result codes of one row.
const MOST_ERRORS: usize = 100;

/// Lengths of pieces of one row: two pieces of any length are fewer.
const MOST_LENGTHS: usize = 100;

/// Filter without its values, class of the base, scope.
pub type ShapeKey = (Text, Text, i64);

/// How many numbers have a bit length: 0 to 64.
const BIT_LENGTHS: usize = 65;

/// Numbers by their bit length: bucket b holds those below 2**b.
#[derive(Clone)]
pub struct Histogram(pub [u64; BIT_LENGTHS]);

impl Default for Histogram {
    fn default() -> Self {
        Histogram([0; BIT_LENGTHS])
    }
}

impl Histogram {
    /// Counts a number.
    pub fn count(&mut self, number: u64) {
        self.0[(u64::BITS - number.leading_zeros()) as usize] += 1;
    }
}

/// The slowest search of a row.
pub struct Worst {
    /// Nanoseconds, then -time, -connection, -op: of two equal ones the earlier is the greater.
    pub order: (i64, i64, i64, i64),
    /// The filter as logged.
    pub filter: Vec<u8>,
}

/// Entries of the largest result where there was no such result.
const NONE: i64 = -1;

/// Results of searches whose pieces are of the same lengths.
pub struct Measured {
    /// Results.
    pub answered: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Those with a note.
    pub noted: u64,
    /// Entries of the largest.
    pub most: i64,
}

/// The searches of one shape, base class and scope. Times in nanoseconds.
pub struct ShapeRow {
    /// What they have in common.
    pub key: ShapeKey,
    /// Requests.
    pub searches: u64,
    /// Results.
    pub answered: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Nanoseconds they waited.
    pub wait: i128,
    /// Entries that were sent.
    pub entries: i128,
    /// Entries of one result that was complete: code 0, no page.
    pub most_entries: i64,
    /// Entries of one result that a limit ended, or a page: as many there were at least.
    pub most_limited: i64,
    /// Results by notes.
    pub noted: FxHashMap<Text, u64>,
    /// Results by code, but for success.
    pub errors: FxHashMap<i64, u64>,
    /// Results by the bit length of their etime.
    pub histogram: Histogram,
    /// The slowest.
    pub worst: Worst,
    /// The shape has pieces.
    pub has_pieces: bool,
    /// Then results by the lengths of these; [`ANONYMOUS`], the empty text, where they are not told.
    pub pieces: Table<Text, Measured>,
}

impl ShapeRow {
    /// A row that counts nothing yet.
    pub fn new(key: ShapeKey, has_pieces: bool) -> Self {
        ShapeRow {
            key,
            searches: 0,
            answered: 0,
            etime: 0,
            wait: 0,
            entries: 0,
            most_entries: NONE,
            most_limited: NONE,
            noted: FxHashMap::default(),
            errors: FxHashMap::default(),
            histogram: Histogram::default(),
            worst: Worst { order: (-1, 0, 0, 0), filter: Vec::new() },
            has_pieces,
            pieces: Table::new(MOST_LENGTHS, ANONYMOUS),
        }
    }

    /// Counts a result with a code other than success.
    pub fn failed(&mut self, err: i64) {
        let err = if self.errors.len() >= MOST_ERRORS && !self.errors.contains_key(&err) { OTHER_RESULT } else { err };
        *self.errors.entry(err).or_default() += 1;
    }

    /// Counts a result by the lengths of the pieces it was of.
    pub fn measured(&mut self, lengths: Text, etime: i64, noted: u64, entries: i64) {
        let nothing = |_| Measured { answered: 0, etime: 0, noted: 0, most: NONE };
        let place = self.pieces.place(lengths, nothing);
        let told = self.pieces.at(place);
        told.answered += 1;
        told.etime += i128::from(etime);
        told.noted += noted;
        told.most = told.most.max(entries);
    }
}

/// Look-ups in one index.
#[derive(Clone, Copy)]
pub struct Lookups {
    /// How many.
    pub count: u64,
    /// Ids of the key that had the most.
    pub most: i64,
    /// Ids of the key that had the least.
    pub least: i64,
}

/// The connections of one client address.
#[derive(Default)]
pub struct ClientRow {
    /// Accepted.
    pub opened: i64,
    /// On connections that have ended.
    pub operations: u64,
    /// Closes by the server's word for why.
    pub codes: FxHashMap<Text, u64>,
    /// Those of them on connections without any operation: probes.
    pub silent: FxHashMap<Text, u64>,
    /// Closed connections by the bit length of their life in nanoseconds.
    pub lifetimes: Histogram,
    /// Closed connections by the bit length of their number of operations.
    pub per_connection: Histogram,
    /// Followed by a request.
    pub rests: Rests,
    /// Before a close, by its reason.
    pub tails: FxHashMap<Text, Rests>,
}

/// The key of everything beyond the cap of shapes.
pub const OTHER_SHAPE: ShapeKey = (OTHER, OTHER, -1);
