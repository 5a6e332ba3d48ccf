//! Different texts with their numbers, one after the other in one vector: a log may have a new one in each line, and an
//! allocation for each would cost more than the reading of the line.

use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

/// The number of a text and a part of its hash, so that a larger table reads no texts.
type Entry = (u32, u32);

/// A random seed per process, because clients choose these texts; the same for all, so that they are hashed once.
static RANDOM: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// Different texts, numbered in the order in which they came.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Packed")]
pub struct Texts {
    bytes: Vec<u8>,
    /// Where each text begins, and the end of the last one.
    borders: Vec<usize>,
    /// A part of the hash of each text.
    #[serde(skip)]
    hashes: Vec<u32>,
    #[serde(skip)]
    entries: HashTable<Entry>,
}

/// Texts without what is made of them.
#[derive(Deserialize)]
struct Packed {
    bytes: Vec<u8>,
    borders: Vec<usize>,
}

impl From<Packed> for Texts {
    fn from(packed: Packed) -> Self {
        let mut texts = Texts::default();
        for borders in packed.borders.windows(2) {
            texts.add(packed.bytes.get(borders[0]..borders[1]).unwrap_or_default());
        }
        texts
    }
}

impl Default for Texts {
    fn default() -> Self {
        Texts { bytes: Vec::new(), borders: vec![0], hashes: Vec::new(), entries: HashTable::new() }
    }
}

impl Texts {
    /// The number of a text; `None` if it is not here.
    #[inline]
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        self.find_hashed(text, hash(text))
    }

    /// Returns the number of a text, which is added if it is new.
    #[inline]
    pub fn add(&mut self, text: &[u8]) -> u32 {
        self.add_hashed(text, hash(text))
    }

    /// The number of a text of others; `None` if it is not here.
    pub fn find_of(&self, others: &Texts, number: u32) -> Option<u32> {
        self.find_hashed(others.resolve(number), others.hashes[number as usize])
    }

    /// Returns the number of a text of others, which is added if it is new.
    pub fn add_of(&mut self, others: &Texts, number: u32) -> u32 {
        self.add_hashed(others.resolve(number), others.hashes[number as usize])
    }

    #[inline]
    fn add_hashed(&mut self, text: &[u8], hash: u32) -> u32 {
        match self.find_hashed(text, hash) {
            Some(number) => number,
            None => self.add_new(text, hash),
        }
    }

    #[inline]
    fn find_hashed(&self, text: &[u8], hash: u32) -> Option<u32> {
        let is_it = |&(number, other): &Entry| other == hash && self.resolve(number) == text;
        self.entries.find(spread(hash), is_it).map(|&(number, _)| number)
    }

    fn add_new(&mut self, text: &[u8], hash: u32) -> u32 {
        let number = self.len() as u32;
        self.bytes.extend_from_slice(text);
        self.borders.push(self.bytes.len());
        self.hashes.push(hash);
        self.entries.insert_unique(spread(hash), (number, hash), |&(_, hash)| spread(hash));
        number
    }

    /// The text of a number; empty if there is none.
    #[inline]
    pub fn resolve(&self, number: u32) -> &[u8] {
        match self.borders.get(number as usize..) {
            Some(&[begin, end, ..]) => &self.bytes[begin..end],
            _ => b"",
        }
    }

    /// All texts, in the order of their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len() as u32).map(|number| self.resolve(number))
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.borders.len() - 1
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets all texts, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.borders.truncate(1);
        self.hashes.clear();
        self.entries.clear();
    }
}

#[inline]
fn hash(text: &[u8]) -> u32 {
    let mut hasher = RANDOM.build_hasher();
    hasher.write(text);
    hasher.finish() as u32
}

/// A hash table uses the high bits of a hash, too.
#[inline]
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_a_number_until_all_are_forgotten() {
        let mut texts = Texts::default();
        let numbers: Vec<_> = (0..1000).map(|number| texts.add(number.to_string().as_bytes())).collect();

        assert!((0..1000).all(|number| texts.add(number.to_string().as_bytes()) == numbers[number]));
        assert_eq!((texts.len(), texts.resolve(7), texts.resolve(1000)), (1000, &b"7"[..], &b""[..]));
        assert_eq!((texts.find(b"999"), texts.find(b"1000"), texts.find(b"")), (Some(999), None, None));
        texts.clear();
        assert_eq!((texts.find(b"7"), texts.add(b""), texts.find(b"")), (None, 0, Some(0)));
    }
}
