//! A table that keeps its costliest rows: complete within one chunk, which ends when it is heavy, and pruned when chunks
//! are merged.
//!
//! Where the rows of a chunk are too many, only those that stay are added, with their texts: in a log in which each line
//! has its own key nearly all leave at once.

use std::cmp::Ordering;
use std::hash::Hash;
use std::mem;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use indexmap::map::Entry;
use serde::{Deserialize, Serialize};

use crate::interner::{Interner, Symbol};
use crate::tables::CappedTable;
use crate::text_translation::TextTranslation;

/// Approximate bytes of a row beside key and counts: its hash and its place in the index.
const ROW_BYTES: usize = 24;

/// A key of texts and numbers.
pub trait Key: Copy + Eq + Hash {
    /// The key with other texts; `None` where `text` has none for one of them.
    fn with(self, text: impl FnMut(Symbol) -> Option<Symbol>) -> Option<Self>;

    /// The order of keys whose rows cost the same, each with its texts.
    fn order(&self, texts: &Interner, other: &Self, other_texts: &Interner) -> Ordering;

    /// A number that grows with that order: it tells most keys apart without their texts.
    fn beginning(&self, texts: &Interner) -> u64;
}

/// The counts of a key.
pub trait Row: Sized {
    /// The cost; the first number is that of `omitted`.
    fn cost(&self) -> (i128, i128);

    /// A row without counts, for a more general key.
    fn more_general(&self) -> Self;

    /// Adds another row; `text` translates its texts, and what `kept` lacks is counted as other.
    fn add(&mut self, other: Self, kept: &CappedTable<Symbol, u64>, text: &mut dyn FnMut(Symbol) -> Symbol);

    /// The row with translated texts, as `add` adds it to a row without counts.
    fn moved(self, _kept: &CappedTable<Symbol, u64>, _text: &mut dyn FnMut(Symbol) -> Symbol) -> Self {
        self
    }
}

impl Row for u64 {
    fn cost(&self) -> (i128, i128) {
        (i128::from(*self), 0)
    }

    fn more_general(&self) -> Self {
        0
    }

    fn add(&mut self, other: Self, _: &CappedTable<Symbol, u64>, _: &mut dyn FnMut(Symbol) -> Symbol) {
        *self += other;
    }
}

type Rows<K, R> = IndexMap<K, R, RandomState>;

/// A map that is pruned to its costliest rows, in the order of their first records.
#[derive(Clone, Serialize, Deserialize)]
#[serde(bound(
    serialize = "K: Serialize + Eq + Hash, R: Serialize",
    deserialize = "K: Deserialize<'de> + Eq + Hash, R: Deserialize<'de>"
))]
pub struct RankedTable<K, R> {
    /// Hashed with a random seed per process, because the keys come from clients and may be forged.
    rows: Rows<K, R>,
    most: usize,
    /// Rows were removed.
    pub full: bool,
    /// The cost that a key may have had, at most, in addition to that of its row; or without a row.
    pub omitted: i128,
    /// The highest cost of a row that was removed; NOTHING: none was.
    floor: i128,
}

/// Less than any cost.
const NOTHING: i128 = -1;

/// How the rows of a chunk are added to a table.
pub struct Adding<'a, K> {
    /// A more general key, which counts a row that is removed; in the end the same key.
    pub general: fn(K) -> K,
    /// The texts under which rows may count something.
    pub kept: &'a CappedTable<Symbol, u64>,
    /// The texts of the table.
    pub texts: &'a mut Interner,
    /// From the texts of the chunk.
    pub translation: &'a mut TextTranslation,
    /// No chunk follows.
    pub is_final: bool,
}

/// The place of a row that the table does not have.
const NEW: u32 = u32::MAX;

/// The rows of a chunk that is merged.
pub struct Later<K, R> {
    rows: Rows<K, R>,
    /// By row: the index of the row in the table that it was added to, NEW: none yet.
    places: Vec<u32>,
    /// Rows of the table in which its keys were looked up.
    size: usize,
}

impl<'a, K> Adding<'a, K> {
    /// The same for a table with other keys.
    pub fn by<L>(self, general: fn(L) -> L, kept: &'a CappedTable<Symbol, u64>) -> Adding<'a, L> {
        Adding { general, kept, texts: self.texts, translation: self.translation, is_final: self.is_final }
    }
}

impl<K: Key, R: Row> RankedTable<K, R> {
    /// An empty table that keeps so many rows, and up to twice as many until it is pruned.
    pub fn new(most: usize) -> Self {
        RankedTable { rows: IndexMap::default(), most, full: false, omitted: 0, floor: NOTHING }
    }

