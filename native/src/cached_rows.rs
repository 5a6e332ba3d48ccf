//! The rows of the last requests by what tells them apart.

use crate::texts::Texts;

/// Rows kept; then all are forgotten.
const MOST: usize = 20_000;

/// Rows by reduced filter, reduced base and scope; or by a kind of operation and its reduced target.
#[derive(Default)]
pub struct CachedRows {
    keys: Texts,
    rows: Vec<u32>,
}

impl CachedRows {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.rows.clear();
    }

    /// The row of a key.
    pub fn get(&self, key: &[u8]) -> Option<u32> {
        self.keys.find(key).map(|number| self.rows[number as usize])
    }

    /// Keeps the row of a key that has none.
    pub fn keep(&mut self, key: &[u8], row: u32) {
        if self.rows.len() >= MOST {
            self.clear();
        }
        self.keys.add(key);
        self.rows.push(row);
    }
}
