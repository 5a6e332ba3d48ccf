//! The tables of a Segment whose keys come from a log, which is text and may contain anything, and their caps.
//!
//! A [`CappedTable`] keeps the first keys: of values of which a server has few, such as close codes. A
//! [`RankedTable`](crate::ranked_table::RankedTable) keeps the costliest.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The maximum number of keys of each table, set by Python; what exceeds it is counted as `other`.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[allow(missing_docs)] // named as in tables.py, where each is explained
pub struct Caps {
    pub shapes: usize,
    pub targets: usize,
    pub clients: usize,
    pub accounts: usize,
    pub attribution: usize,
    pub idle_times: usize,
    pub owed: usize,
    pub codes: usize,
    pub notes: usize,
    pub results: usize,
    pub pending: usize,
    pub pages: usize,
    pub connections: usize,
}

impl Caps {
    /// Caps that no log reaches.
    pub const NONE: Caps = Caps {
        shapes: usize::MAX,
        targets: usize::MAX,
        clients: usize::MAX,
        accounts: usize::MAX,
        attribution: usize::MAX,
        idle_times: usize::MAX,
        owed: usize::MAX,
        codes: usize::MAX,
        notes: usize::MAX,
        results: usize::MAX,
        pending: usize::MAX,
        pages: usize::MAX,
        connections: usize::MAX,
    };
}

/// Rows that are looked through for a key; more have an index.
const FEW: usize = 8;

/// A map that accepts no more keys than its cap.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(
    serialize = "Key: Serialize + Eq + Hash, Row: Serialize",
    deserialize = "Key: Deserialize<'de> + Eq + Hash, Row: Deserialize<'de>"
))]
pub struct CappedTable<Key, Row> {
    rows: Vec<(Key, Row)>,
    /// The places of the rows; none while they are few, as in most of very many tables.
    places: FxHashMap<Key, u32>,
    most: usize,
    other: Key,
    /// The cap was hit.
    pub full: bool,
}

impl<Key: Copy + Eq + Hash, Row> CappedTable<Key, Row> {
    /// An empty table; `other` is the key that counts everything beyond the cap.
    pub fn new(most: usize, other: Key) -> Self {
        CappedTable { rows: Vec::new(), places: FxHashMap::default(), most, other, full: false }
    }

    /// The index of a row, or of that of all others; a missing row is created with `make`.
    pub fn place(&mut self, key: Key, make: impl FnOnce(Key) -> Row) -> usize {
        if let Some(place) = self.find(key) {
            return place;
        }
        if self.rows.len() < self.most || key == self.other {
            return self.add(key, make(key));
        }
        self.full = true;
        let other = self.other;
        self.find(other).unwrap_or_else(|| self.add(other, make(other)))
    }

    fn find(&self, key: Key) -> Option<usize> {
        if self.places.is_empty() {
            return self.rows.iter().position(|&(known, _)| known == key);
        }
        self.places.get(&key).map(|&place| place as usize)
    }

    fn add(&mut self, key: Key, row: Row) -> usize {
        let place = self.rows.len();
        if place == 0 {
            self.rows.reserve_exact(1); // there may be very many tables of one row
        }
        self.rows.push((key, row));
        if place >= FEW {
            let from = if self.places.is_empty() { 0 } else { place };
            let keys = self.rows[from..].iter().map(|&(key, _)| key);
            self.places.extend(keys.zip(from as u32..));
        }
        place
    }

    /// The row at an index.
    pub fn at(&mut self, place: usize) -> &mut Row {
        &mut self.rows[place].1
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
        self.rows.iter().map(|(key, row)| (key, row))
    }

    /// Returns whether a key has a row of its own.
    pub fn contains(&self, key: Key) -> bool {
        self.find(key).is_some()
    }
}

impl<Key, Row> IntoIterator for CappedTable<Key, Row> {
    type Item = (Key, Row);
    type IntoIter = std::vec::IntoIter<(Key, Row)>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl<Key: Copy + Eq + Hash> CappedTable<Key, u64> {
    /// Counts a key, and returns the key it is counted under.
    pub fn count(&mut self, key: Key, times: u64) -> Key {
        let place = self.place(key, |_| 0);
        let (key, count) = &mut self.rows[place];
        *count += times;
        *key
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
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct LookupCounts {
    /// The number of lookups.
    pub count: u64,
    /// The longest ID list.
    pub most: i64,
    /// The shortest ID list.
    pub least: i64,
}

impl LookupCounts {
    /// Adds other lookups.
    pub fn add(&mut self, other: LookupCounts) {
        self.count += other.count;
        self.most = self.most.max(other.most);
        self.least = self.least.min(other.least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_keys_have_rows_and_the_others_one() {
        for most in [0, 1, FEW - 1, FEW, FEW + 1, 5 * FEW] {
            let (mut table, keys) = (CappedTable::new(most, usize::MAX), 0..6 * FEW);
            for _ in 0..2 {
                for key in keys.clone() {
                    let counted = table.count(key, 1);
                    assert_eq!(counted, if key < most { key } else { usize::MAX });
                }
            }
            assert!(table.full && keys.clone().all(|key| table.contains(key) == (key < most)));
            assert_eq!(table.len(), most + 1);
            let counts = table.into_iter().map(|(key, count)| if key < most { count == 2 } else { count > 2 });
            assert!(counts.into_iter().all(|is_so| is_so));
        }
    }
}
