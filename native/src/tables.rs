//! The rows of a Segment, and the caps of tables whose keys come from clients.

use std::hash::Hash;

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::connection::OperationResult;
use crate::idle_times::IdleTimes;
use crate::interner::{ANONYMOUS, OTHER, Symbol};
use crate::sorting::Sorting;

/// The maximum number of keys of each table, set by Python; what exceeds it is counted as `other`.
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

/// A map that accepts no more keys than its cap.
pub struct CappedTable<Key, Row> {
    rows: IndexMap<Key, Row, FxBuildHasher>,
    most: usize,
    other: Key,
    /// The cap was hit.
    pub full: bool,
}

impl<Key: Copy + Eq + Hash, Row> CappedTable<Key, Row> {
    /// An empty table; `other` is the key that counts everything beyond the cap.
    pub fn new(most: usize, other: Key) -> Self {
        CappedTable { rows: IndexMap::default(), most, other, full: false }
    }

    /// The index of a row, or of that of all others; a missing row is created with `make`.
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

    /// The row at an index.
    pub fn at(&mut self, place: usize) -> &mut Row {
        &mut self.rows[place]
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The keys and rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }
}

impl<Key: Copy + Eq + Hash> CappedTable<Key, u64> {
    /// Counts a key, and returns the key it is counted under.
    pub fn count(&mut self, key: Key, times: u64) -> Key {
        let place = self.place(key, |_| 0);
        self.rows[place] += times;
        *self.rows.get_index(place).map_or(&self.other, |(key, _)| key)
    }
}

/// Bytes kept of a filter, a base or a DN.
pub const LONGEST: usize = 1024;

/// Copies a text for keeping: one that is too long is cut, and ends in an ellipsis.
pub fn shortened(text: &[u8], into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(&text[..text.len().min(LONGEST)]);
    if text.len() > LONGEST {
        into.extend_from_slice(b"...");
    }
}

/// The code that counts all others, where there are too many different ones.
const OTHER_RESULT: i64 = -1;
/// Different result codes in one row.
const MOST_ERRORS: usize = 100;

/// Different substring lengths in one row: more than all combinations of two substrings.
const MOST_LENGTHS: usize = 100;

/// Different combinations of code and notes in one row.
const MOST_STOPPED: usize = 100;

/// Different sorts in one row; an application has a few, but a client may ask for any.
const MOST_SORTS: usize = 100;
/// The candidates of a sort in memory, where sorts are counted by how they were done.
const IN_MEMORY: i64 = 0;

/// Filter shape, class of the base, scope.
pub type ShapeKey = (Symbol, Symbol, i64);

/// The possible bit lengths of a number: 0 to 64.
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
    /// Nanoseconds, -time, -connection, -op: of two equal durations the earlier compares greater.
    pub order: (i64, i64, i64, i64),
    /// The filter as logged.
    pub filter: Vec<u8>,
}

/// Entries of the largest result, where there is no such result.
const NONE: i64 = -1;

/// Results of searches whose substrings have the same lengths.
pub struct SubstringCounts {
    /// Results.
    pub answered: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Results with notes.
    pub noted: u64,
    /// Entries of the largest result.
    pub most: i64,
}

/// Results that a limit or a refusal stopped.
#[derive(Default)]
pub struct StoppedCounts {
    /// Results.
    pub answered: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Nanoseconds of waiting for a worker thread.
    pub wait: i128,
    /// Entries returned.
    pub entries: i128,
    /// Entries of the largest result.
    pub most: i64,
}

/// Results of searches that were to be sorted in the same way.
#[derive(Default)]
pub struct SortCounts {
    /// Results.
    pub answered: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Results noted unindexed.
    pub unindexed: u64,
    /// Candidates sorted.
    pub candidates: i128,
    /// The most candidates of one search.
    pub most: i64,
}

