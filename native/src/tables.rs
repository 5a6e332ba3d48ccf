//! The tables of a Segment whose keys come from a log, which is text and may contain anything, and their caps.
//!
//! A [`RankedTable`] is complete within one chunk, which ends when it is heavy; Python prunes it when chunks are merged. A
//! [`CappedTable`] keeps the first keys: of values of which a server has few, such as close codes.

use std::hash::Hash;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// The maximum number of keys of each table, set by Python; what exceeds it is counted as `other`.
#[derive(Clone, Copy)]
#[allow(missing_docs)] // named as in tables.py, where each is explained
pub struct Caps {
    pub owed: usize,
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

/// Approximate bytes of a row beside key and counts: its hash and its place in the index.
const ROW_BYTES: usize = 24;

/// A map of all keys of a chunk, in the order of their first records.
pub struct RankedTable<Key, Row> {
    /// Hashed with a random seed per process, because the keys come from clients and may be forged.
    rows: IndexMap<Key, Row, RandomState>,
}

impl<Key, Row> Default for RankedTable<Key, Row> {
    fn default() -> Self {
        RankedTable { rows: IndexMap::default() }
    }
}

impl<Key: Copy + Eq + Hash, Row> RankedTable<Key, Row> {
    /// The index of a row; a missing row is created with `make`.
    pub fn place(&mut self, key: Key, make: impl FnOnce() -> Row) -> usize {
        if let Some(place) = self.rows.get_index_of(&key) {
            return place;
        }
        let (place, _) = self.rows.insert_full(key, make());
        place
    }

    /// The row at an index.
    #[inline]
    pub fn at(&mut self, place: usize) -> &mut Row {
        &mut self.rows[place]
    }

    /// The key at an index.
    #[inline]
    pub fn key(&self, place: usize) -> Key {
        *self.rows.get_index(place).expect("an index that place() returned").0
    }

    /// The keys and rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Key, &Row)> {
        self.rows.iter()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Approximate bytes in use, without what the rows refer to.
    pub fn weight(&self) -> usize {
        self.rows.len() * (size_of::<Key>() + size_of::<Row>() + ROW_BYTES)
    }
}

impl<Key: Copy + Eq + Hash> RankedTable<Key, u64> {
    /// Counts a key.
    pub fn count(&mut self, key: Key, times: u64) {
        *self.rows.entry(key).or_default() += times;
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