    /// Adds the rows of a chunk; where there are too many, the cheapest of all are added to those of more general keys.
    /// Returns the keys by the former indices of their rows; empty where no row has moved.
    ///
    /// There are too many at twice the cap, so that this is rare; at the end above it. At least a quarter of the cap is
    /// removed, because each removed row may need a row of its own under its more general key.
    pub fn merge(&mut self, later: Self, adding: &mut Adding<'_, K>) -> Vec<K> {
        let later = self.add_known(later, adding);
        self.add_rest(later, adding)
    }

    /// Adds those rows of a chunk whose keys have a row; returns them with the rest.
    pub fn add_known(&mut self, later: Self, adding: &mut Adding<'_, K>) -> Later<K, R> {
        self.full |= later.full;
        self.omitted += later.omitted;
        self.floor = self.floor.max(later.floor);
        let mut later = Later { places: vec![NEW; later.rows.len()], rows: later.rows, size: 0 };
        self.add_known_again(&mut later, adding);
        later
    }

    fn add_known_again(&mut self, later: &mut Later<K, R>, adding: &mut Adding<'_, K>) {
        let Adding { kept, texts, translation, .. } = adding;
        for ((key, row), place) in later.rows.iter_mut().zip(&mut later.places).filter(|(_, place)| **place == NEW) {
            let known = key.with(|text| translation.find(texts, text)).and_then(|key| self.rows.get_full_mut(&key));
            if let Some((there, _, known)) = known {
                let none = row.more_general();
                known.add(mem::replace(row, none), kept, &mut |text| translation.text(texts, text));
                *place = there as u32;
            }
        }
        later.size = self.rows.len();
    }

    /// The index of the row of a chunk that has this index there; it is added unless it was before.
    pub fn add_one(&mut self, later: &mut Later<K, R>, row: usize, adding: &mut Adding<'_, K>) -> u32 {
        if later.places[row] == NEW {
            let Adding { kept, texts, translation, .. } = adding;
            let (&key, moved) = later.rows.get_index_mut(row).expect("a row of the chunk");
            let none = moved.more_general();
            let mut text = |text| translation.text(texts, text);
            let key = key.with(|symbol| Some(text(symbol))).expect("each text has a translation");
            later.places[row] = self.put(key, mem::replace(moved, none).moved(kept, &mut text));
            later.size = self.rows.len();
        }
        later.places[row]
    }

    fn put(&mut self, key: K, row: R) -> u32 {
        self.rows.insert_full(key, row).0 as u32
    }

    /// Adds the rows of a chunk that `add_known` returned, as `merge` does.
    pub fn add_rest(&mut self, mut later: Later<K, R>, adding: &mut Adding<'_, K>) -> Vec<K> {
        if later.size != self.rows.len() {
            self.add_known_again(&mut later, adding);
        }
        let mut before = Vec::new();
        loop {
            let cheapest = self.cheapest(&later, adding);
            if !cheapest.is_empty() && before.is_empty() {
                before.extend(self.rows.keys().copied());
            }
            let rest = mem::replace(&mut later, Later { rows: IndexMap::default(), places: Vec::new(), size: 0 });
            if !self.add_new(rest, &cheapest, adding) {
                return before;
            }
        }
    }

    /// The places of the rows to be removed: those of the chunk are behind those of the table.
    fn cheapest(&mut self, later: &Later<K, R>, adding: &Adding<'_, K>) -> Vec<usize> {
        let count = self.rows.len() + later.places.iter().filter(|&&place| place == NEW).count();
        let excess = count.saturating_sub(self.most);
        if excess <= if adding.is_final { 0 } else { self.most } {
            return Vec::new();
        }
        let here = self.rows.len();
        let new = later.rows.iter().zip(&later.places).enumerate().filter(|&(_, (_, &place))| place == NEW);
        let all = self.rows.iter().enumerate().chain(new.map(|(place, (row, _))| (here + place, row)));
        let mut order: Vec<_> = all
            .filter(|&(_, (&key, _))| (adding.general)(key) != key)
            .map(|(place, (_, row))| (row.cost(), place))
            .collect();
        let most = excess.max(self.most / 4);
        if order.len() > most {
            let (_, &mut (highest, _), _) = order.select_nth_unstable_by_key(most, |&(cost, _)| cost);
            let as_costly: Vec<_> =
                order.iter().filter(|&&(cost, _)| cost == highest).map(|&(_, place)| place).collect();
            order.retain(|&(cost, _)| cost < highest);
            let rest = self.first_of(as_costly, most - order.len(), later, adding);
            order.extend(rest.into_iter().map(|place| (highest, place)));
        }
        if let Some(highest) = order.iter().map(|&((cost, _), _)| cost).max() {
            self.full = true;
            self.omitted += highest;
            self.floor = self.floor.max(highest);
        }
        order.into_iter().map(|(_, place)| place).collect()
    }