/// The searches of one shape, base class and scope. Times in nanoseconds.
pub struct ShapeRow {
    /// The shape, base class and scope.
    pub key: ShapeKey,
    /// Requests.
    pub searches: u64,
    /// Results.
    pub answered: u64,
    /// Nanoseconds they took.
    pub etime: i128,
    /// Nanoseconds of waiting for a worker thread.
    pub wait: i128,
    /// Entries returned.
    pub entries: i128,
    /// Entries of the largest complete result: code 0, no page.
    pub most_entries: i64,
    /// Entries of the largest result that a limit or a page ended: at least so many match.
    pub most_limited: i64,
    /// Results by notes.
    pub noted: FxHashMap<Symbol, u64>,
    /// Results by code, without success.
    pub errors: FxHashMap<i64, u64>,
    /// Results by the bit length of their etime.
    pub histogram: Histogram,
    /// The slowest search.
    pub worst: Worst,
    /// The shape has substrings.
    pub has_substrings: bool,
    /// Results by the lengths of the substrings; [`ANONYMOUS`], the empty text, where they are unknown.
    pub substring_lengths: CappedTable<Symbol, SubstringCounts>,
    /// Results that a limit or a refusal stopped, by code and notes; they are in the other counts, too.
    pub stopped: CappedTable<(i64, Symbol), StoppedCounts>,
    /// Results by their SORT and VLV lines, candidates only as far as they are special.
    pub sorts: CappedTable<Sorting, SortCounts>,
}

impl ShapeRow {
    /// A row without counts.
    pub fn new(key: ShapeKey, has_substrings: bool) -> Self {
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
            has_substrings,
            substring_lengths: CappedTable::new(MOST_LENGTHS, ANONYMOUS),
            stopped: CappedTable::new(MOST_STOPPED, (OTHER_RESULT, OTHER)),
            sorts: CappedTable::new(MOST_SORTS, Sorting::OTHER),
        }
    }

    /// Counts a result with a code other than success.
    pub fn failed(&mut self, err: i64) {
        let err = if self.errors.len() >= MOST_ERRORS && !self.errors.contains_key(&err) { OTHER_RESULT } else { err };
        *self.errors.entry(err).or_default() += 1;
    }

    /// Counts a result by the lengths of its filter's substrings.
    pub fn measured(&mut self, lengths: Symbol, etime: i64, noted: u64, entries: i64) {
        let nothing = |_| SubstringCounts { answered: 0, etime: 0, noted: 0, most: NONE };
        let place = self.substring_lengths.place(lengths, nothing);
        let counts = self.substring_lengths.at(place);
        counts.answered += 1;
        counts.etime += i128::from(etime);
        counts.noted += noted;
        counts.most = counts.most.max(entries);
    }

    /// Counts a result that a limit or a refusal stopped.
    pub fn stop(&mut self, result: &OperationResult, etime: i64) {
        let place = self.stopped.place((result.err, result.notes), |_| StoppedCounts::default());
        let counts = self.stopped.at(place);
        counts.answered += 1;
        counts.etime += i128::from(etime);
        counts.wait += i128::from(result.wait.unwrap_or(0));
        counts.entries += i128::from(result.entries);
        counts.most = counts.most.max(result.entries);
    }

    /// Counts a result by its SORT and VLV lines.
    pub fn sorted(&mut self, sorting: Sorting, etime: i64, unindexed: bool) {
        let key = Sorting { candidates: sorting.candidates.min(IN_MEMORY), ..sorting };
        let place = self.sorts.place(key, |_| SortCounts::default());
        let counts = self.sorts.at(place);
        let candidates = sorting.candidates.max(0);
        counts.answered += 1;
        counts.etime += i128::from(etime);
        counts.unindexed += u64::from(unindexed);
        counts.candidates += i128::from(candidates);
        counts.most = counts.most.max(candidates);
    }
}

/// Lookups in one index.
#[derive(Clone, Copy)]
pub struct LookupCounts {
    /// The number of lookups.
    pub count: u64,
    /// The longest ID list.
    pub most: i64,
    /// The shortest ID list.
    pub least: i64,
}

/// The connections of one client address.
#[derive(Default)]
pub struct ClientRow {
    /// Connections accepted.
    pub opened: i64,
    /// Operations on connections that have ended.
    pub operations: u64,
    /// Closes by close code.
    pub codes: FxHashMap<Symbol, u64>,
    /// Closes of connections without any operation, such as health checks.
    pub silent: FxHashMap<Symbol, u64>,
    /// Closed connections by the bit length of their lifetime in nanoseconds.
    pub lifetimes: Histogram,
    /// Closed connections by the bit length of their number of operations.
    pub per_connection: Histogram,
    /// Idle times that a request ended.
    pub idle_times: IdleTimes,
    /// Idle times that a close ended, by close code.
    pub idle_before_close: FxHashMap<Symbol, IdleTimes>,
}

/// The key that counts everything beyond the cap of shapes.
pub const OTHER_SHAPE: ShapeKey = (OTHER, OTHER, -1);
