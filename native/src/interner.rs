//! Interned texts: millions of records contain the same few clients, accounts, shapes and bases.

use serde::{Deserialize, Serialize};

use crate::texts::Texts;

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
const ENTRY_BYTES: usize = 32;

/// The texts of one chunk.
#[derive(Clone, Serialize, Deserialize)]
pub struct Interner(Texts);

impl Default for Interner {
    fn default() -> Self {
        let mut texts = Texts::default();
        for known in [&b""[..], b"?", b"other", b"restart"] {
            texts.add(known);
        }
        Interner(texts)
    }
}

impl Interner {
    /// Returns the symbol of a text, which is added if it is new.
    pub fn intern(&mut self, text: &[u8]) -> Symbol {
        Symbol(self.0.add(text))
    }

    /// Returns the symbol of a text; `None` if it is not here.
    pub fn find(&self, text: &[u8]) -> Option<Symbol> {
        self.0.find(text).map(Symbol)
    }

    /// Returns the symbol of a text of others; `None` if it is not here.
    pub fn find_of(&self, others: &Interner, symbol: Symbol) -> Option<Symbol> {
        self.0.find_of(&others.0, symbol.0).map(Symbol)
    }

    /// Returns the symbol of a text of others, which is added if it is new.
    pub fn intern_of(&mut self, others: &Interner, symbol: Symbol) -> Symbol {
        Symbol(self.0.add_of(&others.0, symbol.0))
    }

    /// Returns the text of a symbol.
    #[inline]
    pub fn resolve(&self, symbol: Symbol) -> &[u8] {
        self.0.resolve(symbol.0)
    }

    /// All texts, in the order of their symbols.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.0.iter()
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there is no text: never, as the constants are there.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Approximate bytes in use.
    pub fn weight(&self) -> usize {
        self.0.bytes() + self.0.len() * ENTRY_BYTES
    }
}