    /// Of the places of rows that cost the same, so many as come first in the order of their keys.
    fn first_of(&self, places: Vec<usize>, count: usize, later: &Later<K, R>, adding: &Adding<'_, K>) -> Vec<usize> {
        let key = |place: usize| match self.rows.get_index(place) {
            Some((key, _)) => (key, &*adding.texts),
            None => (
                later.rows.get_index(place - self.rows.len()).expect("a place of the chunk").0,
                &adding.translation.from,
            ),
        };
        let beginning = |place: usize| {
            let (key, texts) = key(place);
            key.beginning(texts)
        };
        let mut order: Vec<_> = places.into_iter().map(|place| (beginning(place), place)).collect();
        if order.len() > count {
            order.select_nth_unstable_by(count, |&(first, one), &(other_first, other)| {
                first.cmp(&other_first).then_with(|| {
                    let ((one, texts), (other, other_texts)) = (key(one), key(other));
                    one.order(texts, other, other_texts)
                })
            });
            order.truncate(count);
        }
        order.into_iter().map(|(_, place)| place).collect()
    }

    /// Adds the new rows of a chunk, of which some (`cheapest`) are added to more general ones, as are those of the table;
    /// returns whether there were any.
    fn add_new(&mut self, later: Later<K, R>, cheapest: &[usize], adding: &mut Adding<'_, K>) -> bool {
        let here = self.rows.len();
        let mut leaves = vec![false; here + later.rows.len()];
        for &place in cheapest {
            leaves[place] = true;
        }
        let Adding { general, kept, texts, translation, .. } = adding;
        for (key, row) in self.removed(&leaves, cheapest.iter().any(|&place| place < here)) {
            self.row(general(key), &row).add(row, kept, &mut |text| text);
        }
        let mut last: Option<(K, usize)> = None;
        for ((place, (key, row)), leaves) in (0..).zip(later.rows).zip(&leaves[here..]) {
            if later.places[place] != NEW {
                continue;
            }
            let mut text = |text| translation.text(texts, text);
            let key = if *leaves { general(key) } else { key };
            if let Some((_, place)) = last.filter(|&(known, _)| known == key) {
                self.rows[place].add(row, kept, &mut text); // nearly all of those that leave
                continue;
            }
            let translated = key.with(|symbol| Some(text(symbol))).expect("each text has a translation");
            match self.rows.entry(translated) {
                Entry::Occupied(mut known) => {
                    last = Some((key, known.index()));
                    known.get_mut().add(row, kept, &mut text);
                }
                Entry::Vacant(free) if *leaves => {
                    last = Some((key, free.index()));
                    free.insert(row.more_general()).add(row, kept, &mut text);
                }
                Entry::Vacant(free) => drop(free.insert(row.moved(kept, &mut text))),
            }
        }
        !cheapest.is_empty()
    }

    fn removed(&mut self, leaves: &[bool], any: bool) -> Vec<(K, R)> {
        let mut leaving = leaves.iter();
        let leaves = |_: &K, _: &mut R| leaving.next().is_some_and(|&leaves| leaves);
        if any { self.rows.extract_if(.., leaves).collect() } else { Vec::new() }
    }

    fn row(&mut self, key: K, like: &R) -> &mut R {
        self.rows.entry(key).or_insert_with(|| like.more_general())
    }

    /// The index of a key's row.
    pub fn find(&self, key: K) -> Option<usize> {
        self.rows.get_index_of(&key)
    }

    /// Removes the rows that `keep` rejects; the others keep their order, not their indices.
    pub fn retain(&mut self, mut keep: impl FnMut(&R) -> bool) {
        self.rows.retain(|_, row| keep(row));
    }

    /// The index of a row; a missing row is created with `make`.
    pub fn place(&mut self, key: K, make: impl FnOnce() -> R) -> usize {
        if let Some(place) = self.rows.get_index_of(&key) {
            return place;
        }
        let (place, _) = self.rows.insert_full(key, make());
        place
    }

