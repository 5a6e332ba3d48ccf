//! The tables of a Segment whose keys come from a log, which is text and may contain anything, and their caps.
//!
//! A [`RankedTable`] is complete within one chunk, which ends when it is heavy, and pruned when chunks are merged. A
//! [`CappedTable`] keeps the first keys: of values of which a server has few, such as close codes.

use std::cmp::Ordering;
use std::hash::Hash;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
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

/// A map that accepts no more keys than its cap.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(
    serialize = "Key: Serialize + Eq + Hash, Row: Serialize",
    deserialize = "Key: Deserialize<'de> + Eq + Hash, Row: Deserialize<'de>"
))]
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

    /// Returns whether a key has a row of its own.
    pub fn contains(&self, key: Key) -> bool {
        self.rows.contains_key(&key)
    }
}

impl<Key, Row> IntoIterator for CappedTable<Key, Row> {
    type Item = (Key, Row);
    type IntoIter = indexmap::map::IntoIter<Key, Row>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
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

/// A map that is pruned to its costliest rows, in the order of their first records.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(
    serialize = "Key: Serialize + Eq + Hash, Row: Serialize",
    deserialize = "Key: Deserialize<'de> + Eq + Hash, Row: Deserialize<'de>"
))]
pub struct RankedTable<Key, Row> {
    /// Hashed with a random seed per process, because the keys come from clients and may be forged.
    rows: IndexMap<Key, Row, RandomState>,
    most: usize,
    /// Rows were removed.
    pub full: bool,
    /// The cost that a key may have had, at most, in addition to that of its row; or without a row.
    pub omitted: i128,
}

impl<Key: Copy + Eq + Hash, Row> RankedTable<Key, Row> {
    /// An empty table that keeps so many rows, and up to twice as many until it is pruned.
    pub fn new(most: usize) -> Self {
        RankedTable { rows: IndexMap::default(), most, full: false, omitted: 0 }
    }

    /// Adds the cheapest rows, where there are too many, to those of more general keys, which `make` makes of one and `add`
    /// adds one to. Returns the keys by the former indices of their rows; empty where no row has moved.
    pub fn prune(
        &mut self,
        is_final: bool,
        ranks: &Ranks<'_, Key, Row>,
        general: fn(Key) -> Key,
        make: impl Fn(&Row) -> Row,
        mut add: impl FnMut(&mut Row, Row),
    ) -> Vec<Key> {
        let mut before = Vec::new();
        while self.excess(is_final) > 0 {
            let keys: Vec<Key> = if before.is_empty() { self.rows.keys().copied().collect() } else { Vec::new() };
            let removed = self.removed(is_final, ranks, general);
            if removed.is_empty() {
                break;
            }
            before.extend(keys);
            for (key, row) in removed {
                let place = self.place(key, || make(&row));
                add(self.at(place), row);
            }
        }
        before
    }

    /// Removes the cheapest rows where there are too many, by `ranks`, and returns them with the keys that count them
    /// from now on: `general` returns a more general one, in the end the same one.
    ///
    /// There are too many at twice the cap, so that this is rare; at the end (`is_final`) above it. At least a quarter of
    /// the cap is removed, because each removed row may need a row of its own under its more general key.
    pub fn removed(&mut self, is_final: bool, ranks: &Ranks<'_, Key, Row>, general: fn(Key) -> Key) -> Vec<(Key, Row)> {
        let excess = self.excess(is_final);
        if excess == 0 {
            return Vec::new();
        }
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.retain(|&place| general(self.key(place)) != self.key(place));
        let most = excess.max(self.most / 4);
        if order.len() > most {
            order.select_nth_unstable_by(most, |&one, &other| {
                let costs = (ranks.cost)(&self.rows[one]).cmp(&(ranks.cost)(&self.rows[other]));
                costs.then_with(|| (ranks.ties)(&self.key(one), &self.key(other)))
            });
            order.truncate(most);
        }
        let Some(highest) = order.iter().map(|&place| (ranks.cost)(&self.rows[place]).0).max() else {
            return Vec::new();
        };
        self.full = true;
        self.omitted += highest;
        let mut leaves = vec![false; self.rows.len()];
        for place in order {
            leaves[place] = true;
        }
        let mut removed = Vec::new();
        for (place, (key, row)) in std::mem::take(&mut self.rows).into_iter().enumerate() {
            if leaves[place] {
                removed.push((general(key), row));
            } else {
                self.rows.insert(key, row);
            }
        }
        removed
    }

    /// The number of rows above the cap, where there are too many.
    fn excess(&self, is_final: bool) -> usize {
        let excess = self.rows.len().saturating_sub(self.most);
        if excess > if is_final { 0 } else { self.most } { excess } else { 0 }
    }

    /// Notes that rows of another table, which is added to this one, were removed.
    pub fn also(&mut self, other: &Self) {
        self.full |= other.full;
        self.omitted += other.omitted;
    }

    /// The index of a key's row.
    pub fn find(&self, key: Key) -> Option<usize> {
        self.rows.get_index_of(&key)
    }

    /// Removes the rows that `keep` rejects; the others keep their order, not their indices.
    pub fn retain(&mut self, mut keep: impl FnMut(&Row) -> bool) {
        self.rows.retain(|_, row| keep(row));
    }

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

impl<Key, Row> IntoIterator for RankedTable<Key, Row> {
    type Item = (Key, Row);
    type IntoIter = indexmap::map::IntoIter<Key, Row>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

/// How the rows of a table are ordered for its pruning.
pub struct Ranks<'a, Key, Row> {
    /// The cost of a row; the first number is that of `omitted`.
    pub cost: fn(&Row) -> (i128, i128),
    /// The order of keys whose rows cost the same.
    pub ties: &'a dyn Fn(&Key, &Key) -> Ordering,
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
