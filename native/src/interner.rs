//! Interned texts: millions of records contain the same few clients, accounts, shapes and bases.

use foldhash::fast::RandomState;
use indexmap::IndexSet;
use serde::{Deserialize, Serialize};

/// The number of an interned text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Symbol(u32);

/// The anonymous account; also any other empty text.
pub const ANONYMOUS: Symbol = Symbol(0);
/// A client or an account that is not in the log.
pub const UNKNOWN: Symbol = Symbol(1);
/// The key that counts everything beyond a cap.
pub const OTHER: Symbol = Symbol(2);
/// The close code of connections that a restart of the server ended.
pub const RESTART: Symbol = Symbol(3);

impl Symbol {
    /// The index of the text.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Approximate bytes of an entry without its text.
const ENTRY_BYTES: usize = 64;

/// The texts of one chunk.
#[derive(Clone, Serialize, Deserialize)]
pub struct Interner {
    /// Hashed with a random seed per process, because clients choose these texts.
    texts: IndexSet<Box<[u8]>, RandomState>,
    bytes: usize,
}

impl Default for Interner {
    fn default() -> Self {
        let mut interner = Interner { texts: IndexSet::default(), bytes: 0 };
        for known in [&b""[..], b"?", b"other", b"restart"] {
            interner.intern(known);
        }
        interner
    }
}

impl Interner {
    /// Returns the symbol of a text, which is added if it is new.
    pub fn intern(&mut self, text: &[u8]) -> Symbol {
        if let Some(index) = self.texts.get_index_of(text) {
            return Symbol(index as u32);
        }
        self.bytes += text.len() + ENTRY_BYTES;
        Symbol(self.texts.insert_full(text.into()).0 as u32)
    }

    /// Returns the text of a symbol.
    pub fn resolve(&self, symbol: Symbol) -> &[u8] {
        self.texts.get_index(symbol.index()).map_or(b"", |text| text)
    }

    /// All texts, in the order of their symbols.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.texts.iter().map(|text| &text[..])
    }

    /// Approximate bytes in use.
    pub fn weight(&self) -> usize {
        self.bytes
    }
}