    /// The index of the row to which something of this cost is added, where costs are maxima, or the cost is nothing.
    ///
    /// Rows that stay cost no less than those that were removed. So a key without a row gets none for a cost as low as
    /// theirs, as it would be removed next: the first of `more_general` that has a row counts it, or the last.
    pub fn place_costly(&mut self, key: K, cost: i128, more_general: &[K], make: impl FnOnce() -> R) -> usize {
        let known = self.rows.get_index_of(&key);
        if cost > self.floor || more_general.is_empty() {
            return known.unwrap_or_else(|| self.rows.insert_full(key, make()).0);
        }
        let rows = &self.rows;
        let known = known.or_else(|| more_general.iter().find_map(|key| rows.get_index_of(key)));
        known.unwrap_or_else(|| self.rows.insert_full(more_general[more_general.len() - 1], make()).0)
    }

    /// The row at an index.
    #[inline]
    pub fn at(&mut self, place: usize) -> &mut R {
        &mut self.rows[place]
    }

    /// The key at an index.
    #[inline]
    pub fn key(&self, place: usize) -> K {
        *self.rows.get_index(place).expect("an index that place() returned").0
    }

    /// The keys and rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &R)> {
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
        self.rows.len() * (size_of::<K>() + size_of::<R>() + ROW_BYTES)
    }
}

impl<K: Key> RankedTable<K, u64> {
    /// Counts a key.
    pub fn count(&mut self, key: K, times: u64) {
        *self.rows.entry(key).or_default() += times;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interner::{OTHER, Symbol};

    const MOST: usize = 100;

    fn merged(table: &mut RankedTable<Symbol, u64>, texts: &mut Interner, counts: &[(u64, u64)]) {
        let (mut from, mut later) = (Interner::default(), RankedTable::new(MOST));
        for &(name, count) in counts {
            later.count(from.intern(format!("a{name}").as_bytes()), count);
        }
        let (kept, mut translation) = (CappedTable::new(1, OTHER), TextTranslation::new(from));
        let mut adding =
            Adding { general: |_| OTHER, kept: &kept, texts, translation: &mut translation, is_final: false };
        table.merge(later, &mut adding);
    }

    #[test]
    fn the_costliest_rows_stay_and_only_they_get_texts() {
        let (mut texts, mut table) = (Interner::default(), RankedTable::new(MOST));
        let known = texts.len();
        merged(&mut table, &mut texts, &[(1, 4), (2, 1_000)]);
        let many: Vec<_> = (1..=10_000).map(|name| (name, name / 10)).collect();

        merged(&mut table, &mut texts, &many);

        let count = |name: u64| texts.find(format!("a{name}").as_bytes()).and_then(|key| table.find(key));
        assert_eq!(
            table.iter().map(|(_, count)| count).sum::<u64>(),
            1_004 + (1..=10_000).map(|n| n / 10).sum::<u64>()
        );
        assert_eq!((table.len(), texts.len() - known), (MOST + 1, MOST + 1)); // a1 has one from before
        assert!(count(2).is_some() && count(10_000).is_some() && count(9_902).is_some());
        assert_eq!((count(1), count(9_000), table.full, table.omitted), (None, None, true, 990));
    }

    #[test]
    fn rows_that_were_counted_as_other_stay_together() {
        let (mut texts, mut table) = (Interner::default(), RankedTable::new(MOST));
        for from in 0..20 {
            let chunk: Vec<_> = (from * 150..(from + 1) * 150).map(|name| (name, 1)).collect();
            merged(&mut table, &mut texts, &chunk);
            assert!(table.len() <= 2 * MOST + 1);
        }
        assert_eq!(table.iter().map(|(_, count)| count).sum::<u64>(), 3_000);
        assert!(table.iter().any(|(&key, &count)| key == OTHER && count >= 2_700));
    }

    #[test]
    fn a_key_without_a_row_gets_none_for_a_cost_of_removed_rows() {
        let (mut texts, mut table) = (Interner::default(), RankedTable::new(MOST));
        let [new, other_new, known] = [&b"new"[..], b"other new", b"a1000"].map(|text| texts.intern(text));
        let place = |table: &mut RankedTable<Symbol, u64>, key, cost| {
            let place = table.place_costly(key, cost, &[OTHER], || 0);
            table.key(place)
        };
        assert_eq!(place(&mut table, new, 0), new); // nothing was removed yet
        merged(&mut table, &mut texts, &(1..=1_000).map(|name| (name, name)).collect::<Vec<_>>());

        let removed = table.omitted;

        assert!(removed > 0 && table.find(new).is_none() && table.find(known).is_some());
        assert_eq!((place(&mut table, new, removed), place(&mut table, known, 0)), (OTHER, known));
        assert_eq!((place(&mut table, new, removed + 1), place(&mut table, new, 0)), (new, new));
        assert_eq!(table.place_costly(other_new, 0, &[], || 0), table.find(other_new).unwrap());
    }
}
